"""The page of one distribution in a real browser: what it shows is what the rules and the solver decide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import bat
from bat.arrays import FloatArray
from bat.rules import RULES, Summary
from harness.explore.next_token import next_distribution
from harness.explore.prompts import encode_prompt
from harness.view.settings import ViewSettings
from tests.harness.view.conftest import BROWSER, MILLISECONDS
from tests.harness.view.sites import serving
from workers import models

MODEL = "fake:v=300,d=8"
CONSTRAINTS = (0, 5, 8)  # what the page computes at first for a model of this width

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def model() -> models.LanguageModel:
    return models.load(MODEL)


@pytest.fixture(scope="module")
def site(site_db: str) -> Iterator[str]:
    # As an entry point of another package would add it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RULES.builtins, "cube", "tests.harness.view.own_rule:Cube")
        with serving(ViewSettings(site_db, model=MODEL)) as address:
            yield address


@pytest.fixture
def shown(page: Page, site: str) -> Page:
    """The page, when the tokens after its first prompt are shown."""
    page.goto(f"{site}/distribution")
    settled(page)
    return page


def settled(page: Page) -> None:
    page.locator("#play:not([hidden])").wait_for(timeout=4 * MILLISECONDS)
    page.locator("#distribution:not([aria-busy])").wait_for(timeout=4 * MILLISECONDS)


def method(page: Page, name: str) -> dict[str, str]:
    """What the page shows of a method."""
    data = page.locator(f'.method[data-name="{name}"]').evaluate("row => ({...row.dataset})")
    assert isinstance(data, dict)
    return data


def distribution(model: models.LanguageModel, prompt: str = "The mayor said") -> FloatArray:
    return next_distribution(model, encode_prompt(model, prompt))


def expected(model: models.LanguageModel, name: str, parameter: float, constraints: int) -> str:
    """The verdicts on the 200 likeliest tokens, by the rule and the solver."""
    probs = distribution(model)
    tokens = np.argsort(-probs, kind="stable")[:200]
    rule, rows = bat.get_rule(name, parameter), Summary(probs[None])
    if not rule.basis_aware:
        return "".join("a" if kept else "r" for kept in rule.keep(rows)[0, tokens])
    threshold = float(rule.thresholds(rows)[0])  # type: ignore[attr-defined]
    copies = np.repeat(probs[None], len(tokens), axis=0)
    verdicts = bat.decide(model.basis(constraints), copies, tokens, threshold).verdicts
    return "".join({"accept": "a", "reject": "r", "undecided": "u"}[verdict] for verdict in verdicts)


def test_sliders_decide_as_the_rules_and_the_solver_do(shown: Page, model: models.LanguageModel) -> None:
    for name in ("top-k", "typical", "ba-min-p", "cube", "ba-cube"):
        shown.locator("#more").get_by_label(name, exact=True).check()
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    seen = set()
    for number, constraints in enumerate(CONSTRAINTS):
        shown.locator("#c").fill(str(number))
        for name in (
            "eta",
            "nucleus",
            "top-k",
            "typical",
            "cube",
            "ba-eta",
            "ba-nucleus",
            "ba-min-p",
            "ba-cube",
        ):
            slider = shown.locator(f'input[data-method="{name}"]')
            for share in (0.3, 0.6, 0.8):
                slider.fill(str(round(4 * share * float(slider.get_attribute("max") or 0)) / 4))
                now = method(shown, name)
                wanted = expected(model, name, float(now["parameter"]), constraints)
                assert now["verdicts"] == wanted, (name, now["parameter"], constraints)
                seen.add(wanted)
    assert len(seen) > 30
    assert asked == []  # no slider asks the server


def test_the_keyboard_moves_tokens_from_accepted_to_rejected(shown: Page) -> None:
    before = method(shown, "ba-eta")
    slider = shown.get_by_label("ba-eta, parameter")
    slider.focus()
    for _ in range(12):
        slider.press("ArrowRight")
    after = method(shown, "ba-eta")
    assert float(after["parameter"]) > float(before["parameter"])
    assert after["verdicts"].count("r") > before["verdicts"].count("r")
    # What the row and the bars show changes with it: ba-eta colours the bars at first.
    row = shown.locator('.method[data-name="ba-eta"]')
    expect(row.locator(".count")).to_contain_text(f"{after['verdicts'].count('a')} of 200")
    bars = shown.locator("#chart > path.r").get_attribute("d") or ""
    assert bars.count("M") == after["verdicts"][:60].count("r")  # of the tokens that are shown
    field = row.get_by_label("ba-eta, exact parameter")
    field.fill("7")
    field.press("Enter")
    expect(shown.locator("#trouble")).to_contain_text('ba-eta must lie in (0, 1); got "7"')
    assert method(shown, "ba-eta")["parameter"] == after["parameter"]


def test_all_rules_move_to_one_rejection_rate(shown: Page, site: str) -> None:
    record = shown.request.get(f"{site}/distribution/rates").json()
    shown.locator("#c").fill("0")
    shown.locator("#rate").fill(str(record["rates"].index(0.25)))
    expect(shown.locator("#rate-shown")).to_have_text("25.0%")
    for name in ("eta", "nucleus", "ba-nucleus"):  # without constraints, the plain rule's
        curve = next(each for each in record["curves"] if each["rule"] == name.removeprefix("ba-"))
        parameter = curve["parameters"][record["rates"].index(0.25)]
        assert float(method(shown, name)["parameter"]) == parameter
    # The sweep has measured c = 4 alone.
    shown.locator("#c").fill("1")
    expect(shown.locator("#rate-note")).to_contain_text(
        "Not measured at c = 5: ba-nucleus, ba-epsilon, ba-eta"
    )


def test_a_click_explains_and_a_token_is_taken(shown: Page, model: models.LanguageModel) -> None:
    box = shown.locator("#chart").bounding_box()
    assert box is not None
    shown.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 60)
    settled(shown)
    why = shown.locator("#why")
    expect(why).to_contain_text("critical threshold")
    expect(why.locator("table").last.locator("tbody tr")).to_have_count(6)
    text = why.locator("h2 code").inner_text()
    shown.keyboard.press("t")
    settled(shown)
    expect(shown.locator("#trail .taken")).to_have_count(1)
    assert "then=" in shown.url
    # By keyboard: the first token of the next distribution, explained with Enter.
    cursor = shown.locator("#cursor")
    cursor.focus()
    cursor.press("ArrowRight")
    cursor.press("Enter")
    settled(shown)
    expect(shown.locator("#readout")).to_contain_text("2.")
    expect(why).to_contain_text("probability")
    # Step back, take another, and there are two branches.
    shown.locator("main").focus()
    shown.keyboard.press("b")
    settled(shown)
    expect(shown.locator("#trail .taken")).to_have_count(0)
    shown.keyboard.press("s")
    settled(shown)
    expect(shown.locator("#happened")).to_contain_text("ba-eta sampled")
    # So do the browser's own buttons.
    shown.go_back()
    expect(shown.locator("#trail .taken")).to_have_count(0)
    shown.go_forward()
    expect(shown.locator("#trail .taken")).to_have_count(1)
    branch = shown.locator("#branches button")
    if branch.count():  # unless the same token was drawn
        assert text.replace("␣", " ") in branch.inner_text()
        branch.click()
        settled(shown)
        expect(shown.locator("#trail .taken")).to_have_count(1)
    shown.reload()  # the address holds the context
    settled(shown)
    expect(shown.locator("#trail .taken")).to_have_count(1)


def test_other_constraints_up_to_full_rank(shown: Page) -> None:
    values = shown.locator("#c-values")
    values.fill("2, 8")
    values.press("Enter")
    settled(shown)
    assert shown.locator("#c").get_attribute("max") == "1"
    expect(shown.locator("#c-shown")).to_have_text("c = 8")


def test_a_model_that_cannot_be_loaded_leaves_the_server_alive(page: Page, site_db: str) -> None:
    with serving(ViewSettings(site_db, model="./no/such/folder")) as address:
        page.goto(f"{address}/distribution")
        expect(page.locator("#trouble")).to_contain_text("does not exist", timeout=4 * MILLISECONDS)
        expect(page.locator("#play")).to_be_hidden()
        assert page.request.get(f"{address}/").ok


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_is_wider_than_the_window(shown: Page, width: int) -> None:
    shown.set_viewport_size({"width": width, "height": 900})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    # The bars and the strips below them share one axis.
    ends = shown.locator("#chart > path.a, .strip path.a").evaluate_all(
        "paths => paths.map(path => path.getBoundingClientRect().left)"
    )
    assert max(ends) - min(ends) < 1.5
