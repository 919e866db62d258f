"""Reading studies of human evaluation. Writing: harness.store.judging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sqlalchemy import Connection, Row, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.store.addresses import shown
from harness.store.engine import Database
from harness.store.reader import Reader
from harness.store.study_records import (
    Answer,
    Assignment,
    AssignmentState,
    ItemKind,
    ItemState,
    Judge,
    StoredAnswer,
    Study,
    StudyItem,
    StudyProgress,
)
from harness.store.tables import (
    JobRow,
    RunJobRow,
    StudyAnswerRow,
    StudyAssignmentRow,
    StudyItemRow,
    StudyJudgeRow,
    StudyRow,
    utc_now,
)


class StudyReader:
    """The studies of an open database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def of(cls, reader: Reader) -> Self:
        """The studies of a database that is open already."""
        return cls(reader._database)

    @property
    def address(self) -> str:
        """The address to show to people, without the password."""
        return shown(self._database.url)

    def studies(self, *conditions: ColumnElement[bool]) -> list[Study]:
        """All studies, the latest first."""
        statement = select(StudyRow.__table__).where(*conditions)
        with self._database.reading() as connection:
            rows = connection.execute(statement.order_by(StudyRow.created_at.desc(), StudyRow.name)).all()
        return [Study(**row._mapping) for row in rows]

    def studies_of_runs(self, run_ids: Sequence[int]) -> list[Study]:
        """The studies with texts that jobs of these runs wrote, the latest first."""
        used = (
            select(1)
            .select_from(StudyItemRow)
            .join(JobRow, or_(JobRow.id == StudyItemRow.first_job, JobRow.id == StudyItemRow.second_job))
            .join(RunJobRow, RunJobRow.job_key == JobRow.key)
            .where(StudyItemRow.study_id == StudyRow.id, RunJobRow.run_id.in_(list(run_ids)))
        )
        return self.studies(used.exists())

    def get_study(self, name: str) -> Study:
        """The study of that name, or whose id begins so; raises with the names there are."""
        studies = self.studies()
        chosen = [study for study in studies if study.name == name]
        if not chosen and len(name) >= 6:
            chosen = [study for study in studies if study.id.startswith(name)]
        if len(chosen) != 1:
            names = [study.name for study in studies]
            listed = (
                f"Its studies: {', '.join(names)}.{did_you_mean(name, names)}"
                if names
                else ("It has none; make one with: bat-harness judge make")
            )
            raise InvalidInputError(f"there is no study {name!r} in {self.address}. {listed}")
        return chosen[0]

    def items(self, study_id: str) -> list[StudyItem]:
        """All items with their texts."""
        columns = [column for column in StudyItemRow.__table__.c if column.name != "study_id"]
        statement = select(*columns).where(StudyItemRow.study_id == study_id).order_by(StudyItemRow.item)
        with self._database.reading() as connection:
            return [_item_of(row) for row in connection.execute(statement)]

    def item(self, study_id: str, item: int) -> StudyItem:
        """One item."""
        columns = [column for column in StudyItemRow.__table__.c if column.name != "study_id"]
        statement = select(*columns).where(StudyItemRow.study_id == study_id, StudyItemRow.item == item)
        with self._database.reading() as connection:
            return _item_of(connection.execute(statement).one())

    def judges(self, study_id: str) -> list[Judge]:
        """The judges of a study, in the order of their links."""
        order = (StudyJudgeRow.created_at, StudyJudgeRow.id)
        with self._database.reading() as connection:
            return read_judges(connection, StudyJudgeRow.study_id == study_id, order=order)

    def find_judge(self, token: str) -> Judge | None:
        """The judge whose link has this secret."""
        with self._database.reading() as connection:
            return next(iter(read_judges(connection, StudyJudgeRow.token == token)), None)

    def answers(self, study_id: str) -> list[StoredAnswer]:
        """The answers that count, in the order of judges and their sequences."""
        shown_at, answered_at = StudyAssignmentRow.shown_at, StudyAnswerRow.answered_at
        statement = (
            select(
                *(StudyAssignmentRow.judge_id, StudyAssignmentRow.position, StudyAssignmentRow.item),
                *(StudyAssignmentRow.is_repeat, StudyAssignmentRow.swapped, StudyAnswerRow.attempt),
                *(StudyAnswerRow.answer, StudyAnswerRow.seconds, StudyAnswerRow.remark),
                *(shown_at, answered_at),
            )
            .join(
                StudyAnswerRow,
                (StudyAnswerRow.judge_id == StudyAssignmentRow.judge_id)
                & (StudyAnswerRow.position == StudyAssignmentRow.position),
            )
            .join(StudyJudgeRow, StudyJudgeRow.id == StudyAssignmentRow.judge_id)
            .where(StudyAssignmentRow.study_id == study_id, StudyAnswerRow.undone_at.is_(None))
            .order_by(StudyJudgeRow.created_at, StudyJudgeRow.id, StudyAssignmentRow.position)
        )
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
        return [
            StoredAnswer(
                **{name: value for name, value in row._mapping.items() if name not in ("answer", "shown_at")},
                answer=Answer(row.answer),
            )
            for row in rows
        ]

    def count_answered(self, judge_id: str) -> int:
        """How many comparisons a judge has answered."""
        answered = StudyAssignmentRow.state == AssignmentState.ANSWERED
        with self._database.reading() as connection:
            own = select(func.count()).where(StudyAssignmentRow.judge_id == judge_id, answered)
            return connection.scalar(own) or 0

    def progress(self, study_id: str) -> StudyProgress:
        """How many votes are given and wanted."""
        votes = (
            StudyAssignmentRow.study_id == study_id,
            ~StudyAssignmentRow.is_repeat,
            StudyItemRow.votes > 0,
        )
        counted = (
            select(func.count())
            .select_from(StudyAssignmentRow)
            .join(
                StudyItemRow,
                (StudyItemRow.study_id == StudyAssignmentRow.study_id)
                & (StudyItemRow.item == StudyAssignmentRow.item),
            )
            .where(*votes)
        )
        wanted = select(func.sum(StudyItemRow.votes)).where(StudyItemRow.study_id == study_id)
        answered = StudyAssignmentRow.state == AssignmentState.ANSWERED
        judges = select(func.count(StudyAssignmentRow.judge_id.distinct())).where(
            StudyAssignmentRow.study_id == study_id, answered
        )
        with self._database.reading() as connection:
            return StudyProgress(
                judges=connection.scalar(judges) or 0,
                votes=connection.scalar(counted.where(answered)) or 0,
                wanted=connection.scalar(wanted) or 0,
                leased=connection.scalar(counted.where(is_under_way())) or 0,
            )


def read_judges(
    connection: Connection, *conditions: ColumnElement[bool], order: Sequence[Any] = ()
) -> list[Judge]:
    """Judges that meet the conditions."""
    statement = select(StudyJudgeRow.__table__).where(*conditions).order_by(*order)
    return [
        Judge(
            row.id,
            row.study_id,
            row.token,
            row.platform_id,
            row.platform,
            consented=row.consented_at is not None,
        )
        for row in connection.execute(statement)
    ]


def read_item_states(connection: Connection, study_id: str) -> list[ItemState]:
    """All items without their texts, with the number of votes that are given or under way."""
    of_item = (
        select(StudyAssignmentRow.item, func.count().label("taken"))
        .where(
            StudyAssignmentRow.study_id == study_id,
            ~StudyAssignmentRow.is_repeat,
            or_(StudyAssignmentRow.state == AssignmentState.ANSWERED, is_under_way()),
        )
        .group_by(StudyAssignmentRow.item)
        .subquery()
    )
    statement = (
        select(
            *(StudyItemRow.item, StudyItemRow.kind, StudyItemRow.pair, StudyItemRow.prefix_id),
            *(StudyItemRow.votes, func.coalesce(of_item.c.taken, 0).label("taken")),
        )
        .outerjoin(of_item, of_item.c.item == StudyItemRow.item)
        .where(StudyItemRow.study_id == study_id)
        .order_by(StudyItemRow.item)
    )
    return [
        ItemState(row.item, ItemKind(row.kind), row.pair, row.prefix_id, row.votes, row.taken)
        for row in connection.execute(statement)
    ]


def read_assignments(connection: Connection, judge_id: str) -> list[Assignment]:
    """What a judge was given, in order."""
    columns = (
        *(StudyAssignmentRow.judge_id, StudyAssignmentRow.position, StudyAssignmentRow.item),
        *(StudyAssignmentRow.is_repeat, StudyAssignmentRow.swapped, StudyAssignmentRow.attempt),
    )
    statement = (
        select(*columns, StudyAssignmentRow.state)
        .where(StudyAssignmentRow.judge_id == judge_id)
        .order_by(StudyAssignmentRow.position)
    )
    return [Assignment(*row[:-1], state=AssignmentState(row.state)) for row in connection.execute(statement)]


def is_under_way() -> ColumnElement[bool]:
    """Whether an assignment is leased, and its lease has not expired."""
    leased = StudyAssignmentRow.state == AssignmentState.LEASED
    return leased & (StudyAssignmentRow.lease_expires_at > utc_now())


def _item_of(row: Row[Any]) -> StudyItem:
    return StudyItem(**{**row._mapping, "kind": ItemKind(row.kind)})
