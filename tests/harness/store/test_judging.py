"""Studies on both backends: leases of votes, answers that count once, and nothing that is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select, update

from bat.errors import InvalidInputError
from harness.judge.assigning import Assigner
from harness.judge.design import PairDesign, StudyDesign, study_id
from harness.store import open_reader
from harness.store.judging import NotLeasedError, StudyStore, open_studies
from harness.store.studies import StudyReader
from harness.store.study_records import Answer, Assignment, ItemKind, Judge, StoredAnswer, Study, StudyItem
from harness.store.tables import StudyAnswerRow, StudyAssignmentRow, utc_now

DESIGN = StudyDesign((PairDesign("ba-eta", "eta"),), votes=2, check_rate=0.0, repeat_rate=0.0)
LEASE = 600.0


def make_items(count: int, votes: int = 2) -> list[StudyItem]:
    return [
        StudyItem(n, ItemKind.PAIR, 0, f"prefix {n}", "It was", f" late {n}", f" early {n}", votes=votes)
        for n in range(count)
    ]


@pytest.fixture
def studies(address: str) -> Iterator[StudyStore]:
    with open_studies(address) as opened:
        yield opened


def add(studies: StudyStore, count: int = 3, design: StudyDesign = DESIGN) -> Study:
    items = make_items(count, design.votes)
    return studies.add_study(study_id(design, items), "first", design.as_record(), items)[0]


def give(studies: StudyStore, judge: Judge, design: StudyDesign = DESIGN) -> Assignment | None:
    return studies.next_assignment(judge, LEASE, Assigner(design))


def expire(studies: StudyStore, judge: Judge) -> None:
    own = update(StudyAssignmentRow).where(
        StudyAssignmentRow.judge_id == judge.id, StudyAssignmentRow.state == "leased"
    )
    with studies._database.writing() as connection:
        connection.execute(own.values(lease_expires_at=utc_now(-1)))


def test_a_study_is_named_by_its_content_and_added_once(studies: StudyStore) -> None:
    study = add(studies)
    items = make_items(3)
    assert studies.add_study(study.id, "first", DESIGN.as_record(), items) == (study, False)
    assert studies.items(study.id) == items
    assert StudyDesign.from_record(study.design) == DESIGN
    other = replace(DESIGN, seed=1)
    assert study_id(other, items) != study.id
    with pytest.raises(InvalidInputError, match="has another study 'first'"):
        studies.add_study(study_id(other, items), "first", other.as_record(), items)
    assert studies.get_study(study.id[:8]) == study
    with pytest.raises(InvalidInputError, match=r"no study 'frist' .* Did you mean 'first'\?"):
        studies.get_study("frist")


def test_answers_are_stored_by_text_and_not_by_side(studies: StudyStore) -> None:
    study = add(studies, 8)
    [judge] = studies.ensure_judges(study.id, 1)
    sides = {}
    while (given := give(studies, judge)) is not None:
        sides[given.item] = given.swapped
        assert give(studies, judge) == given  # coming back shows the same
        assert studies.answer(judge, given.position, given.attempt, Answer.FIRST, 12.5, "remark")
    assert len(sides) == 8
    assert set(sides.values()) == {False, True}
    answers = studies.answers(study.id)
    assert {each.item: each.answer is Answer.SECOND for each in answers} == sides
    assert {(each.seconds, each.remark) for each in answers} == {(12.5, "remark")}
    assert studies.progress(study.id).votes == 8


def test_a_double_click_counts_once_and_an_undo_keeps_the_first_answer(studies: StudyStore) -> None:
    study = add(studies)
    [judge] = studies.ensure_judges(study.id, 1)
    given = give(studies, judge)
    assert given is not None
    assert studies.answer(judge, 0, 1, Answer.TIE)
    assert not studies.answer(judge, 0, 1, Answer.FIRST)
    give(studies, judge)
    assert studies.undo(judge, LEASE)
    assert not studies.undo(judge, LEASE)  # only the last one
    again = give(studies, judge)
    assert again is not None
    assert (again.item, again.swapped, again.attempt) == (given.item, given.swapped, 2)
    assert not studies.answer(judge, 0, 1, Answer.TIE)  # the first request, sent again
    assert studies.answers(study.id) == []
    assert studies.answer(judge, 0, 2, Answer.FIRST)
    [kept] = studies.answers(study.id)
    assert kept.answer is (Answer.SECOND if given.swapped else Answer.FIRST)
    with studies._database.reading() as connection:
        stored = connection.execute(
            select(StudyAnswerRow.answer, StudyAnswerRow.undone_at).order_by(StudyAnswerRow.attempt)
        ).all()
    assert [(row.answer, row.undone_at is None) for row in stored] == [("tie", False), (kept.answer, True)]


def test_the_last_vote_is_given_once(studies: StudyStore, address: str) -> None:
    study = add(studies, 4)  # eight votes
    judges = studies.ensure_judges(study.id, 6)

    def work(judge: Judge) -> int:
        with open_studies(address) as own:
            count = 0
            while (given := give(own, judge)) is not None:
                count += own.answer(judge, given.position, given.attempt, Answer.TIE)
            return count

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(work, judges))
    assert sum(counts) == 8
    by_item: dict[int, set[str]] = {}
    for answer in studies.answers(study.id):
        by_item.setdefault(answer.item, set()).add(answer.judge_id)
    assert [len(by_item[item]) for item in range(4)] == [2, 2, 2, 2]


def test_an_abandoned_vote_returns_to_the_pool(studies: StudyStore) -> None:
    design = replace(DESIGN, votes=1)
    study = add(studies, 1, design)
    first, second = studies.ensure_judges(study.id, 2)
    assert give(studies, first, design) is not None
    assert give(studies, second, design) is None  # it is under way
    assert studies.progress(study.id).leased == 1
    expire(studies, first)
    taken = give(studies, second, design)
    assert taken is not None
    with pytest.raises(NotLeasedError, match="comparison 1 was open for too long and went to another judge"):
        studies.answer(first, 0, 1, Answer.FIRST)
    assert studies.answer(second, 0, 1, Answer.FIRST)
    assert give(studies, first, design) is None
    assert len(studies.answers(study.id)) == 1
    with pytest.raises(NotLeasedError, match="number 5 is not one of yours"):
        studies.answer(second, 4, 1, Answer.TIE)


def test_a_late_answer_counts_while_nobody_else_has_the_vote(studies: StudyStore) -> None:
    study = add(studies, 1)
    [judge] = studies.ensure_judges(study.id, 1)
    give(studies, judge)
    expire(studies, judge)
    assert studies.answer(judge, 0, 1, Answer.TIE)


def test_links_stay_and_a_person_of_a_platform_is_one_judge(studies: StudyStore) -> None:
    study = add(studies)
    links = studies.ensure_judges(study.id, 2)
    assert studies.ensure_judges(study.id, 3)[:2] == links
    assert studies.ensure_judges(study.id, 1) == studies.ensure_judges(study.id, 0)
    person = studies.enter(study.id, "5f1", {"SESSION_ID": "s"})
    assert studies.enter(study.id, "5f1", {"SESSION_ID": "later"}) == person
    assert studies.find_judge(person.token) == person
    assert studies.find_judge("guessed") is None
    studies.consent(person.id)
    found = studies.find_judge(person.token)
    assert found is not None
    assert found.consented
    assert study.pseudonym(person.id) not in (person.id, "5f1")


def test_answers_given_elsewhere_are_added_once(studies: StudyStore) -> None:
    study = add(studies)
    now = datetime.now(UTC)
    judge = Judge("w" * 32, study.id, "", platform_id="W1")
    answers = [StoredAnswer(judge.id, n, n, False, n == 1, 1, Answer.FIRST, 9.0, None, now) for n in range(3)]
    assert studies.add_answers(study.id, [judge], answers[:2]) == 2
    assert studies.add_answers(study.id, [judge], answers) == 1
    assert studies.add_answers(study.id, [judge], answers) == 0
    assert [each.item for each in studies.answers(study.id)] == [0, 1, 2]


def test_reading_does_not_write(studies: StudyStore, address: str) -> None:
    study = add(studies)
    with open_reader(address) as reader:
        assert StudyReader.of(reader).studies() == [study]
        assert StudyReader.of(reader).studies_of_runs([1]) == []
    with studies._database.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(StudyAssignmentRow)) == 0
