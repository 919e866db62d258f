"""Human evaluation as it goes into a store and comes out of it: plain, frozen records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ItemKind(StrEnum):
    """What an item is for."""

    PAIR = "pair"  # two settings compared
    CHECK = "check"  # of attention: a human text, and its words shuffled


class AssignmentState(StrEnum):
    """The state of an item that was given to a judge."""

    LEASED = "leased"
    ANSWERED = "answered"
    RETURNED = "returned"  # its vote went to another judge


class Answer(StrEnum):
    """Which text of an item is better, wherever it was shown."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"

    @property
    def other_way_round(self) -> Answer:
        """The answer if the two texts changed places."""
        return {Answer.FIRST: Answer.SECOND, Answer.SECOND: Answer.FIRST, Answer.TIE: Answer.TIE}[self]


@dataclass(frozen=True, slots=True)
class Study:
    """A study without its items."""

    id: str
    name: str
    design: Mapping[str, Any]
    salt: str
    open_token: str
    created_at: datetime

    def pseudonym(self, judge_id: str) -> str:
        """What a judge is called in reports and exports; it says nothing about the person."""
        return hashlib.sha256(f"{self.salt}:{judge_id}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class StudyItem:
    """Two continuations of one prefix."""

    item: int
    kind: ItemKind
    pair: int | None
    prefix_id: str
    prefix: str
    first: str
    second: str
    first_job: str | None = None
    second_job: str | None = None
    votes: int = 0


@dataclass(frozen=True, slots=True)
class Judge:
    """A person who judges."""

    id: str
    study_id: str
    token: str
    platform_id: str | None = None
    platform: Mapping[str, Any] | None = None
    consented: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """An item as it is given to a judge."""

    judge_id: str
    position: int
    item: int
    is_repeat: bool
    swapped: bool
    attempt: int = 1
    state: AssignmentState = AssignmentState.LEASED


@dataclass(frozen=True, slots=True)
class ItemState:
    """An item without its texts, and how many of its votes are given or under way."""

    item: int
    kind: ItemKind
    pair: int | None
    prefix_id: str
    votes: int
    taken: int

    @property
    def is_open(self) -> bool:
        """Whether another judge is wanted."""
        return self.taken < self.votes


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that decides what a judge is shown next."""

    judge: Judge
    items: Sequence[ItemState]
    shown: Sequence[Assignment]  # to this judge, in order; without those that were returned


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that counts, with what was shown."""

    judge_id: str
    position: int
    item: int
    is_repeat: bool
    swapped: bool
    attempt: int
    answer: Answer
    seconds: float | None
    remark: str | None
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """How far a study is."""

    judges: int  # who have answered something
    votes: int
    wanted: int
    leased: int
