"""Judges whose answers say nothing: they miss attention checks, or answer faster than anyone reads."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from bat.errors import InvalidInputError
from harness.judge.votes import StudyVotes
from harness.store.study_records import Answer

LEAST_PASSED = 0.75
# Skimming is done at 400 to 700 words a minute; nobody compares two texts at this rate.
MOST_WORDS_PER_MINUTE = 1500.0


@dataclass(frozen=True, slots=True)
class ExclusionRules:
    """Who is left out."""

    least_passed: float = LEAST_PASSED  # of the attention checks
    most_words_per_minute: float = MOST_WORDS_PER_MINUTE  # by the median of a judge's answers

    def __post_init__(self) -> None:
        if not 0 <= self.least_passed <= 1:
            raise InvalidInputError(
                f"the least share of attention checks must lie in [0, 1]; got {self.least_passed}."
            )
        if self.most_words_per_minute <= 0:
            raise InvalidInputError(
                f"the most words a minute must be positive; got {self.most_words_per_minute}."
            )

    @property
    def words(self) -> str:
        """The rules in a sentence."""
        return (
            f"Judges are left out who pass less than {self.least_passed:.0%} of their attention checks, or "
            f"whose median answer comes faster than {self.most_words_per_minute:,.0f} words a minute."
        )


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A judge who is left out, and why."""

    judge: str
    answers: int
    reason: str


def find_excluded(votes: StudyVotes, rules: ExclusionRules) -> tuple[Exclusion, ...]:
    """The judges whom the rules leave out, in the order of their links."""
    excluded = []
    for judge in votes.judges:
        own = [vote for vote in votes.votes if vote.judge == judge]
        reasons = []
        checks = [vote for vote in votes.checks if vote.judge == judge]
        passed = sum(vote.answer is Answer.FIRST for vote in checks)
        if passed < rules.least_passed * len(checks):
            reasons.append(f"passed {passed} of {len(checks)} attention checks")
        rates = [60 * vote.words / vote.seconds for vote in own if vote.seconds]
        if rates and statistics.median(rates) > rules.most_words_per_minute:
            reasons.append(f"answered at {statistics.median(rates):,.0f} words a minute")
        if reasons:
            excluded.append(Exclusion(judge, len(own), " and ".join(reasons)))
    return tuple(excluded)
