"""Making a study: which prefixes are judged, and the items with their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bat.errors import InvalidInputError
from bat.random import Key, uniforms
from harness.judge.design import HUMAN, PairDesign, StudyDesign, study_id
from harness.judge.power import TIES, Power, smallest_preference
from harness.judge.sides import ShownText, Side, Sides, shown_texts
from harness.store import Reader
from harness.store.study_records import ItemKind, StudyItem

MOST_CHECKS = 30  # different attention checks in a study; a judge sees each once at most
_LEAST_WORDS = 8  # of a human text whose shuffled words are told from it at a glance


@dataclass(frozen=True, slots=True)
class PairTexts:
    """The texts that a pair could show, by prefix."""

    design: PairDesign
    prefixes: Mapping[str, str]
    first: Mapping[str, ShownText]
    second: Mapping[str, ShownText]


@dataclass(frozen=True, slots=True)
class NewStudy:
    """A study that is not stored yet, and what it can show."""

    id: str
    design: StudyDesign
    items: tuple[StudyItem, ...]
    power: tuple[Power, ...]  # of each pair
    notes: tuple[str, ...] = ()

    def count(self, kind: ItemKind) -> int:
        """How many items are of a kind."""
        return sum(item.kind is kind for item in self.items)


def pairs_of_run(
    reader: Reader, sides: Sides, pairs: Sequence[str], last_tokens: int | None
) -> tuple[list[PairTexts], dict[str, ShownText]]:
    """The texts of each pair of settings, and the human texts of their prefixes, for attention checks."""
    if not pairs:
        raise InvalidInputError(
            "a study must compare at least one pair of settings, such as --pair ba-eta:eta."
        )
    found: list[PairTexts] = []
    human: dict[str, ShownText] = {}
    for text in pairs:
        both = sides.pair(text)
        entries = {entry.id: entry for entry in reader.prefixes(both[0].prefix_set)}
        person = Side(HUMAN, None, *_place(both[0]))
        human |= shown_texts(reader, sides.run, person, entries, last_tokens)
        texts = [shown_texts(reader, sides.run, side, entries, last_tokens) for side in both]
        prefixes = {name: entry.text for name, entry in entries.items()}
        labels = PairDesign(both[0].label, both[1].label, both[0].rule, both[1].rule)
        found.append(paired(labels, prefixes, *texts))
    return found, human


def _place(side: Side) -> tuple[str, str, str, str, None, tuple[str, ...]]:
    return side.stage, side.split, side.model, side.prefix_set, None, ()


def paired(
    labels: PairDesign,
    prefixes: Mapping[str, str],
    first: Mapping[str, ShownText],
    second: Mapping[str, ShownText],
) -> PairTexts:
    """The texts of a pair where both have one, and they differ; raises if they share no prefix."""
    shared = [name for name in prefixes if name in first and name in second]
    if not shared:
        raise InvalidInputError(
            f"a pair must be two settings that continue the same prefixes; {labels.first} and "
            f"{labels.second} share none. Choose settings of one stage."
        )
    different = {
        name: prefixes[name] for name in shared if first[name].text.strip() != second[name].text.strip()
    }
    if not different:
        raise InvalidInputError(
            f"a pair must be two settings whose texts differ; those of {labels.first} and {labels.second} "
            f"are the same after all {len(shared)} prefixes. Choose other settings."
        )
    counts = replace(labels, prefixes=len(shared), identical=len(shared) - len(different))
    return PairTexts(counts, different, first, second)


def make_study(
    design: StudyDesign,
    pairs: Sequence[PairTexts],
    human: Mapping[str, ShownText],
    items_per_pair: int | None = None,
    ties: float = TIES,
) -> NewStudy:
    """The items of a study. Pairs share their prefixes as far as they can, so that they are comparable."""
    if items_per_pair is not None and items_per_pair < 1:
        raise InvalidInputError(f"items per pair must be at least 1; got {items_per_pair}.")
    if not 0 <= ties < 1:
        raise InvalidInputError(f"the assumed share of ties must lie in [0, 1); got {ties}.")
    _check_distinct(pairs)
    order = _in_order(design.seed, pairs)
    items: list[StudyItem] = []
    notes = []
    for number, pair in enumerate(pairs):
        chosen = [name for name in order if name in pair.prefixes][:items_per_pair]
        if items_per_pair is not None and len(chosen) < items_per_pair:
            notes.append(
                f"{pair.design.first} and {pair.design.second} differ after {len(chosen)} prefixes only; "
                f"{items_per_pair} items were asked for."
            )
        items += [
            _item_of(len(items) + count, number, name, pair, design) for count, name in enumerate(chosen)
        ]
    used = {item.prefix_id for item in items}
    if design.check_rate > 0:
        checks = _checks(design, pairs, human, used, len(items))
        if not checks:
            notes.append("There is no human text of enough words, so there are no attention checks.")
        items += checks
    whole = replace(design, pairs=tuple(pair.design for pair in pairs))
    counts = [sum(item.pair == number for item in items) for number in range(len(pairs))]
    power = tuple(smallest_preference(count, design.votes, ties) for count in counts)
    return NewStudy(study_id(whole, items), whole, tuple(items), power, tuple(notes))


def _check_distinct(pairs: Sequence[PairTexts]) -> None:
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        sides = frozenset((pair.design.first, pair.design.second))
        if sides in seen:
            raise InvalidInputError(
                f"the pairs of a study must differ; {pair.design.first} and {pair.design.second} are given "
                "twice. Leave out one of them."
            )
        seen.add(sides)


def _in_order(seed: int, pairs: Sequence[PairTexts]) -> list[str]:
    """All prefixes: those that most pairs share first, otherwise by chance."""
    names = list(dict.fromkeys(name for pair in pairs for name in pair.prefixes))
    shared = {name: sum(name in pair.prefixes for pair in pairs) for name in names}
    chance = uniforms([Key(seed, "prefixes", name, 0) for name in names], 0, 1)[:, 0]
    by_chance = dict(zip(names, chance.tolist(), strict=True))
    return sorted(names, key=lambda name: (-shared[name], by_chance[name]))


def _item_of(item: int, number: int, name: str, pair: PairTexts, design: StudyDesign) -> StudyItem:
    first, second = pair.first[name], pair.second[name]
    return StudyItem(
        *(item, ItemKind.PAIR, number, name, pair.prefixes[name]),
        *(_clean(first.text), _clean(second.text), first.job, second.job, design.votes),
    )


def _checks(
    design: StudyDesign,
    pairs: Sequence[PairTexts],
    human: Mapping[str, ShownText],
    used: set[str],
    start: int,
) -> list[StudyItem]:
    """Human texts against their own words in random order, of prefixes that no item has if there are any."""
    prefixes = {name: text for pair in pairs for name, text in pair.prefixes.items()}
    usable = [name for name in prefixes if name in human and len(human[name].text.split()) >= _LEAST_WORDS]
    order = _in_order(design.seed + 1, pairs)
    chosen = sorted(usable, key=lambda name: (name in used, order.index(name)))[:MOST_CHECKS]
    return [
        StudyItem(
            *(start + count, ItemKind.CHECK, None, name, prefixes[name]),
            *(_clean(human[name].text), shuffled(human[name].text, design.seed, name)),
        )
        for count, name in enumerate(chosen)
    ]


def shuffled(text: str, seed: int, name: str) -> str:
    """The words of a text in random order."""
    words = text.split()
    order = np.argsort(uniforms([Key(seed, "shuffle", name, 0)], 0, len(words))[0])
    return " ".join(words[index] for index in order)


def _clean(text: str) -> str:
    """Without what PostgreSQL cannot store."""
    return text.replace("\x00", "\ufffd")
