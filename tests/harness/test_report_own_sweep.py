"""A report is about the sweep; the paper is in it only where the sweep repeats it, or if asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.driver.sweeps import tiny_sweep
from tests.harness.report.finished import run_in_this_process
from tests.harness.stores import run_command

METHODS = [
    {"rule": "min-p", "parameter": [0.02, 0.1]},
    {"name": "usual", "rule": "typical", "parameter": 0.9},
    {"name": "forty", "rule": "top-k", "parameter": 40},
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, text_corpus: Path) -> str:
    folder = tmp_path_factory.mktemp("own")
    return run_in_this_process(folder / "own.db", tiny_sweep(text_corpus, name="own", methods=METHODS))


def test_what_was_run_is_there_and_nothing_of_the_paper(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "r"
    printed = run_command(capsys, "report", "--db", address, "-o", str(folder))
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert figures == {"mauve-by-method", "plane", "rejection-curves", "parameters-min-p"}
    tables = {path.stem for path in (folder / "tables").glob("*.csv")}
    statistics = {"all-scores", "distances", "statistics", "sampling"}
    assert tables == {"comparison", "leaderboard", *statistics, "rejection", "rates"}
    header = (folder / "tables" / "rejection.md").read_text().splitlines()[4]
    assert header == "| rejected | min-p | typical | top-k |"
    page = (folder / "report.html").read_text()
    text = page[: page.index('<footer id="provenance">')].replace("The paper's tables and figures", "")
    for word in ("the paper", "basis-aware", "eta=", "epsilon", "nucleus"):
        assert word not in text.replace("bat-harness report own --paper", ""), word
    # What is missing is a line that opens, on the page, and a line in a terminal.
    assert page.count("Not in this report:") == 1
    missing = "2 parts (Next tokens and the rank of the outputs, The paper's tables and figures)"
    assert missing in " ".join(printed.split())
    # Six prefixes are too few for MAUVE, and every format says so beside the numbers.
    latex = (folder / "tables" / "comparison.tex").read_text()
    markdown = (folder / "report.md").read_text()
    for formatted, mark in ((printed, "†"), (page, "†"), (markdown, "†"), (latex, r"\textdagger{}")):
        assert formatted.count(mark) >= 5  # four methods, and the note
        assert "Too few texts for MAUVE" in formatted


def test_the_paper_can_be_asked_for(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "report", "--db", address, "-o", str(tmp_path / "r"), "--paper")
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Corresponds to Figure 5 of the paper." in page
    assert 'id="figure-toy-model"' in page
    assert "Lower-entropy generation (Table 1 of the paper)" in page
    header = (tmp_path / "r" / "tables" / "rejection.md").read_text().splitlines()[4]
    assert header.startswith("| rejected | min-p | typical | top-k | eta |")
