"""Errors in a sweep: what is wrong, at which key, and in which line of which file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean

# Keys and list indices that lead to a value: ("methods", 2, "parameter").
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One error, in one sentence."""

    path: Path
    sentence: str
    place: str = ""  # "configs/demo.yaml line 12", "--set name=1"; empty for data without a file

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


class ConfigError(InvalidInputError):
    """An invalid sweep. The message has all problems, one per line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def spell(path: Path) -> str:
    """A path for messages: methods[2].parameter."""
    if not path:
        return "the sweep"
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def suggest(given: object, names: Iterable[str]) -> str:
    """A sentence with the most similar name, or with all names if none is similar."""
    available = list(dict.fromkeys(names))
    listed = f" Available: {', '.join(map(repr, available))}." if available else ""
    return did_you_mean(given, available) or listed
