"""The reference part of docs/commands.md, made from the commands themselves.

`python -m harness.commands.document`, in the project's folder, writes it anew. A test checks that it is
current.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from harness.commands import exits

GUIDE = Path("docs/commands.md")
BEGIN = "<!-- What follows is made by `python -m harness.commands.document`. Do not edit it here. -->"

_PROGRAM = "bat-harness"
_VALUES = {int: "INTEGER", float: "NUMBER"}


def with_reference(guide: str) -> str:
    """Return the guide with its reference part written anew."""
    return guide.partition(BEGIN)[0] + BEGIN + "\n\n" + reference()


def reference() -> str:
    """Exit codes, and every command with its arguments and options, in Markdown."""
    from harness.cli import app

    lines = ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in exits.MEANINGS.items()]
    lines += ["", "## Every command", ""]
    for name, command in _commands("", typer.main.get_command(app)):
        lines += [f"### {name}", "", "```text", _usage(name, command), "```", ""]
        lines += [inspect.cleandoc(command.help or "").replace("\f", ""), "", *_table(command.params)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the guide anew."""
    GUIDE.write_text(with_reference(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The commands that do something, each with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, one in inner.items():
        yield from _commands(f"{path} {name}".strip(), one)


def _usage(name: str, command: Any) -> str:
    words = [_PROGRAM, name, "[OPTIONS]"]
    for parameter in command.params:
        if _is_option(parameter):
            words += [f"{parameter.opts[0]} {_value(parameter)}"] if parameter.required else []
        else:
            named = parameter.metavar or parameter.name.upper()
            words.append(named if parameter.required else f"[{named}]")
    return " ".join(words)


def _table(parameters: list[Any]) -> Iterator[str]:
    if not parameters:
        return
    yield "| | default | meaning |"
    yield "|---|---|---|"
    for parameter in parameters:
        meaning = " ".join((parameter.help or "").split()).replace("|", r"\|")
        yield f"| `{_spelling(parameter)}` | {_default(parameter)} | {meaning} |"
    yield ""


def _spelling(parameter: Any) -> str:
    if not _is_option(parameter):
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join(name for name in (*parameter.opts, *parameter.secondary_opts) if name.strip())
    return names if parameter.is_flag else f"{names} {_value(parameter)}"


def _value(parameter: Any) -> str:
    return parameter.metavar or _VALUES.get(type(parameter.default), "TEXT")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if not _is_option(parameter) or parameter.is_flag or parameter.default is None:
        return ""
    variable = f", or `{parameter.envvar}` of the environment" if parameter.envvar else ""
    return f"`{parameter.default}`{variable}"


def _is_option(parameter: Any) -> bool:
    return hasattr(parameter, "is_flag")


if __name__ == "__main__":
    main()
