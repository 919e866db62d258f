"""Mistakes in a sweep: what is wrong, where in the sweep, and where that was written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bat.errors import InvalidInputError

# Keys and places in lists that lead to a value: ("methods", 2, "parameter").
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, in one sentence."""

    path: Path
    sentence: str
    place: str = ""  # "configs/demo.yaml line 12", "--set name=1"; empty when nothing was written down

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


class ConfigError(InvalidInputError):
    """A sweep that cannot be used. All mistakes found are told at once, a line each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def spell(path: Path) -> str:
    """Spell a path as people read it: methods[2].parameter."""
    if not path:
        return "the sweep"
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def did_you_mean(given: object, names: Iterable[str]) -> str:
    """Name the nearest of some names, as a sentence to put behind another, or else all of them."""
    known = list(dict.fromkeys(names))
    near = difflib.get_close_matches(str(given), known, n=1)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" There is {', '.join(map(repr, known))}." if known else ""
