"""Methods by their names, and comparisons of two settings or runs, in all that people read."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.report.loading import load_results
from harness.report.tables.cells import find_difference
from harness.store import open_reader
from tests.harness.driver.sweeps import tiny_sweep
from tests.harness.report.finished import run_in_this_process
from tests.harness.stores import run_command

METHODS: list[dict[str, Any]] = [
    {"name": "tight", "rule": "eta", "parameter": 0.01},
    {"name": "twin", "rule": "eta", "parameter": 0.01},
    {"name": "loose", "rule": "eta", "parameter": 0.001},
    {"name": "aware", "rule": "ba-eta", "parameter": {"match": {"method": "tight"}}, "constraints": 4},
]
SHORTER = {"count": 5, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 3}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, text_corpus: Path) -> str:
    """Three runs: `two` continues other prefixes than `one`, and `three` those of the other split."""
    file = tmp_path_factory.mktemp("runs") / "named.db"
    stages = [{"name": "early", "split": "validation"}]
    run_in_this_process(file, tiny_sweep(text_corpus, name="three", methods=METHODS[:1], stages=stages))
    run_in_this_process(
        file, tiny_sweep(text_corpus, name="two", methods=[METHODS[0], METHODS[2]], prefixes=SHORTER)
    )
    return run_in_this_process(file, tiny_sweep(text_corpus, name="one", methods=METHODS))


def report(
    capsys: pytest.CaptureFixture[str], address: str, folder: Path, *arguments: str, code: int = 0
) -> str:
    return run_command(capsys, "report", *arguments, "--db", address, "-o", str(folder), code=code)


def test_methods_are_called_what_the_sweep_calls_them(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = report(capsys, address, tmp_path / "r", "one")
    named = ("tight (eta=0.01)", "twin (eta=0.01)", "loose (eta=0.001)", "aware (ba-eta=")
    texts = {"terminal": printed}
    for name in ("report.html", "report.md", "tables/comparison.md", "tables/comparison.tex"):
        texts[name] = (tmp_path / "r" / name).read_text()
    for name in ("comparison", "statistics", "all-scores", "rates", "sampling"):
        texts[name] = (tmp_path / "r" / "tables" / f"{name}.csv").read_text()
    for place, text in texts.items():
        assert [name for name in named if name not in text] == [], place
    page = texts["report.html"]
    assert page.count('<h5 class="card-title">tight (eta=0.01)') == 3  # beside the other texts
    assert re.search(r'alt="[^"]*tight \(eta=0\.01\)', page), "the figure of MAUVE"
    with open(tmp_path / "r" / "tables" / "matching.csv", newline="") as file:
        matched = {row["row"]: row["text"] for row in csv.DictReader(file) if row["column"] == "matched to"}
    [(aware, reference)] = matched.items()
    assert re.fullmatch(r"aware \(ba-eta=[0-9.e-]+, c=4\)", aware)
    assert reference == "tight (eta=0.01)"
    assert "aware and tight" not in printed  # always with rule and parameter
    with harness.open_results(address, "one") as results:
        for frame in (results.scores(), results.estimates(), results.texts(), results.tokens()):
            assert {"tight (eta=0.01)", "twin (eta=0.01)"} <= set(frame["setting"])


def test_settings_are_compared_in_pairs(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = report(
        capsys, address, tmp_path / "r", "one", "--compare", "tight:loose", "--compare", "aware:twin"
    )
    with harness.open_results(address, "one") as results:
        frame = results.compare("tight", "loose")
        assert results.compare("loose", "tight", score="mauve")["value"].item() == pytest.approx(
            -frame.loc[frame["score"] == "mauve", "value"].item()
        )
    mauve = frame[frame["score"] == "mauve"].iloc[0]
    assert mauve["paired"]
    assert (mauve["first"], mauve["second"]) == ("tight (eta=0.01)", "loose (eta=0.001)")
    assert {"mauve", "perplexity", "zipf"} <= set(frame["score"])
    with open_reader(address) as reader:
        tight, _, loose, _ = load_results(reader, [reader.get_run("one")]).results
    expected = find_difference(tight, loose, "mauve")
    assert expected is not None
    assert expected.main is not None
    assert (mauve["value"], mauve["low"]) == (expected.value, expected.main.low)
    with open(tmp_path / "r" / "tables" / "compare.csv", newline="") as file:
        cells = {row["column"]: row for row in csv.DictReader(file)}
    assert cells["MAUVE"]["row"] == "tight (eta=0.01) minus loose (eta=0.001)"
    assert float(cells["MAUVE"]["value"]) == pytest.approx(100 * mauve["value"])
    assert "tight against loose" in printed
    assert "tight minus loose, paired by prefix" in " ".join(printed.split())
    assert (tmp_path / "r" / "tables" / "compare-2.csv").exists()


def test_the_same_texts_are_equal_in_words(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = " ".join(report(capsys, address, tmp_path / "r", "one", "--compare", "tight:twin").split())
    assert "the two are equal on each of 6 blocks of prefixes" in printed
    assert "0 of 0" not in printed


def test_runs_on_other_prefixes_are_compared_without_pairs_and_that_is_said(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The runs need not be named twice.
    printed = report(capsys, address, tmp_path / "r", "--compare", "one/tight:two/tight")
    page, markdown = ((tmp_path / "r" / f"report.{ending}").read_text() for ending in ("html", "md"))
    for text in (printed, page, markdown):
        said = " ".join(text.split())
        assert "one and two continue different prefixes, so these differences are not paired" in said
        assert "MAUVE also depends on the number of texts, 6 and 5" in said
    with open(tmp_path / "r" / "tables" / "compare.csv", newline="") as file:
        compared = list(csv.DictReader(file))
    assert {row["row"] for row in compared} == {"one: tight (eta=0.01) minus two"}
    assert "sign test" not in {row["column"] for row in compared}  # it needs pairs
    with open(tmp_path / "r" / "tables" / "comparison.csv", newline="") as file:
        rows = {row["row"] for row in csv.DictReader(file)}
    assert rows >= {"one: tight (eta=0.01)", "two: tight (eta=0.01)", "one: twin (eta=0.01)"}
    assert all(row.startswith(("one: ", "two: ")) for row in rows)
    assert "The rows of one and those of two continue different prefixes (test)" in " ".join(printed.split())
    with harness.open_results(address, ["one", "two"]) as results:
        whole = results.compare("one", "two", score="mauve")
    assert list(zip(whole["first"], whole["second"], strict=True)) == [
        *(("tight (eta=0.01)", "tight (eta=0.01)"), ("loose (eta=0.001)", "loose (eta=0.001)")),
    ]
    assert not whole["paired"].any()
    assert whole["p_value"].isna().all()
    assert whole["low"].between(-1, 1).all()
    assert (whole["first_run"] == "one").all()


@pytest.mark.parametrize(
    ("runs", "compare", "told"),
    [
        (["one"], "tight", "two settings or runs with a colon between them"),
        (["one"], "tight:", "two settings or runs with a colon between them"),
        (
            ["one"],
            "tihgt:loose",
            "got 'tihgt'. Methods: tight, twin, loose, aware. Runs: one. Did you mean 'tight'?",
        ),
        (["one"], "tight:tight", "tight and tight are the same result, tight (eta=0.01)"),
        (
            ["one", "three"],
            "one/tight:three/tight",
            "the texts of one/tight continue test text, those of three/tight",
        ),
        (["one"], "two/tight:tight", "got 'two/tight'"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: list[str], compare: str, told: str
) -> None:
    message = report(capsys, address, tmp_path / "r", *runs, "--compare", compare, code=1)
    assert told in " ".join(message.split())
    assert "Traceback" not in message
    assert not list((tmp_path / "r").iterdir())
