"""The judges' server: who sees what, what is accepted, and what is not there at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bat.errors import InvalidInputError
from harness.api.judging import plan_study, store_study
from harness.judge.design import StudyDesign
from harness.store.judging import open_studies
from harness.store.study_records import Judge
from harness.view.judging.app import create_app
from harness.view.judging.pages import MOST_REMARK
from harness.view.judging.settings import JudgeSettings
from tests.harness.judge.runs import HTML, judged_run

PLATFORM = "PROLIFIC_PID=5f00000000000000000000ab&STUDY_ID=s1&SESSION_ID=x9"


@pytest.fixture
def db(tmp_path: Path) -> str:
    address = judged_run(tmp_path)
    design = StudyDesign((), votes=1, check_rate=0.0, repeat_rate=0.0)
    store_study(address, plan_study(address, "demo", ["ba-eta:eta"], design), "first")
    return address


@pytest.fixture
def judges(db: str) -> list[Judge]:
    with open_studies(db) as store:
        return store.ensure_judges(store.get_study("first").id, 2)


def open_site(db: str, **options: object) -> TestClient:
    settings = JudgeSettings(db, study="first", **options)  # type: ignore[arg-type]
    return TestClient(create_app(settings), "http://127.0.0.1:8710", follow_redirects=False)


@pytest.fixture
def site(db: str) -> Iterator[TestClient]:
    with open_site(db) as opened:
        yield opened


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\d*)"', page))


def answers(db: str) -> int:
    with open_studies(db) as store:
        return len(store.answers(store.get_study("first").id))


def test_a_judge_agrees_answers_and_comes_to_the_end(db: str, site: TestClient, judges: list[Judge]) -> None:
    link = f"/j/{judges[0].token}"
    assert "agree to take part" in site.get(link).text
    refused = site.post(f"{link}/answer", data={"position": "0", "attempt": "1", "choice": "1"})
    assert (refused.status_code, answers(db)) == (400, 0)
    assert site.post(f"{link}/consent").headers["location"] == link
    for number in range(10):
        page = site.get(link).text
        assert f"{number + 1} of 10" in page
        assert "ba-eta" not in page
        assert HTML not in page  # escaped
        assert "eta=" not in page
        stored = site.post(f"{link}/answer", data=fields(page) | {"choice": "1", "seconds": "7.5"})
        assert (stored.status_code, answers(db)) == (303, number + 1)
    assert "You have answered 10 comparisons" in site.get(link).text
    other = f"/j/{judges[1].token}"
    site.post(f"{other}/consent")
    assert "given to other people" in site.get(other).text  # one vote each, and all are given


def test_only_answers_to_leased_items_are_taken(db: str, site: TestClient, judges: list[Judge]) -> None:
    link = f"/j/{judges[0].token}"
    site.post(f"{link}/consent")
    given = fields(site.get(link).text)
    headers = {"accept": "application/json"}
    for changes, words in (
        ({"position": "7"}, "number 8 is not one of yours"),
        ({"position": "-1"}, "of an answer must be a whole number; got '-1'"),
        ({"choice": "3"}, "must be 1, 2 or 0; got '3'"),
        ({"remark": "x" * 3000}, "at most 2,000 letters; this one has 3,000"),
        ({"remark": "x" * 40_000}, "at most 32 KB"),
    ):
        reply = site.post(f"{link}/answer", data=given | {"choice": "1"} | changes, headers=headers)
        assert reply.status_code >= 400
        assert words in reply.json()["problem"]
    assert answers(db) == 0
    for seconds in ("", "nan", "-5", "soon"):  # what a page measured is no reason to lose an answer
        page = fields(site.get(link).text)
        assert site.post(f"{link}/answer", data=page | {"choice": "0", "seconds": seconds}).status_code == 303
    again = site.post(f"{link}/answer", data=given | {"choice": "1"}, headers=headers)
    assert again.json() == {"stored": True}
    assert answers(db) == 4


@pytest.mark.parametrize("letter", ["x", "\u4e2d", "\u00e9", "\r\n"])
def test_a_remark_may_be_as_long_as_the_page_lets_it_be(
    db: str, site: TestClient, judges: list[Judge], letter: str
) -> None:
    link = f"/j/{judges[0].token}"
    site.post(f"{link}/consent")
    remark = f"x{letter * (MOST_REMARK - 2)}x"
    answer = fields(site.get(link).text) | {"choice": "1", "remark": remark}
    assert site.post(f"{link}/answer", data=answer).status_code == 303
    with open_studies(db) as store:
        (stored,) = store.answers(store.get_study("first").id)
    assert stored.remark == remark.replace("\r\n", "\n")


def test_a_judge_s_link_leads_nowhere_else(site: TestClient, judges: list[Judge]) -> None:
    token = judges[0].token
    for path in (
        "/",
        "/runs/1",
        "/ask",
        f"/runs/1?token={token}",
        f"/s/{token}",
        "/j/",
        "/j/guessed",
        "/j/%00",
        "/events",
    ):
        reply = site.get(path)
        assert reply.status_code == 404, path
        assert "demo.db" not in reply.text
        assert token not in reply.text
    assert site.get(f"/j/{token}/answer").status_code == 405
    assert site.get(f"/j/{token}", headers={"host": "evil.example"}).status_code == 400
    policy = site.get(f"/j/{token}").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_platform_s_judge_enters_by_the_open_link(db: str) -> None:
    with open_studies(db) as store:
        study = store.get_study("first")
    with open_site(db) as closed:
        assert closed.get(f"/s/{study.open_token}?{PLATFORM}").status_code == 404
    public = {"public_url": "https://study.example.org", "is_open": True, "completion_code": "C0DE"}
    with open_site(db, **public) as site:
        entered = site.get(f"/s/{study.open_token}?{PLATFORM}", headers={"host": "study.example.org"})
        link = entered.headers["location"]
        assert link.startswith("/j/")
        assert site.get(f"/s/{study.open_token}?{PLATFORM}").headers["location"] == link  # the same judge
        assert site.get(f"/s/guessed?{PLATFORM}").status_code == 404
        for query in ("", "?PROLIFIC_PID=", "?PROLIFIC_PID=%00", f"?PROLIFIC_PID={'x' * 101}"):
            refused = site.get(f"/s/{study.open_token}{query}")
            assert refused.status_code == 400
            assert "PROLIFIC_PID" in refused.text
        site.post(f"{link}/consent")
        for _ in range(10):
            site.post(f"{link}/answer", data=fields(site.get(link).text) | {"choice": "2"})
        end = site.get(link).text
        assert "C0DE" in end
        assert "https://app.prolific.com/submissions/complete?cc=C0DE" in end
    with pytest.raises(InvalidInputError, match="must begin with https://"):
        JudgeSettings(db, study="first", public_url="study.example.org")


def test_rates_are_limited_and_nothing_is_lost(site: TestClient, judges: list[Judge]) -> None:
    link = f"/j/{judges[0].token}"
    codes = [site.get(link).status_code for _ in range(60)]
    assert codes[:20] == [200] * 20
    assert codes[-1] == 429
    assert "Nothing was lost" in site.get(link).text
    assert site.get(f"/j/{judges[1].token}").status_code == 200  # others go on
    assert {site.get("/j/guessed").status_code for _ in range(150)} == {404, 429}


def test_an_unknown_study_is_one_sentence(db: str) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no study 'frist' .*Did you mean 'first'"):
        create_app(JudgeSettings(db, study="frist"))
