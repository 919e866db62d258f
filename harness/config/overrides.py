"""Values set from the command line: `--set methods.0.parameter=0.01`.

A path consists of keys and list indices, which start at 0: `methods.0.parameter` or, as messages spell it,
`methods[0].parameter`. The value is YAML. Whether the key exists and the value is valid is checked with the
schema, whose errors then name the override instead of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from harness.config.errors import ConfigError, Path, Problem, spell
from harness.config.source import Source, kind, read_value

_BRACKETED_INDEX = re.compile(r"\[(\d+)\]")


def apply_overrides(source: Source, overrides: Iterable[str]) -> None:
    """Set the values of all overrides in turn, so that later ones win."""
    for override in overrides:
        location = f"--set {override}"
        steps, value = _parse(override, location)
        path = _put(source, steps, value.data, location)
        for replaced in [known_path for known_path in source.locations if known_path[: len(path)] == path]:
            del source.locations[replaced]
        source.locations.update({(*path, *inner): location for inner in value.locations})


def _parse(override: str, location: str) -> tuple[list[str], Source]:
    dotted_path, equals, text = override.partition("=")
    steps = [step.strip() for step in _BRACKETED_INDEX.sub(r".\1", dotted_path).split(".")]
    if not equals or not all(steps):
        sentence = (
            "an override must be path=value, such as generation.seeds=[1,2] or models.0.dtype=bfloat16."
        )
        raise ConfigError([Problem((), sentence, location)])
    return steps, read_value(text, location)


def _put(source: Source, steps: list[str], value: Any, location: str) -> Path:
    """Set the value, adding missing keys on the way, and return its path."""
    path: Path = ()
    parent: Any = source.data
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        key = _key(parent, step, path, location)
        path = (*path, key)
        if last:
            parent[key] = value
        elif isinstance(parent, dict) and parent.get(key) is None:
            parent[key] = {}
            source.locations[path] = location
        parent = parent[key]
    return path


def _key(parent: Any, step: str, path: Path, location: str) -> str | int:
    if isinstance(parent, dict):
        return step
    if isinstance(parent, list):
        if step.isdecimal() and int(step) < len(parent):
            return int(step)
        if parent:
            sentence = f"an index of {spell(path)} must be from 0 to {len(parent) - 1}; got {step!r}."
        else:
            sentence = f"{spell(path)} is an empty list; got the index {step!r}. Set the whole list."
    else:
        sentence = f"{spell(path)} is {kind(parent)} and has no keys; got {step!r}. Set it as a whole."
    raise ConfigError([Problem(path, sentence, location)])
