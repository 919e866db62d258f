"""A study judged in a real browser by three people, on a server that is killed in between."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from harness.api.judging import plan_study, report_study, store_study
from harness.judge.design import StudyDesign
from harness.judge.exclusion import ExclusionRules
from harness.judge.tables import study_tables
from harness.store.judging import open_studies
from harness.store.study_records import Answer, ItemKind
from tests.harness.judge.runs import HTML, judged_run
from tests.harness.view.conftest import BROWSER, MILLISECONDS

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome"),
    pytest.mark.xdist_group("browser"),
]
ITEMS = 5
PROGRAM = "import sys; from harness.cli import main; main(sys.argv[1:])"


@pytest.fixture
def db(tmp_path: Path) -> str:
    """A study that asks each of three judges about every item."""
    address = judged_run(tmp_path)
    design = StudyDesign((), votes=3, check_rate=0.34, repeat_rate=0.0)
    planned = plan_study(address, "demo", ["ba-eta:eta"], design, items=ITEMS)
    store_study(address, planned, "first")
    return address


@contextmanager
def serving(db: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command in a process of its own, and the links that it printed; it is killed at the end."""
    command = [sys.executable, "-c", PROGRAM, "judge", "serve", "first", "--db", db, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            printed = [process.stdout.readline() for _ in range(4)]
            links = [line.strip() for line in printed if line.startswith("  http")]
            assert len(links) == 3, printed
            yield process, links
        finally:
            process.kill()


def shown(page: Page) -> tuple[str, str]:
    texts = page.locator(".candidate .text").all_inner_texts()
    return texts[0], texts[1]


def press(page: Page, key: str) -> None:
    """Answer, and wait for what comes next."""
    before = page.locator("#answer").get_attribute("data-key")
    page.keyboard.press(key)
    # Not the page between two pages, and not before keys are listened to.
    page.locator(f"html[data-ready] main:not(:has(#answer[data-key='{before}']))").wait_for()


@pytest.fixture
def people(browser: Browser) -> Iterator[list[Page]]:
    contexts = [browser.new_context(viewport={"width": 1200, "height": 900}) for _ in range(3)]
    pages = []
    problems: list[str] = []
    for context in contexts:
        context.set_default_timeout(MILLISECONDS)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        pages.append(page)
    yield pages
    for context in contexts:
        context.close()
    assert problems == []


def test_three_people_judge_while_the_server_is_killed(db: str, people: list[Page]) -> None:
    careful, leaving, random = people
    with open_studies(db) as store:
        study = store.get_study("first")
        items = store.items(study.id)
    best = {item.first.strip() for item in items}  # everyone's taste, and human text
    checks = {item.first.strip() for item in items if item.kind is ItemKind.CHECK}

    def choose(page: Page) -> str:
        first, _ = shown(page)
        return "1" if first.strip() in best else "2"

    with serving(db) as (process, links):
        port = int(re.findall(r":(\d+)/", links[0])[0])
        for page, link in zip(people, links, strict=True):
            page.goto(link)
            page.get_by_role("button", name="take part").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Which continuation is better?")
        press(careful, choose(careful))
        for _ in range(2):  # at least one of them is no check
            press(leaving, choose(leaving))
        leaving.close()  # in the middle of a comparison
        # Undo: the same texts on the same sides, and the answer is asked again.
        before = shown(careful)
        press(careful, "0")
        careful.get_by_role("button", name="Change my last answer").click()
        expect(careful.locator("#answer")).to_have_attribute("data-key", "1.2")
        assert shown(careful) == before
        careful.get_by_text("Add a remark").click()
        careful.get_by_label("Remark").fill("12 <b>0</b>")  # keys in a remark are letters
        careful.get_by_role("heading", level=1).click()
        press(careful, choose(careful))
        stored = _answers(db)
        process.kill()
        process.wait()
        # The click on a dead server waits on the page, and is stored when the server is back.
        careful.keyboard.press(choose(careful))
        expect(careful.locator("#notice")).to_contain_text("cannot be reached")
    assert _answers(db) == stored == 4
    with serving(db, port) as (_, again):
        assert again == links
        expect(careful.locator("#answer")).to_have_attribute("data-key", "3.1", timeout=MILLISECONDS)
        assert _answers(db) == 5
        while careful.locator("#answer").count():
            press(careful, choose(careful))
        expect(careful.get_by_role("heading", level=1)).to_have_text("Thank you")
        keys = cycle("120")
        while random.locator("#answer").count():
            # Chance would be right on a check now and then; here it never is.
            press(random, "0" if set(map(str.strip, shown(random))) & checks else next(keys))
    everyone = {each.judge for each in report_study(db, "first").excluded}
    assert len(everyone) == 3  # a test reads faster than anyone
    results = report_study(db, "first", ExclusionRules(most_words_per_minute=1e6))
    [excluded] = results.excluded
    assert re.fullmatch(r"passed 0 of \d attention checks", excluded.reason)
    titles = [table.title for table in study_tables(results)]
    assert titles[:3] == [
        "What people prefer: first",
        "What people prefer: first, with all judges",
        "Judges left out: first",
    ]
    assert results.outcome is not None
    [(_, kept)] = results.outcome.pairs
    assert kept is not None
    assert (kept.first.value, kept.judges) == (1.0, 2)
    assert kept.votes in (ITEMS + 1, ITEMS + 2)


def _answers(db: str) -> int:
    with open_studies(db) as store:
        study = store.get_study("first")
        kinds = [item.kind for item in store.items(study.id)]
        answers = store.answers(study.id)
        assert all(
            answer.answer is Answer.FIRST for answer in answers if kinds[answer.item] is ItemKind.CHECK
        )
        return len(answers)


def test_the_page_fits_a_phone_and_shows_html_as_text(db: str, browser: Browser, page: Page) -> None:
    from harness.view.judging.settings import JudgeSettings
    from tests.harness.view.sites import serving_judges

    with open_studies(db) as store:
        [judge] = store.ensure_judges(store.get_study("first").id, 1)
        store.consent(judge.id)
    with serving_judges(JudgeSettings(db, study="first")) as site:
        page.set_viewport_size({"width": 420, "height": 800})
        page.emulate_media(color_scheme="dark")
        page.goto(f"{site}/j/{judge.token}")
        expect(page.locator(".prefix .text")).to_contain_text(HTML)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        boxes = [box.bounding_box() for box in page.locator(".candidate").all()]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]  # one below the other
        page.set_viewport_size({"width": 1200, "height": 800})
        boxes = [box.bounding_box() for box in page.locator(".candidate").all()]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["y"] == boxes[1]["y"]  # side by side
        page.get_by_role("button", name="The first").dblclick()
        expect(page.locator("#answer")).to_have_attribute("data-key", "1.1")
    with open_studies(db) as store:
        [answer] = store.answers(store.get_study("first").id)
        assert answer.seconds is not None
        assert 0 < answer.seconds < 600
