"""Judges whose preference is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.judge.design import PairDesign, StudyDesign
from harness.judge.votes import StudyVotes, Vote
from harness.store.study_records import Answer, ItemKind

WORDS = 150


@dataclass(frozen=True)
class Taste:
    """How votes come about: log-odds of the first against the second, plus what prefix and judge add."""

    preference: float = 0.0
    of_prefixes: float = 0.0  # standard deviations of what they add
    of_judges: float = 0.0
    ties: float = 0.15
    shown_first: float = 0.0  # log-odds for the text that is shown first

    def shares(self) -> tuple[float, float]:
        """The expected shares of the first and the second, over all prefixes and judges there could be."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        spread = np.hypot(self.of_prefixes, self.of_judges)
        sides = [
            float(weights @ (1 / (1 + np.exp(-(self.preference + spread * nodes + bias)))) / weights.sum())
            for bias in (self.shown_first, -self.shown_first)
        ]
        first = (1 - self.ties) * sum(sides) / 2
        return first, 1 - self.ties - first


def simulate_pair(
    random: np.random.Generator,
    taste: Taste,
    prefixes: int = 40,
    judges: int = 12,
    votes: int = 3,
    pair: int = 0,
) -> list[Vote]:
    """The votes on one pair; judges are dealt to prefixes evenly."""
    of_prefix = random.normal(0, taste.of_prefixes, prefixes)
    of_judge = random.normal(0, taste.of_judges, judges)
    made = []
    for prefix in range(prefixes):
        for judge in random.permutation(judges)[:votes]:
            swapped = bool(random.random() < 0.5)
            odds = taste.preference + of_prefix[prefix] + of_judge[judge]
            odds += -taste.shown_first if swapped else taste.shown_first
            if random.random() < taste.ties:
                answer = Answer.TIE
            else:
                answer = Answer.FIRST if random.random() < 1 / (1 + np.exp(-odds)) else Answer.SECOND
            made.append(vote(f"judge {judge}", pair, f"prefix {prefix}", answer, swapped=swapped))
    return made


def vote(
    judge: str,
    pair: int,
    prefix: str,
    answer: Answer,
    *,
    swapped: bool = False,
    is_repeat: bool = False,
    seconds: float = 20.0,
) -> Vote:
    item = pair * 10_000 + int(prefix.rpartition(" ")[2])
    return Vote(judge, item, ItemKind.PAIR, pair, prefix, answer, swapped, is_repeat, seconds, WORDS)


def check(judge: str, number: int, *, passed: bool, seconds: float = 20.0) -> Vote:
    answer = Answer.FIRST if passed else Answer.SECOND
    return Vote(
        judge, 90_000 + number, ItemKind.CHECK, None, f"c {number}", answer, False, False, seconds, WORDS
    )


def study(votes: list[Vote], *pairs: tuple[str, str]) -> StudyVotes:
    design = StudyDesign(tuple(PairDesign(*pair) for pair in pairs or [("ba-eta", "eta")]))
    return StudyVotes("made", design, tuple(votes))
