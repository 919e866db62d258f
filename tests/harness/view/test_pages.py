"""What the pages show of a finished run, and what they answer to bad input."""

from __future__ import annotations

import re
import sqlite3
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from bat.errors import InvalidInputError
from harness.api.results import open_results
from harness.api.text_search import TextFilter, find_prefixes
from harness.api.texts import read_prefixes, text_groups
from harness.store import open_reader
from tests.harness import stores
from tests.harness.view.conftest import HTML
from tests.harness.view.sites import visitor


@pytest.fixture(scope="module")
def client(site_db: str) -> TestClient:
    return visitor(site_db)[0]


def shown(page: str) -> str:
    """The text of a page, without tags and with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


PAGES = (
    "/",
    "/runs/1",
    "/runs/1/failed",
    "/runs/1/results",
    "/runs/1/texts",
    "/runs/1/texts/2",
    "/runs/1/rejection",
    "/ask",
    "/ask?name=texts",
)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_escapes_what_corpora_hold(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert "<img" not in answer.text
    assert "<script>" not in answer.text
    # No inline script or style, which the policy would stop.
    assert re.findall(r"<script(?![^>]* src=)|<style|<[^>]*\s(?:style|on\w+)=", answer.text) == []
    if "texts" in path:
        assert HTML in shown(answer.text)


def test_a_run_shows_its_stages_parameters_and_state(client: TestClient, site_db: str) -> None:
    text = shown(client.get("/runs/1").text)
    assert "Done: all 17 jobs." in text
    for kind in ("measure", "generate", "featurize", "score"):
        assert kind in text
    with open_results(site_db) as results:
        [resolution] = results.resolutions().itertuples()
    assert f"{resolution.value:.4g}" in text
    assert f"[{resolution.low:.3g}, {resolution.high:.3g}]" in text


def test_results_are_those_of_the_api_and_lead_to_their_jobs(client: TestClient, site_db: str) -> None:
    with open_results(site_db) as results:
        estimates = results.estimates(score="mauve")
        jobs = set(results.scores(score="mauve", method="eta")["job"])
    page = client.get("/runs/1/results")
    for row in estimates[estimates["method"] != "human"].itertuples():
        assert f"{row.setting} {100 * row.value:.1f}" in shown(page.text)
    link = unescape(re.search(r'href="([^"]*/trace\?[^"]*row=eta[^"]*score=mauve)"', page.text)[1])  # type: ignore[index]
    traced = client.get(link)
    assert all(job[:12] in traced.text for job in jobs)
    assert "bat-harness trace all-scores 'eta=0.01' MAUVE" in shown(traced.text)
    texts = unescape(re.search(r'href="(/runs/1/texts\?setting=[^"]*)"', traced.text)[1])  # type: ignore[index]
    assert client.get(texts).status_code == 200


def test_any_two_methods_can_be_compared(client: TestClient, site_db: str) -> None:
    with open_results(site_db) as results:
        difference = results.compare("ba-eta", "eta", score="mauve").iloc[0]
    settings = visible_settings(site_db)
    path = f"/runs/1/results?first={quote(settings[1])}&second={quote(settings[0])}"
    assert f"{100 * difference['value']:+.1f}" in shown(client.get(path).text)


def test_a_setting_beside_itself_is_refused_in_a_sentence(client: TestClient, site_db: str) -> None:
    setting = quote(visible_settings(site_db)[0])
    page = client.get(f"/runs/1/texts?first={setting}&second={setting}").text
    assert "Both sides are the same setting" in shown(page)
    assert "Look further" not in page
    assert 'href="/runs/1/texts/1"' in client.get("/runs/1/texts").text


def visible_settings(db: str) -> tuple[str, ...]:
    with open_reader(db) as reader:
        return text_groups(reader, reader.runs()[0])[0].settings


def test_texts_are_found_by_words_and_by_what_happened_at_their_tokens(site_db: str) -> None:
    with open_reader(site_db) as reader:
        run = reader.runs()[0]
        [group] = text_groups(reader, run)
        everything = read_prefixes(reader, run, group, 0, range(6))

        def found(**wanted: str) -> list[int]:
            answer = find_prefixes(reader, run, group, 0, TextFilter(**wanted), 0, 10, seconds=60)
            assert answer.next_item is None
            return [each.texts.item for each in answer.prefixes]

        assert found() == [0, 1, 2, 3, 4, 5]
        word = everything[3].texts[0].text[1:4].upper()
        texts = [
            (each.prefix.text, each.prefix.continuation, *(t.text for t in each.texts)) for each in everything
        ]
        expected = [
            item for item, own in enumerate(texts) if any(word.lower() in text.lower() for text in own)
        ]
        assert found(words=word) == expected
        assert found(words="100%_!") == []  # a text, not a pattern
        for having, count in (("certified", "certified"), ("fallbacks", "fallbacks"), ("loops", "loops")):
            having_it = [each.item for each in everything if any(getattr(text, count) for text in each.texts)]
            assert found(having=having) == having_it
        first, second = group.settings
        parted = [each.item for each in everything if each.texts[0].text != each.texts[1].text]
        assert found(first=first, second=second) == parted
        with pytest.raises(InvalidInputError, match="setting must be one of"):
            found(setting="greedy")


def test_a_search_that_runs_out_of_time_says_where_to_continue(site_db: str) -> None:
    with open_reader(site_db) as reader:
        run = reader.runs()[0]
        [group] = text_groups(reader, run)
        forwards = find_prefixes(reader, run, group, 0, TextFilter(), 2, 3)
        backwards = find_prefixes(reader, run, group, 0, TextFilter(), 2, 2, backwards=True)
    assert [each.texts.item for each in forwards.prefixes] == [2, 3, 4]
    assert forwards.next_item == 5
    assert [each.texts.item for each in backwards.prefixes] == [2, 1]
    assert backwards.next_item == 0


def test_tokens_add_up_to_the_text_and_tell_how_they_were_accepted(client: TestClient, site_db: str) -> None:
    with open_reader(site_db) as reader:
        run = reader.runs()[0]
        [group] = text_groups(reader, run)
        [prefix] = read_prefixes(reader, run, group, 0, [1])
    tokens = client.get("/runs/1/texts/2/tokens", headers={"accept": "application/json"}).json()
    for text in prefix.texts:
        own = tokens[text.job]
        assert [token["p"] for token in own] == [float(f"{p:.4g}") for p in text.trace.probabilities]
        assert [len(token.get("rejected", ())) for token in own] == text.trace.rejections.tolist()
        assert sum(token.get("how") == "certified" for token in own) == text.certified


def test_curves_are_the_parameters_that_a_sweep_would_match(client: TestClient, site_db: str) -> None:
    curves = client.get("/runs/1/rejection/curves", headers={"accept": "application/json"}).json()
    at = curves["rates"].index(0.25)
    with open_results(site_db) as results:
        for curve in curves["curves"]:
            if curve["points"][at] is not None:
                value = curve["points"][at][0]
                row = results.rejection_curves(curve["rule"], [value], curve["constraints"]).iloc[0]
                assert abs(row["rejected"] - 0.25) <= 1 / row["tokens"]
    assert {curve["rule"] for curve in curves["curves"]} == {"eta", "ba-eta"}


def test_a_query_is_answered_as_a_table_and_as_csv(client: TestClient) -> None:
    sql = quote("SELECT name, count(*) AS jobs FROM runs JOIN run_jobs ON run_id = id WHERE id IN (:runs)")
    assert "tiny 17" in shown(client.get(f"/ask?sql={sql}").text)
    csv = client.get(f"/ask.csv?sql={sql}")
    assert csv.text == "name,jobs\ntiny,17\n"
    assert "attachment" in csv.headers["content-disposition"]
    many = quote("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 999")
    assert "200 rows, and more" in shown(client.get(f"/ask?sql={many}").text)


def test_a_query_that_does_not_end_is_stopped(site_db: str) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
    with open_reader(site_db) as reader:
        for sql in (endless.format("count(*)"), endless.format("i")):
            with (
                pytest.raises(InvalidInputError, match=r"must end within 0\.2 s"),
                reader.query(sql, seconds=0.2) as answer,
            ):
                list(answer.rows)
        with (
            pytest.raises(InvalidInputError, match="too big"),
            reader.query("SELECT zeroblob(900000000)", seconds=5),
        ):
            pass
        with reader.query("SELECT count(*) FROM jobs") as answer:  # the connection is as before
            assert list(answer.rows) == [(17,)]


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/runs/7", 404, "There is no run 7"),
        ("/runs/99999999999999999999", 404, "There is no run 99999999999999999999"),
        ("/nowhere", 404, "There is no page at /nowhere"),
        ("/runs/1/texts/7", 400, "The prefix must be one of 1 to 6; got 7."),
        ("/runs/1/texts?from=x", 400, "From must be a whole number"),
        ("/runs/1/texts?seed=9", 400, "Seed must be one of 0; got 9."),
        ("/runs/1/texts?setting=greedy", 400, "must be one of"),
        ("/runs/1/texts?having=joy", 400, "must be one of 'certified', 'fallbacks', 'loops'; got 'joy'"),
        (f"/runs/1/texts?words={'a' * 201}", 400, "A search must have at most 200 letters."),
        ("/runs/1/results?score=beauty", 400, "Score must be one of"),
        ("/runs/1/results?model=gpt-9", 400, "Model must be one of"),
        ("/runs/1/results/trace?row=eta&score=mauve", 400, "The row must be one of"),
        ("/ask?name=everything", 400, "There is no query named 'everything'"),
        ("/ask?sql=DELETE+FROM+runs", 400, "Queries are read-only; got DELETE"),
        ("/ask?sql=SELECT+wrong", 400, "no such column: wrong"),
        ("/runs/1/retry", 403, "only if the server was started with --allow-changes"),
    ],
)
def test_bad_input_gets_one_sentence(client: TestClient, path: str, status: int, sentence: str) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert sentence in shown(answer.text)
    assert "Traceback" not in answer.text


def test_a_form_of_a_megabyte_is_too_large(site_db: str) -> None:
    browser, settings = visitor(site_db, allow_changes=True)
    answer = browser.post("/runs/1/retry", data={"form_token": settings.form_token, "text": "x" * 2**20})
    assert answer.status_code == 413
    assert "A form must have at most 256 KB" in shown(answer.text)


def test_a_database_that_moves_on_gets_a_sentence_and_the_server_lives(tmp_path: Path) -> None:
    address = stores.filled(tmp_path)
    browser, _ = visitor(address)
    file = tmp_path / "results.db"
    assert browser.get("/runs/1").status_code == 200

    def set_version(version: str) -> None:
        with sqlite3.connect(file) as connection:
            (before,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
        connection.close()
        versions.append(before)

    versions: list[str] = []
    set_version("9999")
    answer = browser.get("/runs/1")
    assert answer.status_code == 503
    assert "they have the newer 9999" in shown(answer.text)
    set_version(versions[0])
    assert browser.get("/runs/1").status_code == 200
    file.rename(tmp_path / "gone.db")
    assert "there is no database at" in shown(browser.get("/").text).lower()


def test_the_first_page_of_an_empty_database_says_how_to_begin(tmp_path: Path) -> None:
    address = stores.filled(tmp_path)
    with stores.open_again(address) as store:
        while store.delete_jobs_of(1):
            pass
        store.delete_run(1)
    assert "No run has been started in this database yet." in shown(visitor(address)[0].get("/").text)
