"""Bringing a study into another database.

Studies and judges have the same keys everywhere. A study that both databases have gets the judges and answers
that it lacks; if a judge went on in both, the answers of the target stay, and the others follow them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from harness.store.statements import add_rows
from harness.store.study_records import AssignmentState
from harness.store.tables import StudyAnswerRow, StudyAssignmentRow, StudyItemRow, StudyJudgeRow, StudyRow

if TYPE_CHECKING:
    from harness.store.merging import MergeCounts


def add_study(source: Connection, target: Connection, study: Row[Any], counts: MergeCounts) -> None:
    """Add a study, or what the one of the target lacks."""
    present = {row.id: row.name for row in target.execute(select(StudyRow.id, StudyRow.name))}
    if study.id not in present:
        # Another study of the target may have its name.
        name = f"{study.name}-{study.id[:6]}" if study.name in present.values() else study.name
        add_rows(target, StudyRow, [dict(study._mapping) | {"name": name}])
        items = select(StudyItemRow.__table__).where(StudyItemRow.study_id == study.id)
        add_rows(target, StudyItemRow, [dict(row._mapping) for row in source.execute(items)])
        counts.studies += 1
    judges = select(StudyJudgeRow.__table__).where(StudyJudgeRow.study_id == study.id)
    for judge in source.execute(judges).all():
        add_rows(target, StudyJudgeRow, [dict(judge._mapping)])
        _add_answers(source, target, judge.id, _id_in(target, judge), counts)


def _id_in(target: Connection, judge: Row[Any]) -> str:
    """A person of a platform may have entered both databases, and has two ids then."""
    is_it = StudyJudgeRow.id == judge.id
    if judge.platform_id is not None:
        is_it = (StudyJudgeRow.study_id == judge.study_id) & (StudyJudgeRow.platform_id == judge.platform_id)
    found: str = target.scalars(select(StudyJudgeRow.id).where(is_it)).one()
    return found


def _add_answers(
    source: Connection, target: Connection, judge_id: str, target_id: str, counts: MergeCounts
) -> None:
    columns = StudyAssignmentRow.__table__
    there = target.execute(select(columns).where(StudyAssignmentRow.judge_id == target_id)).all()
    present = {(row.item, row.is_repeat) for row in there}
    position = max((row.position for row in there), default=-1)
    own = select(columns).where(StudyAssignmentRow.judge_id == judge_id)
    for row in source.execute(own.order_by(StudyAssignmentRow.position)).all():
        # Leases are of the server that gave them.
        if row.state != AssignmentState.ANSWERED or (row.item, row.is_repeat) in present:
            continue
        position += 1
        place = {"judge_id": target_id, "position": position}
        add_rows(target, StudyAssignmentRow, [dict(row._mapping) | place])
        answers = select(StudyAnswerRow.__table__).where(
            StudyAnswerRow.judge_id == judge_id, StudyAnswerRow.position == row.position
        )
        found = [dict(answer._mapping) | place for answer in source.execute(answers)]
        add_rows(target, StudyAnswerRow, found)
        counts.answers += sum(answer["undone_at"] is None for answer in found)
