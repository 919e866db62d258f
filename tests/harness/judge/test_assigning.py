"""What judges are shown: balanced, on random sides, with checks and repetitions at their rates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from harness.judge.assigning import Assigner, sequence_length
from harness.judge.design import PairDesign, StudyDesign
from harness.store.study_records import Assignment, AssignmentState, ItemKind, ItemState, Judge, Situation

PAIRS, PREFIXES, CHECKS = 3, 20, 10
DESIGN = StudyDesign(
    tuple(PairDesign(f"a{n}", f"b{n}") for n in range(PAIRS)), votes=2, check_rate=0.1, repeat_rate=0.1
)


def fresh_items(votes: int = 2) -> list[ItemState]:
    pairs = [
        ItemState(pair * PREFIXES + n, ItemKind.PAIR, pair, f"prefix {n}", votes, 0)
        for pair in range(PAIRS)
        for n in range(PREFIXES)
    ]
    first = len(pairs)
    return [*pairs, *(ItemState(first + n, ItemKind.CHECK, None, f"c {n}", 0, 0) for n in range(CHECKS))]


def judge_named(name: str) -> Judge:
    return Judge(name, "study", "token")


def walk(
    name: str, items: list[ItemState], design: StudyDesign = DESIGN, most: int = 1000
) -> list[Assignment]:
    """A judge who answers everything; `items` count the votes."""
    given: list[Assignment] = []
    while len(given) < most:
        choice = Assigner(design)(Situation(judge_named(name), items, given))
        if choice is None:
            break
        item, is_repeat, swapped = choice
        given.append(Assignment(name, len(given), item, is_repeat, swapped, state=AssignmentState.ANSWERED))
        if not is_repeat:
            items[item] = replace(items[item], taken=items[item].taken + 1)
    return given


def test_checks_and_repetitions_come_at_their_rates() -> None:
    items = fresh_items()
    given = walk("one", items)
    checks = [each.position for each in given if items[each.item].kind is ItemKind.CHECK]
    repeats = [each for each in given if each.is_repeat]
    blocks = len(given) // 10
    assert [len([p for p in checks if p // 10 == block]) for block in range(blocks)] == [1] * blocks
    assert blocks - 1 <= len(repeats) <= blocks + 1
    assert len({position % 10 for position in checks}) > 1  # not at the same place of every block
    before = {each.item: each for each in given if not each.is_repeat}
    for each in repeats:
        assert each.swapped is not before[each.item].swapped
        assert each.position - before[each.item].position > 5
    assert abs(len(given) - sequence_length(DESIGN, PAIRS * PREFIXES)) <= 2


def test_every_item_gets_its_votes_and_no_more() -> None:
    items = fresh_items()
    sequences = [walk(name, items) for name in ("one", "two", "three")]
    assert {item.taken for item in items if item.kind is ItemKind.PAIR} == {2}
    shown = [Counter((each.item, each.is_repeat) for each in given) for given in sequences]
    assert all(set(counts.values()) == {1} for counts in shown if counts)


def test_a_judge_sees_prefixes_and_pairs_evenly() -> None:
    items = fresh_items()
    given = walk("one", items, replace(DESIGN, check_rate=0.0, repeat_rate=0.0), most=PREFIXES)
    assert len({items[each.item].prefix_id for each in given}) == PREFIXES  # each once before any twice
    pairs = Counter(items[each.item].pair for each in given)
    assert max(pairs.values()) - min(pairs.values()) <= 1


def test_sides_are_random_for_each_judge_and_the_same_when_asked_again() -> None:
    design = replace(DESIGN, check_rate=0.0, repeat_rate=0.0, votes=40)
    sides = {
        name: {each.item: each.swapped for each in walk(name, fresh_items(40), design)}
        for name in map(str, range(12))
    }
    swapped = [side for own in sides.values() for side in own.values()]
    # 720 fair coins: four standard errors are 7.5%. The seed is fixed.
    assert abs(sum(swapped) / len(swapped) - 0.5) < 0.075
    assert sides["1"] != sides["2"]
    assert walk("1", fresh_items(40), design) == walk("1", fresh_items(40), design)
    other = walk("1", fresh_items(40), replace(design, seed=1))
    assert {each.item: each.swapped for each in other} != sides["1"]


def test_a_judge_is_asked_no_more_than_the_design_says() -> None:
    assert len(walk("one", fresh_items(), replace(DESIGN, per_judge=7))) == 7
    taken = [replace(item, taken=item.votes) for item in fresh_items()]
    assert walk("late", taken) == []  # nothing but checks would be left
