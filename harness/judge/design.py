"""What a study asks, of whom and how often. The design is stored with the study, and names it by content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from bat.errors import InvalidInputError
from harness.jobs import sha256_of
from harness.store.study_records import StudyItem

HUMAN = "human"  # what a side is called whose texts people wrote

QUESTION = "Which continuation is better?"

INSTRUCTIONS = """\
You will see the beginning of a text, and below it two ways in which it could go on. Both may stop in the \
middle of a sentence.

Read the beginning and both continuations. Then choose the one that is the better continuation: the one that \
makes more sense, fits the beginning and reads more like something a person would have written. Do not mind \
where it stops. If you cannot tell them apart, answer that they are equally good.

There are no right answers that you could know; we want your own judgement. Please read every text, also \
when they are alike, and do not look the texts up. Texts were found on the web or written by a program. They \
may be wrong or unpleasant.

Taking part is voluntary, and you can stop at any time by closing the page. We store your answers, the time \
they took and your remarks, and publish them without anything that identifies you.\
"""


@dataclass(frozen=True, slots=True)
class PairDesign:
    """Two settings that are compared."""

    first: str  # what reports call it, such as "ba-eta=0.0153 (c=20)"
    second: str
    first_rule: str | None = None  # None for texts of people, or of another program
    second_rule: str | None = None
    prefixes: int = 0  # that both continue
    identical: int = 0  # of them, where what would be shown of both texts is the same: not judged


@dataclass(frozen=True, slots=True)
class StudyDesign:
    """Everything that decides what judges are shown."""

    pairs: tuple[PairDesign, ...]
    votes: int = 3  # judges for each item
    last_tokens: int | None = None  # None: the whole continuation
    check_rate: float = 0.1  # attention checks among what a judge is shown
    repeat_rate: float = 0.1  # items shown again to the same judge
    per_judge: int | None = None  # None: as many as there are
    seed: int = 0
    question: str = QUESTION
    instructions: str = INSTRUCTIONS
    run: str | None = None
    model: str | None = None
    source: str | None = None  # the file that the texts or answers came from

    def __post_init__(self) -> None:
        for name, least in (("votes", 1), ("last_tokens", 1), ("per_judge", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InvalidInputError(f"{name} of a study must be at least {least}; got {value}.")
        for what, value in (("attention checks", self.check_rate), ("repetitions", self.repeat_rate)):
            if not 0 <= value <= 0.5:
                raise InvalidInputError(
                    f"the share of {what} in a study must lie in [0, 0.5]; got {value}. Use a share such as "
                    "0.1."
                )
        if not self.instructions.strip():
            raise InvalidInputError(
                "the instructions of a study must not be empty. Write what judges should do."
            )

    def as_record(self) -> dict[str, Any]:
        """Plain data, to be stored as JSON."""
        return asdict(self) | {"pairs": [asdict(pair) for pair in self.pairs]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> StudyDesign:
        """What `as_record` made; keys of later versions are ignored."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        of_pair = {field.name for field in fields(PairDesign)}
        pairs = tuple(
            PairDesign(**{name: value for name, value in pair.items() if name in of_pair})
            for pair in record["pairs"]
        )
        return cls(**{**values, "pairs": pairs})

    @property
    def settings(self) -> tuple[str, ...]:
        """All settings that are compared, in the order of the pairs."""
        return tuple(dict.fromkeys(side for pair in self.pairs for side in (pair.first, pair.second)))

    def with_instructions(self, path: Path | None) -> StudyDesign:
        """The design with the instructions of a file."""
        if path is None:
            return self
        try:
            return replace(self, instructions=path.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise InvalidInputError(
                f"the instructions must be a text file that can be read; {path}: {reason}. Name another file."
            ) from None


def study_id(design: StudyDesign, items: Sequence[StudyItem]) -> str:
    """The SHA-256 of everything judges could be shown, and of how it is chosen."""
    return sha256_of([design.as_record(), [asdict(item) for item in items]])
