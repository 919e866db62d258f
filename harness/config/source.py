"""YAML as plain data, with the line of each value.

Scalars are read as in YAML 1.2: `1e-3` is a number, and `no`, `on` and `2024-01-01` are strings. Duplicate
keys are errors; YAML libraries silently keep the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from harness.config.errors import ConfigError, Path, Problem, spell

_TAG = "tag:yaml.org,2002:"

# Far more than a sweep needs. Ten lines of aliases to aliases can stand for more values than memory holds.
_MAX_VALUES = 100_000


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the numbers and booleans of YAML 1.2."""


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
    """Plain data (dictionaries, lists, scalars) and the location of each value in it."""

    data: Any
    locations: dict[Path, str] = field(default_factory=dict)

    def location_of(self, path: Path) -> str:
        """Return the location of a value or, if it has none, of the innermost value around it."""
        while path not in self.locations and path:
            path = path[:-1]
        return self.locations.get(path, "")


def read_source(text: str, name: str) -> Source:
    """Read a whole sweep; `name` is the name of the file in messages."""
    source = _read(text, name, lambda line: f"{name} line {line}")
    if source is None:
        raise _error(name, "the file is empty. A sweep needs at least name, models, corpus and stages.")
    if not isinstance(source.data, dict):
        raise _error(
            source.location_of(()),
            f"a sweep must be a mapping, such as name: demo; got {kind(source.data)}.",
        )
    source.locations[()] = name
    return source


def read_value(text: str, location: str) -> Source:
    """Read the value of an override; `location` is its location in messages."""
    return _read(text, location, lambda line: location) or Source(None, {(): location})


def kind(value: object) -> str:
    """A description of a value for messages: short values in full."""
    match value:
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case None:
            return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read(text: str, name: str, locate: Callable[[int], str]) -> Source | None:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            source = Source(None)
            source.data = _construct(loader, node, (), source.locations, locate, ())
            return source
        finally:
            loader.dispose()
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{locate(mark.line + 1)} column {mark.column + 1}" if mark else name
        raise _error(where, f"invalid YAML: {error.problem or error.context}.") from error
    except RecursionError as error:
        raise _error(name, "the YAML is nested too deeply for a sweep.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _error(name, f"invalid YAML: {' '.join(str(error).split())}.") from error


def _construct(
    loader: _Loader,
    node: yaml.Node,
    path: Path,
    locations: dict[Path, str],
    locate: Callable[[int], str],
    parents: tuple[yaml.Node, ...],
) -> Any:
    """Build the value of a node, and add the locations of all values in it to `locations`."""
    location = locate(node.start_mark.line + 1)
    locations.setdefault(path, location)
    if len(locations) > _MAX_VALUES:
        raise _error(
            location,
            f"a sweep must have at most {_MAX_VALUES:,} values; {spell(path)} is one more. Aliases (*name) "
            "count as often as they are used; write out what they stand for, or leave some out.",
        )
    if node in parents:
        raise _error(location, f"{spell(path)} contains itself through an alias. Write it out.", path)
    inside = (*parents, node)
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_object(node)
    if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
        raise _error(location, f"{spell(path)} has the unknown tag {node.tag!r}. Remove it.", path)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*path, i), locations, locate, inside)
            for i, item in enumerate(node.value)
        ]
    mapping: dict[str, Any] = {}
    first: dict[str, str] = {}
    for key_node, item in node.value:
        key_location = locate(key_node.start_mark.line + 1)
        key = loader.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            sentence = f"keys of {spell(path)} must be strings; got {kind(key)}. Quote it."
            raise _error(key_location, sentence, path)
        if key in mapping:
            sentence = f"{spell(path)} has the key {key!r} twice, first at {first[key]}."
            raise _error(key_location, sentence, (*path, key))
        first[key] = locations[*path, key] = key_location
        mapping[key] = _construct(loader, item, (*path, key), locations, locate, inside)
    return mapping


def _error(location: str, sentence: str, path: Path = ()) -> ConfigError:
    return ConfigError([Problem(path, sentence, location)])
