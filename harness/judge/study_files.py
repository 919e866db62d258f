"""Whole studies as JSONL: the design, every item, and every answer, so that the statistics can be redone.

Each line is a record: {"record": "study" | "item" | "answer", ...}. Judges are named by salted hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from bat.errors import BatError, InvalidInputError
from harness.judge.design import StudyDesign, study_id
from harness.judge.importing import Imported, add_answers
from harness.store.judging import StudyStore
from harness.store.study_records import Answer, ItemKind, StoredAnswer, Study, StudyItem


def study_records(
    study: Study, items: Sequence[StudyItem], answers: Sequence[StoredAnswer], judges: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """All records of a study; `judges` are the names that judges have in the file."""
    yield {"record": "study", "id": study.id, "name": study.name, "design": dict(study.design)}
    for item in items:
        yield {"record": "item", **asdict(item)}
    for answer in answers:
        values = asdict(answer)
        values["answered_at"] = answer.answered_at.isoformat()
        yield {"record": "answer", "judge": judges[values.pop("judge_id")], **values}


def import_study(store: StudyStore, path: Path, name: str | None) -> Imported:
    """Bring a study of a file into a database, or the answers that its study there lacks."""
    records = _read(path)
    if not records or records[0].get("record") != "study":
        raise InvalidInputError(
            f"a study must begin with its design, as judge export writes it; {path} does not. For a file of "
            "texts, use: bat-harness judge make --file"
        )
    try:
        design = StudyDesign.from_record(records[0]["design"])
        items = [
            StudyItem(**{**_without(record), "kind": ItemKind(record["kind"])})
            for record in records
            if record["record"] == "item"
        ]
        answers = [_answer_of(record) for record in records if record["record"] == "answer"]
        title = name or records[0]["name"]
    except BatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{path} must be a study as judge export writes it; a record has an unexpected field or value: "
            f"{error}."
        ) from None
    study, is_new = store.add_study(study_id(design, items), title, design.as_record(), items)
    return add_answers(store, study, answers, is_new=is_new)


def _answer_of(record: Mapping[str, Any]) -> StoredAnswer:
    values = _without(record)
    return StoredAnswer(
        **{
            **{name: value for name, value in values.items() if name != "judge"},
            "judge_id": record["judge"],
            "answer": Answer(record["answer"]),
            "answered_at": datetime.fromisoformat(record["answered_at"]),
        }
    )


def _without(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "record"}


def _read(path: Path) -> list[dict[str, Any]]:
    records = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    record = json.loads(line)
                    if not isinstance(record, dict) or "record" not in record:
                        raise InvalidInputError(
                            f"each line must be a record of a study; line {number} of {path} is none."
                        )
                    records.append(record)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"{path} must be a JSONL file in UTF-8; reading it gave: {reason}.") from None
    return records
