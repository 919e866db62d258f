"""The answers of a study as votes, ready for statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.judge.design import PairDesign, StudyDesign
from harness.store.studies import StudyReader
from harness.store.study_records import Answer, ItemKind, Study, StudyItem


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer to an item, whose first text is the first of its pair wherever it was shown."""

    judge: str  # a pseudonym
    item: int
    kind: ItemKind
    pair: int | None
    prefix: str
    answer: Answer
    swapped: bool
    is_repeat: bool
    seconds: float | None
    words: int  # that were shown

    @property
    def chose_shown_first(self) -> bool | None:
        """Whether the text that was shown first won; None for a tie."""
        if self.answer is Answer.TIE:
            return None
        return (self.answer is Answer.FIRST) != self.swapped


@dataclass(frozen=True)
class StudyVotes:
    """A study with all its answers."""

    name: str
    design: StudyDesign
    votes: tuple[Vote, ...]
    jobs: tuple[tuple[str, ...], ...] = ()  # of each pair: the jobs that wrote its texts

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """Everyone who has answered something."""
        return tuple(dict.fromkeys(vote.judge for vote in self.votes))

    def without(self, judges: Sequence[str]) -> StudyVotes:
        """The same study without the answers of some judges."""
        kept = tuple(vote for vote in self.votes if vote.judge not in judges)
        return StudyVotes(self.name, self.design, kept, self.jobs)

    def of_pair(self, number: int) -> list[Vote]:
        """The votes that count for a pair."""
        return [vote for vote in self.votes if vote.pair == number and not vote.is_repeat]

    @property
    def checks(self) -> list[Vote]:
        """Answers to attention checks."""
        return [vote for vote in self.votes if vote.kind is ItemKind.CHECK]

    def numbered_pairs(self) -> list[tuple[int, PairDesign]]:
        """The pairs and their numbers."""
        return list(enumerate(self.design.pairs))


def load_votes(reader: StudyReader, study: Study) -> StudyVotes:
    """All answers of a study that count."""
    items = reader.items(study.id)
    design = StudyDesign.from_record(study.design)
    votes = [
        Vote(
            judge=study.pseudonym(answer.judge_id),
            item=answer.item,
            kind=items[answer.item].kind,
            pair=items[answer.item].pair,
            prefix=items[answer.item].prefix_id,
            answer=answer.answer,
            swapped=answer.swapped,
            is_repeat=answer.is_repeat,
            seconds=answer.seconds,
            words=words_of(items[answer.item]),
        )
        for answer in reader.answers(study.id)
    ]
    jobs = [
        tuple(
            dict.fromkeys(
                job
                for item in items
                if item.pair == number
                for job in (item.first_job, item.second_job)
                if job is not None
            )
        )
        for number in range(len(design.pairs))
    ]
    return StudyVotes(study.name, design, tuple(votes), tuple(jobs))


def words_of(item: StudyItem) -> int:
    """How many words a judge has to read."""
    return sum(len(text.split()) for text in (item.prefix, item.first, item.second))
