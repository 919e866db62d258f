"""YAML as plain data, with the place where each value was written.

Scalars are read as YAML 1.2 has them: `1e-3` is a number, and `no`, `on` and `2024-01-01` are words. Keys
that occur twice are refused, where YAML libraries keep the last one in silence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from harness.config.errors import ConfigError, Path, Problem, spell

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with other ideas of what looks like a number or a truth value."""


_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _firsts in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), _firsts)


@dataclass
class Source:
    """Plain data (dictionaries, lists, scalars) and where each value in it was written."""

    data: Any
    places: dict[Path, str] = field(default_factory=dict)

    def place_of(self, path: Path) -> str:
        """Return where a value was written, or else the nearest thing around it."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path, "")


def read_source(text: str, name: str) -> Source:
    """Read a whole sweep; `name` is what messages call the file."""
    source = _read(text, name, lambda line: f"{name} line {line}")
    if source is None:
        raise _error(name, "the file is empty. A sweep needs at least name, models, corpus and stages.")
    if not isinstance(source.data, dict):
        raise _error(
            source.place_of(()),
            f"a sweep must be keys and values, such as name: demo; got {kind(source.data)}.",
        )
    source.places[()] = name
    return source


def read_value(text: str, place: str) -> Source:
    """Read the value of an override; `place` is what messages call it."""
    return _read(text, place, lambda line: place) or Source(None, {(): place})


def kind(value: object) -> str:
    """Say what kind of value it is, short ones in full."""
    match value:
        case dict():
            return "keys and values"
        case list() | tuple():
            return "a list"
        case None:
            return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read(text: str, name: str, place: Any) -> Source | None:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            source = Source(None)
            source.data = _construct(loader, node, (), source.places, place, ())
            return source
        finally:
            loader.dispose()
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{place(mark.line + 1)} column {mark.column + 1}" if mark else name
        raise _error(where, f"this is no valid YAML: {error.problem or error.context}.") from error
    except RecursionError as error:
        raise _error(name, "this is nested too deeply for a sweep.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _error(name, f"this is no valid YAML: {' '.join(str(error).split())}.") from error


def _construct(
    loader: _Loader,
    node: yaml.Node,
    path: Path,
    places: dict[Path, str],
    place: Any,
    around: tuple[yaml.Node, ...],
) -> Any:
    """Build the value of a node, writing down the places of all values in it."""
    here = place(node.start_mark.line + 1)
    places.setdefault(path, here)
    if node in around:
        raise _error(here, f"{spell(path)} contains itself through an alias. Write it out.", path)
    inside = (*around, node)
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_object(node)
    if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
        raise _error(here, f"{spell(path)} has the tag {node.tag!r}, which means nothing here.", path)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*path, i), places, place, inside) for i, item in enumerate(node.value)
        ]
    found: dict[str, Any] = {}
    first: dict[str, str] = {}
    for key_node, item in node.value:
        at = place(key_node.start_mark.line + 1)
        key = loader.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise _error(at, f"keys of {spell(path)} must be words; got {kind(key)}. Quote it.", path)
        if key in found:
            raise _error(at, f"{spell(path)} has the key {key!r} twice, first at {first[key]}.", (*path, key))
        first[key] = places[*path, key] = at
        found[key] = _construct(loader, item, (*path, key), places, place, inside)
    return found


def _error(place: str, sentence: str, path: Path = ()) -> ConfigError:
    return ConfigError([Problem(path, sentence, place)])
