"""Answers as CSV in the batch format that most published studies use.

A row is an answer: `WorkerId`, `WorkTimeInSeconds`, what was shown in columns `Input.*`, what was said in
`Answer.*`. Text 1 and text 2 are as the judge saw them, and `Input.setting_1` and `Input.setting_2` say whose
they are, so nothing has to be known beside the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bat.errors import InvalidInputError
from bat.random import Key, uniforms
from bat.suggestions import did_you_mean
from harness.judge.design import HUMAN, StudyDesign
from harness.store.study_records import Answer, ItemKind, StoredAnswer, Study, StudyItem

SHUFFLED = "shuffled words"

# What a column holds, and its name unless another one is given.
COLUMNS: Mapping[str, str] = {
    "worker": "WorkerId",
    "seconds": "WorkTimeInSeconds",
    "time": "SubmitTime",
    "study": "Input.study",
    "item": "Input.item",
    "kind": "Input.kind",
    "prefix_id": "Input.prefix_id",
    "prefix": "Input.prefix",
    "text_1": "Input.text_1",
    "text_2": "Input.text_2",
    "setting_1": "Input.setting_1",
    "setting_2": "Input.setting_2",
    "swapped": "Input.swapped",
    "repeat": "Input.repeat",
    "choice": "Answer.choice",
    "remark": "Answer.remark",
}
_NEEDED = ("worker", "prefix", "text_1", "text_2", "setting_1", "setting_2", "choice")
_IDENTITY = ("HITId", "AssignmentId", "AssignmentStatus")
_CHOICES = {
    **{"1": Answer.FIRST, "2": Answer.SECOND, "0": Answer.TIE, "tie": Answer.TIE},
    **{"first": Answer.FIRST, "second": Answer.SECOND, "a": Answer.FIRST, "b": Answer.SECOND},
}
_NUMBER_OF = {Answer.FIRST: "1", Answer.SECOND: "2", Answer.TIE: "0"}


@dataclass(frozen=True, slots=True)
class BatchRow:
    """An answer of a file; the texts in the order in which they were shown."""

    where: str  # "line 3 of answers.csv"
    worker: str
    prefix: str
    texts: tuple[str, str]
    settings: tuple[str, str]
    shown: Answer
    kind: ItemKind = ItemKind.PAIR
    prefix_id: str = ""
    item: int | None = None
    study: str = ""
    swapped: bool | None = None  # None if the file does not say
    is_repeat: bool | None = None
    seconds: float | None = None
    remark: str = ""
    time: datetime | None = None


def answer_rows(
    study: Study, items: Sequence[StudyItem], answers: Sequence[StoredAnswer], workers: Mapping[str, str]
) -> tuple[list[str], Iterator[list[str]]]:
    """The columns, and a row for each answer; `workers` are the names that judges have in the file."""
    design = StudyDesign.from_record(study.design)

    def rows() -> Iterator[list[str]]:
        for answer in answers:
            item, worker = items[answer.item], workers[answer.judge_id]
            shown = answer.answer.other_way_round if answer.swapped else answer.answer
            values = {
                "worker": worker,
                "seconds": "" if answer.seconds is None else f"{answer.seconds:g}",
                "time": answer.answered_at.isoformat(),
                **_input(study, design, item, swapped=answer.swapped),
                "repeat": str(int(answer.is_repeat)),
                "choice": _NUMBER_OF[shown],
                "remark": answer.remark or "",
            }
            hit = f"{study.id[:12]}-{answer.item}"
            yield [hit, f"{worker}-{answer.position}", "Submitted", *(values[name] for name in COLUMNS)]

    return [*_IDENTITY, *COLUMNS.values()], rows()


def task_rows(study: Study, items: Sequence[StudyItem]) -> tuple[list[str], Iterator[list[str]]]:
    """What another platform shows: a row for each vote of each item, with texts in random order.

    Columns are named without `Input.`, which platforms add in their results. Who wrote a text is not in them.
    """
    design = StudyDesign.from_record(study.design)
    names = ["study", "item", "kind", "prefix_id", "prefix", "text_1", "text_2", "swapped"]

    def rows() -> Iterator[list[str]]:
        for item in items:
            votes = max(1, item.votes)
            draws = uniforms([Key(design.seed, "tasks", item.item, 0)], 0, votes)[0]
            for draw in draws.tolist():
                values = _input(study, design, item, swapped=draw < 0.5)
                yield [values[name] for name in names]

    return names, rows()


def _input(study: Study, design: StudyDesign, item: StudyItem, *, swapped: bool) -> dict[str, str]:
    texts, settings = (item.first, item.second), settings_of(design, item)
    if swapped:
        texts, settings = (texts[1], texts[0]), (settings[1], settings[0])
    return {
        "study": study.id,
        "item": str(item.item),
        "kind": item.kind.value,
        "prefix_id": item.prefix_id,
        "prefix": item.prefix,
        "text_1": texts[0],
        "text_2": texts[1],
        "setting_1": settings[0],
        "setting_2": settings[1],
        "swapped": str(int(swapped)),
    }


def settings_of(design: StudyDesign, item: StudyItem) -> tuple[str, str]:
    """Whose texts an item shows."""
    if item.pair is None:
        return HUMAN, SHUFFLED
    return design.pairs[item.pair].first, design.pairs[item.pair].second


def read_batch(
    path: Path, columns: Mapping[str, str] | None = None, settings: tuple[str, str] | None = None
) -> list[BatchRow]:
    """The answers of a file.

    `columns` gives other names to the columns, by what they hold. `settings` are those of text 1 and text 2
    in every row, for a file without columns for them.
    """
    names = {**COLUMNS, **_checked(columns or {})}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            present = reader.fieldnames or []
            # Answers to tasks that a study of this database wrote need only the number of the item.
            is_ours = names["study"] in present and names["item"] in present and names["swapped"] in present
            needed = [name for name in _NEEDED if settings is None or not name.startswith("setting")]
            for name in ("worker", "choice") if is_ours else needed:
                if names[name] not in present:
                    raise InvalidInputError(
                        f"{path} must have a column {names[name]!r} ({_meaning(name)}); its columns are "
                        f"{', '.join(present) or 'none'}.{did_you_mean(names[name], present)} If it has "
                        f"another name, add --column {name}=NAME."
                    )
            return [
                _row_of(f"line {reader.line_num} of {path}", row, names, settings)
                for row in reader
                if any((value or "").strip() for value in row.values() if isinstance(value, str))
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"{path} must be a CSV file in UTF-8; reading it gave: {reason}.") from None


def _checked(columns: Mapping[str, str]) -> Mapping[str, str]:
    for name in columns:
        if name not in COLUMNS:
            raise InvalidInputError(
                f"a column must hold one of {', '.join(COLUMNS)}; got {name!r}.{did_you_mean(name, COLUMNS)}"
            )
    return columns


def _meaning(name: str) -> str:
    return {"worker": "who answered", "choice": "1, 2 or 0", "prefix": "the prefix"}.get(
        name, name.replace("_", " ")
    )


def _row_of(
    where: str, row: Mapping[str, str | None], names: Mapping[str, str], settings: tuple[str, str] | None
) -> BatchRow:
    def of(name: str) -> str:
        return (row.get(names[name]) or "").strip()

    choice = _CHOICES.get(of("choice").lower())
    if choice is None:
        raise InvalidInputError(
            f"an answer must be 1 (the first text), 2 (the second) or 0 (a tie); got {of('choice')!r} in "
            f"{where}."
        )
    if not of("worker"):
        raise InvalidInputError(f"{names['worker']} must say who answered; it is empty in {where}.")
    kind = of("kind") or ItemKind.PAIR.value
    if kind not in set(ItemKind):
        raise InvalidInputError(f"{names['kind']} must be pair or check; got {kind!r} in {where}.")
    return BatchRow(
        where=where,
        worker=of("worker"),
        prefix=row.get(names["prefix"]) or "",
        texts=(row.get(names["text_1"]) or "", row.get(names["text_2"]) or ""),
        settings=settings or (of("setting_1"), of("setting_2")),
        shown=choice,
        kind=ItemKind(kind),
        prefix_id=of("prefix_id"),
        item=int(of("item")) if of("item").isdecimal() else None,
        study=of("study"),
        swapped=_flag(of("swapped"), names["swapped"], where),
        is_repeat=_flag(of("repeat"), names["repeat"], where),
        seconds=_number(of("seconds"), names["seconds"], where),
        remark=of("remark"),
        time=_time(of("time")),
    )


def _flag(text: str, name: str, where: str) -> bool | None:
    if text in ("", "0", "1"):
        return None if text == "" else text == "1"
    raise InvalidInputError(f"{name} must be 0 or 1; got {text!r} in {where}.")


def _number(text: str, name: str, where: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidInputError(f"{name} must be a number of seconds; got {text!r} in {where}.") from None


def _time(text: str) -> datetime | None:
    """A time in ISO format; platforms have formats of their own, which are not needed for anything."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
