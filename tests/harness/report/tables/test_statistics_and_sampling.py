"""Statistics beside human text, and how tokens were accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.report.parts import Cell, Missing, Table
from harness.report.results import Cost
from harness.report.tables.sampling import sampling
from harness.report.tables.statistics import statistics
from harness.scoring.differences import difference
from tests.harness.report.made_results import STATISTICS, make_results, make_sources, stored, sweep
from workers.time_use import TimeUse


def test_human_text_comes_first_and_differences_to_it_are_paired() -> None:
    results = make_results()
    (table,) = statistics(make_sources(results))
    assert isinstance(table, Table)
    assert table.name == "statistics"
    assert table.columns[1:4] == ("perplexity", "perplexity minus human", "seq-rep-4")
    human, eta = table.rows[0], table.rows[1]
    assert (human.label, eta.label) == ("human", "eta=0.002")
    assert human.cells[0].value == pytest.approx(30.0)
    assert human.cells[0].jobs == ("human-fake-prefixes-test",)
    assert human.cells[1] == Cell("")
    assert human.cells[3] == Cell("")  # looping: not among what is made up for people
    found = difference(
        [results.results[0].seeds[0].scores["perplexity"]], [results.human[0].scores["perplexity"]]
    )
    assert found.main is not None
    assert (eta.cells[1].value, eta.cells[1].low) == pytest.approx((-10.0, found.main.low))
    assert eta.cells[1].text == f"-10.0 [{found.main.low:#.3g}, {found.main.high:#.3g}]"
    assert set(eta.cells[1].jobs) == {"score-fake-test-eta=0.002-0", "human-fake-prefixes-test"}


def test_corpus_statistics_have_intervals_over_blocks() -> None:
    (table,) = statistics(make_sources(make_results()))
    assert isinstance(table, Table)
    shown = table.rows[1].cells[table.columns.index("zipf") - 1]
    assert shown.low is not None
    assert "blocks of prefixes left out (20)" in shown.how


def test_statistics_that_were_not_asked_for_have_no_column() -> None:
    results = make_results(statistics={"length": 12.0}, human=False)
    (table,) = statistics(make_sources(results))
    assert isinstance(table, Table)
    assert table.columns == ("text", "length")
    assert table.rows[0].label == "eta=0.002"
    assert "Human text has not been scored" in table.notes[0]
    (missing,) = statistics(make_sources(make_results(statistics={})))
    assert isinstance(missing, Missing)


def test_every_model_has_its_own_table() -> None:
    models = [{"name": "fake:v=300,d=8", "label": "GPT 2"}, {"name": "fake:v=400,d=8", "label": "GPT-2"}]
    parts = statistics(make_sources(make_results(sweep(models=models))))
    assert [part.name for part in parts if isinstance(part, Table)] == [
        "statistics-gpt-2",
        "statistics-gpt-2-2",
    ]


def test_shares_and_counts_of_sampling() -> None:
    (table,) = sampling(make_sources(make_results()))
    assert isinstance(table, Table)
    cells = dict(zip(table.columns[1:], table.rows[0].cells, strict=True))
    assert cells["by threshold"].text == "0.950"
    assert cells["by threshold"].low is not None
    assert cells["solver ms per token"].value == pytest.approx(1.0)  # a second over 1,000 tokens
    assert cells["solver ms per token"].jobs == ("g-score-fake-test-eta=0.002-0",)
    assert cells["pivots per program"].text == "30.0"


def test_the_share_of_time_in_which_the_model_waited() -> None:
    use = TimeUse(forward=6.0, propose=1.0, settle=5.0, waiting=3.0, batches_in_flight=2)
    sources = replace(make_sources(make_results()), cost=lambda result: Cost(1000, 1.0, use))
    (table,) = sampling(sources)
    assert isinstance(table, Table)
    cell = dict(zip(table.columns[1:], table.rows[0].cells, strict=True))["model waits"]
    assert (cell.text, cell.value) == ("30%", 0.3)
    assert cell.how == (
        "3 of 10 seconds; 6 were forward passes and 1 proposals, and settling took 5, with up to 2 batches "
        "in flight"
    )


def test_both_fallbacks_are_added_resampling_by_resampling() -> None:
    results = make_results()
    seed = results.results[0].seeds[0]
    scores = {
        **seed.scores,
        "accepted-greedy-fallback": stored(
            "accepted-greedy-fallback", 0.25, resampled=[0.2, 0.3, None], left_out=[0.25, 0.25]
        ),
        "accepted-exact-fallback": stored(
            "accepted-exact-fallback", 0.5, resampled=[0.5, 0.4, 0.5], left_out=[0.5, 0.5]
        ),
    }
    changed = replace(results.results[0], seeds=(replace(seed, scores=scores),))
    (table,) = sampling(make_sources(replace(results, results=(changed,))))
    assert isinstance(table, Table)
    shown = table.rows[0].cells[2]
    assert shown.value == 0.75
    assert (shown.low, shown.high) == (None, None)  # 0.7 and 0.7; the third is not defined


def test_what_is_not_known_or_not_defined() -> None:
    results = make_results(statistics={**STATISTICS, "pivots": float("nan")})
    sources = replace(make_sources(results), cost=lambda result: None)
    (table,) = sampling(sources)
    assert isinstance(table, Table)
    cells = dict(zip(table.columns[1:], table.rows[0].cells, strict=True))
    assert cells["pivots per program"].text == "not defined"
    assert cells["pivots per program"].value is None
    assert cells["solver ms per token"] == Cell("")
    (table,) = sampling(replace(sources, cost=lambda result: Cost(0, 0.0)))
    assert isinstance(table, Table)
    assert [cell.text for cell in table.rows[0].cells[-2:]] == ["not defined", ""]
    (missing,) = sampling(make_sources(make_results(statistics={"length": 1.0})))
    assert isinstance(missing, Missing)


def test_empty_texts_are_told_of() -> None:
    (table,) = statistics(make_sources(make_results(statistics={"length": 3.0, "empty": 0.25})))
    assert isinstance(table, Table)
    notes = [note for note in table.notes if "are empty" in note]
    assert notes[0].startswith("25% of the texts of eta=0.002 are empty: the model ended them at once.")
    (table,) = statistics(make_sources(make_results(statistics={"length": 3.0, "empty": 0.0})))
    assert isinstance(table, Table)
    assert not any("are empty" in note for note in table.notes)
