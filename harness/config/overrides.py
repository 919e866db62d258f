"""Values set from the command line: `--set methods.0.parameter=0.01`.

A path names keys and places in lists, the first of which is 0. The value is YAML. Whether the key exists and
the value fits is the schema's business, which then tells of the override instead of a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.config.errors import ConfigError, Path, Problem, spell
from harness.config.source import Source, kind, read_value


def apply_overrides(source: Source, overrides: Iterable[str]) -> None:
    """Put each override's value in its place, the later ones over the earlier."""
    for override in overrides:
        place = f"--set {override}"
        steps, value = _parse(override, place)
        path = _put(source, steps, value.data, place)
        for known in [known for known in source.places if known[: len(path)] == path]:
            del source.places[known]
        source.places.update({(*path, *below): place for below in value.places})


def _parse(override: str, place: str) -> tuple[list[str], Source]:
    spelled, equals, text = override.partition("=")
    steps = [step.strip() for step in spelled.split(".")]
    if not equals or not all(steps):
        sentence = "an override is path=value, such as generation.seeds=[1,2] or models.0.dtype=bfloat16."
        raise ConfigError([Problem((), sentence, place)])
    return steps, read_value(text, place)


def _put(source: Source, steps: list[str], value: Any, place: str) -> Path:
    """Set the value, making keys that are not written yet, and return its path."""
    path: Path = ()
    here: Any = source.data
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        key = _key(here, step, path, place)
        path = (*path, key)
        if last:
            here[key] = value
        elif isinstance(here, dict) and here.get(key) is None:
            here[key] = {}
            source.places[path] = place
        here = here[key]
    return path


def _key(here: Any, step: str, path: Path, place: str) -> str | int:
    if isinstance(here, dict):
        return step
    if isinstance(here, list):
        if step.isdecimal() and int(step) < len(here):
            return int(step)
        known = f"0 to {len(here) - 1}" if here else "none, it is empty"
        sentence = f"{spell(path)} is a list with places {known}; got {step!r}."
    else:
        sentence = f"{spell(path)} is {kind(here)} and has nothing in it; got {step!r}. Set it as a whole."
    raise ConfigError([Problem(path, sentence, place)])
