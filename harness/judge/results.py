"""The results of a study, with and without the judges who are left out."""

from __future__ import annotations

from dataclasses import dataclass

from bat.errors import InvalidInputError
from harness.judge.agreement import Agreement, agreement
from harness.judge.design import PairDesign
from harness.judge.exclusion import Exclusion, ExclusionRules, find_excluded
from harness.judge.shares import Estimate, PairResult, pair_result, position_bias
from harness.judge.strengths import Strength, strengths
from harness.judge.votes import StudyVotes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The statistics of some judges' answers."""

    pairs: tuple[tuple[PairDesign, PairResult | None], ...]  # None for a pair without votes
    agreement: Agreement
    shown_first: Estimate
    strengths: tuple[Strength, ...]  # none for fewer than three settings
    judges: int


@dataclass(frozen=True, slots=True)
class StudyResults:
    """What a study shows."""

    votes: StudyVotes
    rules: ExclusionRules
    excluded: tuple[Exclusion, ...]
    outcome: Outcome | None  # None if every judge is left out
    with_all: Outcome

    @property
    def name(self) -> str:
        return self.votes.name


def study_results(votes: StudyVotes, rules: ExclusionRules | None = None) -> StudyResults:
    """The statistics of a study; raises if it has no votes yet."""
    rules = rules or ExclusionRules()
    if not any(votes.of_pair(number) for number, _ in votes.numbered_pairs()):
        raise InvalidInputError(
            f"a result needs votes; study {votes.name!r} has none yet. Let people judge it with: bat-harness "
            f"judge serve {votes.name}"
        )
    excluded = find_excluded(votes, rules)
    with_all = _outcome(votes)
    kept = votes.without([each.judge for each in excluded])
    has_votes = any(kept.of_pair(number) for number, _ in kept.numbered_pairs())
    outcome = with_all if not excluded else _outcome(kept) if has_votes else None
    return StudyResults(votes, rules, excluded, outcome, with_all)


def _outcome(votes: StudyVotes) -> Outcome:
    pairs = votes.numbered_pairs()
    own = {number: votes.of_pair(number) for number, _ in pairs}
    judged = [vote for votes_of_pair in own.values() for vote in votes_of_pair]
    sides = [(pair.first, pair.second) for _, pair in pairs]
    return Outcome(
        pairs=tuple((pair, pair_result(own[number]) if own[number] else None) for number, pair in pairs),
        agreement=agreement(votes.votes),
        shown_first=position_bias(judged),
        strengths=tuple(strengths(votes.design.settings, sides, judged) or ()),
        judges=len(votes.judges),
    )
