"""Who is answered, what a page may load, and what visitors may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import stores
from tests.harness.view.sites import visitor


@pytest.fixture
def failed(tmp_path: Path) -> str:
    """A run with two failed jobs, whose errors hold HTML."""
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.fail(store, run_id, "error: <script>alert(1)</script>", "error: \x1b[31mNaN\x1b[0m in row 7")
    return address


@pytest.mark.parametrize("host", ["127.0.0.1:8700", "localhost:8700", "LOCALHOST", "[::1]:8700"])
def test_names_of_this_machine_are_answered(failed: str, host: str) -> None:
    assert visitor(failed)[0].get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8700", "10.0.0.1", "localhost.evil.example", ""]
)
def test_other_names_are_not(failed: str, host: str) -> None:
    answer = visitor(failed)[0].get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "must be asked by an address or a name of its own machine" in answer.text
    assert "results.db" not in answer.text  # a stranger learns nothing


def test_an_address_that_others_reach_needs_the_token(failed: str) -> None:
    browser, settings = visitor(failed, "0.0.0.0")
    assert f"?token={settings.token}" in settings.address()
    for path in ("/", "/?token=wrong", "/ask", "/runs/1/events", "/runs/1/failed"):
        refused = browser.get(path)
        assert refused.status_code == 401, path
        assert "token" in refused.text
        assert "results.db" not in refused.text
    entered = browser.get(f"http://0.0.0.0:8700//evil.example/ask?token={settings.token}&name=progress")
    # Without the token, and never to another machine.
    assert (entered.status_code, entered.headers["location"]) == (303, "/evil.example/ask?name=progress")
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert browser.get("/").status_code == 200  # from now on by the cookie


def test_a_token_can_be_required_on_this_machine(failed: str) -> None:
    assert visitor(failed, always_token=True)[0].get("/").status_code == 401


@pytest.mark.parametrize("path", ["/", "/runs/1", "/ask", "/static/view.css", "/nowhere"])
def test_a_page_may_load_nothing_but_our_files(failed: str, path: str) -> None:
    headers = visitor(failed)[0].get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_other_sites_cannot_embed_a_page(failed: str) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert visitor(failed)[0].get("/ask?sql=SELECT+1", headers=headers).status_code == 403


def test_errors_with_html_are_escaped(failed: str) -> None:
    for path in ("/runs/1", "/runs/1/failed", "/ask?name=failures"):
        page = visitor(failed)[0].get(path).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def test_changes_need_the_option_and_a_form_of_ours(failed: str) -> None:
    browser, _ = visitor(failed)
    assert browser.get("/runs/1/retry").status_code == 403
    browser, settings = visitor(failed, allow_changes=True)
    assert browser.get("/runs/1/retry").status_code == 200
    assert browser.post("/runs/1/retry").status_code == 403
    forged = browser.post("/runs/1/retry", data={"form_token": "x" * len(settings.form_token)})
    assert forged.status_code == 403
    assert "must come from a form of this server" in forged.text
    accepted = browser.post("/runs/1/retry", data={"form_token": settings.form_token})
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/runs/1")
    with stores.open_again(failed) as store:
        assert store.failed(1) == []
