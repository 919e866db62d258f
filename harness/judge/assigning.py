"""What a judge is shown next, and in which order the two texts stand.

All of it follows from counter-based random numbers with the study's seed, the judge and the item as their
address, and from what was answered so far. Nothing depends on the server that asks.

*Balance.* A judge gets an item with the fewest votes. Among those, one whose prefix the judge has seen least,
then one of the pair the judge has seen least; the rest is chance.

*Checks and repetitions* come at their rates: in every block of 1/rate comparisons there is one, at a random
place. A repeated item is shown the other way round, some time after it was answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bat.random import Key, uniforms
from harness.judge.design import StudyDesign
from harness.store.judging import Choice
from harness.store.study_records import Assignment, AssignmentState, ItemKind, ItemState, Situation

_PAUSE = 5  # comparisons between an item and its repetition
_ORDER, _SIDES, _CHECKS, _REPEATS, _WHICH = range(5)  # what the numbers of a judge are for


@dataclass(frozen=True, slots=True)
class Assigner:
    """Chooses for the judges of one study."""

    design: StudyDesign

    def __call__(self, situation: Situation) -> Choice | None:
        """The next item of a judge; None when there is nothing left to ask."""
        judge = situation.judge.id
        given = situation.shown
        kept = [each for each in given if each.state is not AssignmentState.RETURNED]
        if self.design.per_judge is not None and len(kept) >= self.design.per_judge:
            return None
        item = self._find_item(judge, situation.items, given)
        if item is None:
            return None
        position = len(kept)
        check = self._find_check(judge, position, situation.items, given)
        if check is not None:
            return check, False, self._swaps(judge, check)
        again = self._find_repetition(judge, position, situation.items, kept)
        if again is not None:
            return again.item, True, not again.swapped
        return item, False, self._swaps(judge, item)

    def _find_item(self, judge: str, items: Sequence[ItemState], given: Sequence[Assignment]) -> int | None:
        seen = {each.item for each in given}
        prefixes = Counter(items[item].prefix_id for item in seen)
        pairs = Counter(items[item].pair for item in seen)
        wanted = [
            each for each in items if each.kind is ItemKind.PAIR and each.is_open and each.item not in seen
        ]
        if not wanted:
            return None
        keys = [Key(self.design.seed, judge, each.item, _ORDER) for each in wanted]
        chance = uniforms(keys, 0, 1)[:, 0]
        order = [
            (each.taken, prefixes[each.prefix_id], pairs[each.pair], float(chance[number]), each.item)
            for number, each in enumerate(wanted)
        ]
        return min(order)[-1]

    def _find_check(
        self, judge: str, position: int, items: Sequence[ItemState], given: Sequence[Assignment]
    ) -> int | None:
        checks = [each.item for each in items if each.kind is ItemKind.CHECK]
        seen = {each.item for each in given}
        done = sum(item in seen for item in checks)
        left = [item for item in checks if item not in seen]
        if not left or done >= self._due(judge, position, self.design.check_rate, _CHECKS):
            return None
        return left[int(self._number(judge, done, _WHICH) * len(left))]

    def _find_repetition(
        self, judge: str, position: int, items: Sequence[ItemState], kept: Sequence[Assignment]
    ) -> Assignment | None:
        repeated = {each.item for each in kept if each.is_repeat}
        if len(repeated) >= self._due(judge, position, self.design.repeat_rate, _REPEATS):
            return None
        earlier = [
            each
            for each in kept[: max(0, len(kept) - _PAUSE)]
            if each.state is AssignmentState.ANSWERED
            and not each.is_repeat
            and each.item not in repeated
            and items[each.item].kind is ItemKind.PAIR
        ]
        if not earlier:
            return None
        return earlier[int(self._number(judge, 1000 + len(repeated), _WHICH) * len(earlier))]

    def _due(self, judge: str, position: int, rate: float, purpose: int) -> int:
        """How many should have been shown up to and with this position."""
        if rate <= 0:
            return 0
        size = round(1 / rate)
        block, place = divmod(position, size)
        return block + int(int(self._number(judge, block, purpose) * size) <= place)

    def _swaps(self, judge: str, item: int) -> bool:
        """Whether the second text stands first."""
        return bool(uniforms([Key(self.design.seed, judge, item, _SIDES)], 0, 1)[0, 0] < 0.5)

    def _number(self, judge: str, step: int, purpose: int) -> float:
        return float(uniforms([Key(self.design.seed, judge, "sequence", purpose)], step, 1)[0, 0])


def sequence_length(design: StudyDesign, items: int) -> int:
    """How many comparisons a judge can expect, at most."""
    whole = round(items / max(0.01, 1 - design.check_rate - design.repeat_rate))
    return whole if design.per_judge is None else min(whole, design.per_judge)
