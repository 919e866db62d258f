"""The schema for people and for editors, made from the schema itself.

`python -m harness.config.reference`, in the project's folder, writes the reference part of docs/sweeps.md and
configs/sweep.schema.json anew. A test checks that both are current.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from harness.config.schema import SweepConfig
from harness.config.sections import Section

GUIDE = Path("docs/sweeps.md")
SCHEMA = Path("configs/sweep.schema.json")
BEGIN = "<!-- What follows is made by `python -m harness.config.reference`. Do not edit it here. -->"


def json_schema() -> str:
    """The JSON Schema of a sweep, for editors that check YAML while it is written."""
    schema = SweepConfig.model_json_schema(mode="validation")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A bat-harness sweep",
    }
    return json.dumps(whole, indent=1) + "\n"


def with_reference(guide: str) -> str:
    """Return the guide with its reference part written anew."""
    return guide.partition(BEGIN)[0] + BEGIN + "\n\n" + reference()


def reference() -> str:
    """Every key of a sweep in Markdown, a table for each section."""
    return "\n".join(line for path, section in _sections("", SweepConfig) for line in _table(path, section))


def main() -> None:
    """Write both files anew."""
    GUIDE.write_text(with_reference(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(json_schema(), encoding="utf-8")


def _sections(path: str, section: type[Section]) -> Iterator[tuple[str, type[Section]]]:
    """The section and those in it, each with the path that leads to it."""
    yield path, section
    for name, field in section.model_fields.items():
        for inner in _sections_in(field.annotation):
            listed = "[]" if typing.get_origin(field.annotation) is tuple else ""
            yield from _sections(f"{path}.{name}{listed}".removeprefix("."), inner)


def _sections_in(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _sections_in(argument)


def _table(path: str, section: type[Section]) -> Iterator[str]:
    schema = section.model_json_schema(mode="validation")
    yield f"### {f'`{path}`' if path else 'The whole'}"
    yield ""
    yield (section.__doc__ or "").replace("\n    ", "\n").strip()
    yield ""
    yield "| key | value | default | enters | meaning |"
    yield "|---|---|---|---|---|"
    for name, field in section.model_fields.items():
        property_schema = schema["properties"][name]
        value = _value(property_schema, schema.get("$defs", {}))
        default = "required" if field.is_required() else _default(field.default)
        meaning = " ".join((field.description or "").split())
        enters = section.enters_of(name)
        if isinstance(field.default, Section):
            enters = field.default.enters
        yield f"| `{name}` | {value} | {default} | {enters} | {meaning} |"
    yield ""


def _default(value: Any) -> str:
    match value:
        case None | "":
            return ""
        case BaseModel() | ():
            return "see below" if isinstance(value, BaseModel) else "`[]`"
        case tuple() if len(value) > 5:
            return "all"
        case tuple():
            return f"`{json.dumps(value)}`"
    return f"`{json.dumps(value)}`" if not isinstance(value, str) else f"`{value}`"


def _value(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say in words what a JSON Schema allows."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            words = [_value(branch, definitions) for branch in schema[union] if branch.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    match schema.get("type"):
        case "array":
            return f"list of {_value(schema['items'], definitions)}"
        case "object":
            return "keys"
        case "string" if "examples" in schema:
            return ", ".join(f"`{value}`" for value in schema["examples"]) + " or a plug-in"
        case "string":
            return "text"
        case "boolean":
            return "`true`, `false`"
        case kind:
            return f"{kind}{_limits(schema)}"


def _limits(schema: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    told = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return " " + " and ".join(told) if told else ""


if __name__ == "__main__":
    main()
