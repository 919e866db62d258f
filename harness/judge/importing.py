"""Answers that were given elsewhere: for a study of this database, or as a study of their own."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bat.errors import InvalidInputError
from harness.judge.batch_csv import BatchRow
from harness.judge.design import PairDesign, StudyDesign, study_id
from harness.store.judging import StudyStore
from harness.store.study_records import ItemKind, Judge, StoredAnswer, Study, StudyItem


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought."""

    study: Study
    is_new: bool
    answers: int  # that were not there before
    given: int  # in the file


def import_batch(store: StudyStore, rows: Sequence[BatchRow], name: str | None, source: str) -> Imported:
    """Add the answers of a file to the study that they are of, or to a new one."""
    if not rows:
        raise InvalidInputError(f"an import needs answers; {source} has none.")
    known = {study.id: study for study in store.studies()}
    ids = {row.study for row in rows}
    if len(ids) == 1 and ids <= set(known):
        study, is_new = known[next(iter(ids))], False
        answers = answers_of(rows, _numbers_in(rows, store.items(study.id)))
    else:
        if name is None:
            raise InvalidInputError(
                f"the answers of {source} are of no study of {store.address}, so they make a new one. Give "
                "it a name with --name."
            )
        design, items, numbers = study_of_rows(rows, source)
        answers = answers_of(rows, numbers)  # raises before anything is stored
        study, is_new = store.add_study(study_id(design, items), name, design.as_record(), items)
    return add_answers(store, study, answers, is_new=is_new)


def add_answers(
    store: StudyStore, study: Study, answers: Sequence[StoredAnswer], *, is_new: bool
) -> Imported:
    """Add answers whose judges have the names of the file that they come from."""
    ids = judge_ids(store, study, [answer.judge_id for answer in answers])
    judges = [Judge(judge, "", "", platform_id=worker) for worker, judge in ids.items()]
    own = [replace(answer, judge_id=ids[answer.judge_id]) for answer in answers]
    return Imported(study, is_new, store.add_answers(study.id, judges, own), len(own))


def _numbers_in(rows: Sequence[BatchRow], items: Sequence[StudyItem]) -> list[tuple[int, bool]]:
    """The item of each row, and whether its texts were shown the other way round."""
    numbers = []
    for row in rows:
        if row.item is None or row.item >= len(items) or row.swapped is None:
            raise InvalidInputError(
                f"an answer to a study must name an item of it (0 to {len(items) - 1}) and the order of its "
                f"texts; {row.where} does not. Keep the columns Input.item and Input.swapped of the tasks."
            )
        numbers.append((row.item, row.swapped))
    return numbers


def study_of_rows(
    rows: Sequence[BatchRow], source: str
) -> tuple[StudyDesign, list[StudyItem], list[tuple[int, bool]]]:
    """The study that answers are of: its pairs and items are those that occur in them."""
    pairs: dict[frozenset[str], tuple[int, str, str]] = {}
    items: dict[tuple[str, frozenset[tuple[str, str]]], StudyItem] = {}
    numbers = []
    for row in rows:
        if len(set(row.settings)) < 2 or not all(row.settings):
            raise InvalidInputError(
                f"the two texts must be of different settings with names; got {row.settings[0]!r} and "
                f"{row.settings[1]!r} in {row.where}."
            )
        first, second = row.settings[::-1] if row.swapped else row.settings
        number: int | None = None
        if row.kind is ItemKind.PAIR:
            number, first, second = pairs.setdefault(frozenset(row.settings), (len(pairs), first, second))
        swapped = row.settings[0] != first
        texts = row.texts[::-1] if swapped else row.texts
        key = (row.prefix, frozenset(zip(row.settings, row.texts, strict=True)))
        if key not in items:
            prefix_id = row.prefix_id or hashlib.sha256(row.prefix.encode()).hexdigest()[:16]
            items[key] = StudyItem(len(items), row.kind, number, prefix_id, row.prefix, *texts)
        numbers.append((items[key].item, swapped))
    votes = Counter(item for item, _ in {(n, row.worker) for (n, _), row in zip(numbers, rows, strict=True)})
    counted = [
        replace(item, votes=votes[item.item]) if item.kind is ItemKind.PAIR else item
        for item in items.values()
    ]
    if not pairs:
        raise InvalidInputError(f"a study needs answers about pairs; {source} has attention checks only.")
    design = StudyDesign(
        tuple(PairDesign(first, second) for _, first, second in pairs.values()),
        votes=max(votes[item.item] for item in counted if item.kind is ItemKind.PAIR),
        check_rate=0.0,
        repeat_rate=0.0,
        source=source,
    )
    return design, counted, numbers


def judge_ids(store: StudyStore, study: Study, workers: Sequence[str]) -> Mapping[str, str]:
    """The id of each worker; those who are judges of the study already, by whatever name, keep theirs."""
    present = {
        name: judge.id
        for judge in store.judges(study.id)
        for name in (judge.platform_id, study.pseudonym(judge.id))
        if name is not None
    }
    return {
        worker: present.get(worker) or hashlib.sha256(f"{study.id}:{worker}".encode()).hexdigest()[:32]
        for worker in dict.fromkeys(workers)
    }


def answers_of(rows: Sequence[BatchRow], numbers: Sequence[tuple[int, bool]]) -> list[StoredAnswer]:
    """The answers of a file, with the workers' names in it as ids of judges."""
    answers: list[StoredAnswer] = []
    positions: Counter[str] = Counter()
    seen: Counter[tuple[str, int]] = Counter()
    for row, (item, swapped) in zip(rows, numbers, strict=True):
        times = seen[row.worker, item]
        if times > 1:
            raise InvalidInputError(
                f"a judge answers an item once, and once more if it is repeated; {row.where} is the third "
                f"answer of {row.worker!r} to the same comparison. Remove it."
            )
        seen[row.worker, item] += 1
        answers.append(
            StoredAnswer(
                judge_id=row.worker,
                position=positions[row.worker],
                item=item,
                is_repeat=bool(times) if row.is_repeat is None else row.is_repeat,
                swapped=swapped,
                attempt=1,
                answer=row.shown.other_way_round if swapped else row.shown,
                seconds=row.seconds,
                remark=row.remark or None,
                answered_at=row.time or datetime.now(UTC),
            )
        )
        positions[row.worker] += 1
    return answers
