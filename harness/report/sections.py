"""The parts of a report in the order of its sections: what was run first, then what explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.report.parts import Missing, Part, Section, Table

# Title, introduction, and the beginnings of the names of the parts.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Which methods write most like people",
        "",
        (
            *("compare", "comparison", "mauve-by-method", "leaderboard", "plane"),
            *("distances", "spreads", "differences", "imported", "all-scores"),
        ),
    ),
    (
        "What people prefer",
        "People compared two continuations of the same prefix without knowing who wrote them.",
        ("human-evaluation",),
    ),
    (
        "What the texts are like",
        "Every statistic is of the continuations only, in the tokens of the model. Human continuations are "
        "of the same prefixes. docs/scores.md defines each statistic.",
        ("statistics",),
    ),
    (
        "Along a parameter",
        "",
        ("parameters", "eta-sweep", "figure-eta-sweep", "constraints", "figure-constraints"),
    ),
    ("How much human text is rejected", "", ("rates", "rejection-curves", "rejection")),
    ("How parameters were chosen", "", ("tuning", "matching", "selection")),
    ("How tokens were accepted, and at what cost", "", ("sampling",)),
    ("Side by side", "", ("samples",)),
    ("The paper's lower-entropy experiment", "", ("lower-entropy",)),
    (
        "The next token",
        "Which tokens each method accepts after the paper's seven prompts.",
        ("next-tokens",),
    ),
    ("Why it works", "", ("toy", "rank")),
)


class Parts:
    """Parts by name, and what is missing."""

    def __init__(self, parts: Iterable[Part | Missing]) -> None:
        self.by_name: dict[str, Part] = {}
        self.missing: list[Missing] = []
        self.add(parts)

    def add(self, parts: Iterable[Part | Missing]) -> None:
        """Add parts."""
        for part in parts:
            if isinstance(part, Missing):
                self.missing.append(part)
            else:
                self.by_name[part.name] = part

    @property
    def tables(self) -> list[Table]:
        """The tables among them."""
        return [part for part in self.by_name.values() if isinstance(part, Table)]

    def sections(self) -> tuple[Section, ...]:
        """The parts in the order of _SECTIONS; empty sections are left out."""
        sections = []
        for title, text, names in _SECTIONS:
            chosen = [
                part for name in names for part in self.by_name.values() if _is_called(part, name, names)
            ]
            if chosen:
                sections.append(Section(title, text, tuple(chosen)))
        return tuple(sections)


def _is_called(part: Part, name: str, names: Sequence[str]) -> bool:
    """Whether the part's name is this one, or begins with it and matches no longer one of the names."""
    best = max((other for other in names if begins(part.name, other)), key=len, default=None)
    return best == name


def begins(name: str, beginning: str) -> bool:
    """Whether a part is called this, or this and more words."""
    return name == beginning or name.startswith(f"{beginning}-")
