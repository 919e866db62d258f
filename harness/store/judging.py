"""Writing studies of human evaluation: making them, giving items to judges, storing answers.

The contract
------------
*Answers are never lost.* `answer` returns when the answer is committed, on SQLite also against a crash of the
machine. Undoing an answer keeps it, marked as undone.

*Votes are leased.* An item is given to a judge for a limited time by the database's clock. When that is over,
its vote may be given to another judge; until it is, the judge who has it may still answer. An item never
gets more votes than it asks for.

*Once.* An answer to an item that is answered already changes nothing and is no error: a double click, or a
request that the browser sends again because it did not see our reply.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection, insert, select, update

from bat.errors import InvalidInputError
from harness.store.addresses import Address
from harness.store.statements import add_rows
from harness.store.store import open_for_writing
from harness.store.studies import StudyReader, read_assignments, read_item_states, read_judges
from harness.store.study_records import (
    Answer,
    Assignment,
    AssignmentState,
    ItemState,
    Judge,
    Situation,
    StoredAnswer,
    Study,
    StudyItem,
)
from harness.store.tables import (
    StudyAnswerRow,
    StudyAssignmentRow,
    StudyItemRow,
    StudyJudgeRow,
    StudyRow,
    utc_now,
)

_TOKEN_BYTES = 24  # 192 bits: nobody guesses a link

# The item that a judge gets next, whether it is a repetition, and whether the second text is shown first.
Choice = tuple[int, bool, bool]
Choose = Callable[[Situation], Choice | None]


class NotLeasedError(InvalidInputError):
    """An answer to an item that the judge does not hold."""


def open_studies(address: Address, *, create: bool = False) -> StudyStore:
    """Open a database to make studies and store answers. Close it at the end."""
    return StudyStore(open_for_writing(address, create=create, durable=True))


class StudyStore(StudyReader):
    """Studies opened for writing. The docstring of this module is its contract."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def add_study(
        self, study_id: str, name: str, design: Mapping[str, Any], items: Iterable[StudyItem]
    ) -> tuple[Study, bool]:
        """Add a study unless it is there, and return it, with whether it is new."""
        with self._database.writing() as connection:
            present = connection.execute(
                select(StudyRow.id, StudyRow.name).where((StudyRow.id == study_id) | (StudyRow.name == name))
            ).all()
            for row in present:
                if row.name == name and row.id != study_id:
                    raise InvalidInputError(
                        f"the name of a study must be new; {self.address} has another study {name!r}. Choose "
                        "another one with --name."
                    )
            if not present:
                secret = {"salt": secrets.token_hex(16), "open_token": secrets.token_urlsafe(_TOKEN_BYTES)}
                values = {"id": study_id, "name": name, "design": dict(design), **secret}
                add_rows(connection, StudyRow, [values])
                rows = [{"study_id": study_id, **asdict(item)} for item in items]
                add_rows(connection, StudyItemRow, rows)
        [study] = self.studies(StudyRow.id == study_id)
        return study, not present

    def ensure_judges(self, study_id: str, count: int) -> list[Judge]:
        """The judges who have a link of their own; new ones are added until there are `count`."""
        own = (StudyJudgeRow.study_id == study_id, StudyJudgeRow.platform_id.is_(None))
        with self._database.writing() as connection:
            _lock(connection, study_id)
            present = len(read_judges(connection, *own))
            for _ in range(count - present):
                add_rows(connection, StudyJudgeRow, [_new_judge(study_id)])
            return read_judges(connection, *own, order=(StudyJudgeRow.created_at, StudyJudgeRow.id))

    def enter(self, study_id: str, platform_id: str, platform: Mapping[str, Any]) -> Judge:
        """The judge with this id on a platform, who is added at the first visit."""
        is_it = (StudyJudgeRow.study_id == study_id, StudyJudgeRow.platform_id == platform_id)
        with self._database.writing() as connection:
            row = _new_judge(study_id) | {"platform_id": platform_id, "platform": dict(platform)}
            add_rows(connection, StudyJudgeRow, [row])  # nothing, if the judge is there
            return read_judges(connection, *is_it)[0]

    def consent(self, judge_id: str) -> None:
        """Record that a judge agreed to take part."""
        first = (StudyJudgeRow.id == judge_id, StudyJudgeRow.consented_at.is_(None))
        with self._database.writing() as connection:
            connection.execute(update(StudyJudgeRow).where(*first).values(consented_at=utc_now()))

    def next_assignment(self, judge: Judge, lease_seconds: float, choose: Choose) -> Assignment | None:
        """What a judge is shown now: what the judge has not answered yet, else what `choose` gives."""
        with self._database.writing() as connection:
            _lock(connection, judge.study_id)
            items = read_item_states(connection, judge.study_id)
            given = read_assignments(connection, judge.id)
            for assignment in given:
                if assignment.state is not AssignmentState.LEASED:
                    continue
                if _may_answer(connection, assignment, items[assignment.item]):
                    _set_state(connection, assignment, AssignmentState.LEASED, lease_seconds)
                    return assignment
                _set_state(connection, assignment, AssignmentState.RETURNED)
            choice = choose(Situation(judge, items, read_assignments(connection, judge.id)))
            if choice is None:
                return None
            assignment = Assignment(judge.id, len(given), *choice)
            row = asdict(assignment) | {"study_id": judge.study_id}
            expires = utc_now(lease_seconds)
            connection.execute(insert(StudyAssignmentRow).values(**row, lease_expires_at=expires))
            return assignment

    def answer(
        self,
        judge: Judge,
        position: int,
        attempt: int,
        shown: Answer,
        seconds: float | None = None,
        remark: str | None = None,
    ) -> bool:
        """Store an answer; False if it is stored already. Raises if the judge does not hold the item.

        `shown` is the answer in the order in which this judge saw the texts.
        """
        with self._database.writing() as connection:
            _lock(connection, judge.study_id)
            given = [each for each in read_assignments(connection, judge.id) if each.position == position]
            if not given:
                raise NotLeasedError(
                    f"an answer must be to a comparison that you were given; number {position + 1} is not "
                    "one of yours. Reload the page."
                )
            [assignment] = given
            if assignment.state is AssignmentState.ANSWERED or attempt < assignment.attempt:
                return False
            items = read_item_states(connection, judge.study_id)
            if assignment.state is AssignmentState.RETURNED or not _may_answer(
                connection, assignment, items[assignment.item]
            ):
                raise NotLeasedError(
                    f"comparison {position + 1} was open for too long and went to another judge. Your other "
                    "answers are stored. Reload the page to go on."
                )
            row = {"judge_id": judge.id, "position": position, "attempt": assignment.attempt}
            answer = shown.other_way_round if assignment.swapped else shown
            values = {"answer": answer, "seconds": seconds, "remark": remark or None}
            add_rows(connection, StudyAnswerRow, [row | values])
            _set_state(connection, assignment, AssignmentState.ANSWERED)
            return True

    def undo(self, judge: Judge, lease_seconds: float) -> bool:
        """Let a judge answer the last comparison again; False if there is none, or it was undone already."""
        with self._database.writing() as connection:
            _lock(connection, judge.study_id)
            given = read_assignments(connection, judge.id)
            answered = [each for each in given if each.state is AssignmentState.ANSWERED]
            if not answered or any(
                each.state is AssignmentState.LEASED and each.attempt > 1 for each in given
            ):
                return False
            last = answered[-1]
            connection.execute(
                update(StudyAnswerRow)
                .where(
                    StudyAnswerRow.judge_id == judge.id,
                    StudyAnswerRow.position == last.position,
                    StudyAnswerRow.attempt == last.attempt,
                )
                .values(undone_at=utc_now())
            )
            _set_state(connection, last, AssignmentState.LEASED, lease_seconds, attempt=last.attempt + 1)
            return True

    def add_answers(self, study_id: str, judges: Sequence[Judge], answers: Sequence[StoredAnswer]) -> int:
        """Add answers that were given elsewhere, and return how many are new.

        A judge who has been given an item here keeps the answer of here.
        """
        with self._database.writing() as connection:
            _lock(connection, study_id)
            rows = [
                _new_judge(study_id) | {"id": judge.id, "platform_id": judge.platform_id} for judge in judges
            ]
            add_rows(connection, StudyJudgeRow, rows)
            new: list[StoredAnswer] = []
            for judge in judges:
                given = read_assignments(connection, judge.id)
                present = {(each.item, each.is_repeat) for each in given}
                own = [
                    each
                    for each in answers
                    if each.judge_id == judge.id and (each.item, each.is_repeat) not in present
                ]
                new += [replace(each, position=number) for number, each in enumerate(own, start=len(given))]
            add_rows(connection, StudyAssignmentRow, (_assignment_row(study_id, each) for each in new))
            add_rows(connection, StudyAnswerRow, map(_answer_row, new))
        return len(new)


def _new_judge(study_id: str) -> dict[str, Any]:
    return {
        "id": secrets.token_hex(16),
        "study_id": study_id,
        "token": secrets.token_urlsafe(_TOKEN_BYTES),
    }


def _assignment_row(study_id: str, answer: StoredAnswer) -> dict[str, Any]:
    return {
        "judge_id": answer.judge_id,
        "position": answer.position,
        "study_id": study_id,
        "item": answer.item,
        "is_repeat": answer.is_repeat,
        "swapped": answer.swapped,
        "state": AssignmentState.ANSWERED,
        "attempt": answer.attempt,
    }


def _answer_row(answer: StoredAnswer) -> dict[str, Any]:
    names = ("judge_id", "position", "attempt", "answer", "seconds", "remark", "answered_at")
    return {name: getattr(answer, name) for name in names}


def _may_answer(connection: Connection, assignment: Assignment, item: ItemState) -> bool:
    """Whether a vote is left for a judge, whose lease may have expired. Only items with votes run out."""
    if assignment.is_repeat or not item.votes or item.is_open:
        return True
    expires = select(StudyAssignmentRow.lease_expires_at, utc_now().label("now")).where(
        StudyAssignmentRow.judge_id == assignment.judge_id,
        StudyAssignmentRow.position == assignment.position,
    )
    row = connection.execute(expires).one()
    expiry: datetime | None = row.lease_expires_at
    return expiry is not None and expiry > row.now  # it is one of the votes that are taken


def _set_state(
    connection: Connection,
    assignment: Assignment,
    state: AssignmentState,
    lease_seconds: float | None = None,
    **values: Any,
) -> None:
    expires = None if lease_seconds is None else utc_now(lease_seconds)
    is_it = (
        StudyAssignmentRow.judge_id == assignment.judge_id,
        StudyAssignmentRow.position == assignment.position,
    )
    changed = {"state": state, "lease_expires_at": expires, **values}
    connection.execute(update(StudyAssignmentRow).where(*is_it).values(**changed))


def _lock(connection: Connection, study_id: str) -> None:
    """One judge at a time: on SQLite the transaction itself holds the lock."""
    connection.execute(select(StudyRow.id).where(StudyRow.id == study_id).with_for_update()).one()
