"""Results as DataFrames: every row knows its run, and has what the store and the report have."""

from __future__ import annotations

import gc
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
from harness.report.loading import load_results
from harness.report.tables.cells import mauve_of, scores_of
from harness.scoring.estimates import estimate
from harness.store import open_reader, open_store
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.store.conftest import (  # noqa: F401
    address,
    postgresql_address,
    postgresql_server,
    sqlite_address,
    sqlite_template,
)
from workers.rejection import rejection_curve

SETTING = [
    *("run_id", "run", "stage", "split", "model", "method", "setting", "rule", "parameter"),
    *("constraints", "temperature", "temperature_order", "seed"),
]


@pytest.fixture(scope="module")
def results(finished: str) -> harness.RunResults:
    return harness.open_results(finished)


def test_the_runs(results: harness.RunResults) -> None:
    runs = results.runs()
    assert list(runs["run"]) == ["wider"]
    assert (runs["done"] == runs["total"]).all()
    assert str(runs["started_at"].dtype).startswith("datetime64")
    assert repr(results).startswith("<results of wider (run 1) in sqlite:///")


def test_scores_have_a_row_for_each_setting_seed_and_score(results: harness.RunResults) -> None:
    scores = results.scores()
    assert list(scores.columns[: len(SETTING)]) == SETTING
    keys = ["run_id", "stage", "model", "method", "setting", "seed", "score"]
    assert not scores.duplicated(keys).any()
    assert set(scores["run_id"]) == {1}
    with open_reader(results._reader.address) as reader:
        stored = {
            (score.job_id, score.name): score.value for score in reader.scores(sorted(set(scores["job"])))
        }
    values = {
        key: None if np.isnan(value) else value
        for *key_parts, value in scores[["job", "score", "value"]].itertuples(index=False)
        for key in [tuple(key_parts)]
    }
    assert values == stored
    human = scores[scores["method"] == "human"]
    assert not human.empty
    assert human["seed"].isna().all()
    assert set(human["setting"]) == {"human"}
    quarter = scores[scores["method"] == "quarter"]
    assert quarter["setting"].str.startswith("quarter (eta=").all()
    assert (scores["low"].isna() | (scores["low"] <= scores["high"])).all()


def test_rows_are_selected_by_name(results: harness.RunResults) -> None:
    mauve = results.scores(score="mauve", method=["eta", "ba-eta"], model="fake", stage="compare")
    assert set(mauve["score"]) == {"mauve"}
    assert set(mauve["method"]) == {"eta", "ba-eta"}
    # 2 parameters with 2 seeds each; for ba-eta with 2 numbers of constraints.
    assert len(mauve) == 4 + 8
    assert results.scores(stage="select")["method"].unique().tolist() == ["human", "nucleus"]
    assert results.scores(method=[]).empty
    for choice, sentence in (
        ({"method": "etta"}, "method must be one of .*; got 'etta'. Did you mean 'eta'?"),
        ({"model": "gpt2"}, "model must be one of 'fake'; got 'gpt2'"),
        ({"stage": "compar"}, "Did you mean 'compare'?"),
        ({"score": "mauv"}, "Did you mean 'mauve'?"),
    ):
        with pytest.raises(harness.BatError, match=sentence):
            results.scores(**choice)
        with pytest.raises(harness.BatError, match=sentence):
            results.estimates(**choice)


def test_estimates_are_those_of_the_report(results: harness.RunResults) -> None:
    frame = results.estimates()
    with open_reader(results._reader.address) as reader:
        loaded = load_results(reader, reader.runs())
    assert not frame.duplicated(["stage", "method", "setting", "score"]).any()
    for result in loaded.results:
        rows = frame[
            (frame["stage"] == result.stage)
            & (frame["method"] == result.method)
            & (frame["setting"] == result.label)
        ].set_index("score")
        expected = mauve_of(result)
        assert expected.main is not None
        row = rows.loc["mauve"]
        assert 100 * row["value"] == pytest.approx(expected.value)
        assert (100 * row["low"], 100 * row["high"]) == pytest.approx((expected.main.low, expected.main.high))
        assert row["interval_over"] == expected.main.source
        assert row["interval_count"] == expected.main.count
        assert row["seeds"] == 2
        assert row["parameter"] == result.parameter
        assert set(rows.index) == set(result.seeds[0].scores)
        assert rows.loc["length", "value"] == estimate(scores_of(result, "length")).value
    human = frame[frame["method"] == "human"]
    assert set(human["stage"]) == {"select", "compare"}
    every = results.estimates(score="mauve", stage="compare", all_intervals=True)
    assert set(every["interval_over"]) == {"k-means seeds", "generation seeds", "reweighted prefixes"}


def test_texts_and_tokens_agree(results: harness.RunResults) -> None:
    texts = results.texts()
    assert list(texts.columns[: len(SETTING)]) == SETTING
    tokens = results.tokens(with_rejected=True)
    assert list(tokens.columns[: len(SETTING)]) == SETTING
    keys = ["stage", "method", "setting", "seed", "job", "item"]
    lengths = tokens.groupby(keys, observed=True).size().rename("tokens").reset_index()
    lengths = lengths.astype({name: texts[name].dtype for name in keys})
    both = texts.merge(lengths, on=keys, validate="one_to_one")
    assert len(both) == len(texts)
    assert (both["tokens"] == both["token_count"]).all()
    assert (texts["prefix_text"].str.len() > 0).all()
    assert (tokens["rejected_tokens"].str.len() == tokens["rejections"]).all()

    with open_reader(results._reader.address) as reader:
        for job_id in texts["job"].unique():
            first = texts[texts["job"] == job_id].iloc[0]
            own = tokens[(tokens["job"] == job_id) & (tokens["stage"] == first["stage"])]
            own = own[own["method"] == first["method"]]
            for item, (_, generation) in enumerate(reader.generations([job_id])):
                rows = own[own["item"] == item]
                trace = generation.trace
                assert rows["prefix"].unique().tolist() == [generation.prefix_id]
                assert rows["step"].tolist() == list(range(len(trace)))
                assert rows["token"].tolist() == trace.token_ids.tolist()
                assert rows["probability"].tolist() == trace.probabilities.tolist()
                assert rows["acceptance"].cat.codes.tolist() == trace.acceptance.tolist()
                assert list(chain(*rows["rejected_tokens"])) == trace.rejected_tokens.tolist()


def test_tokens_are_compact(results: harness.RunResults) -> None:
    tokens = results.tokens(method="ba-eta")
    assert set(tokens["method"]) == {"ba-eta"}
    assert tokens["acceptance"].cat.categories[0] == "threshold"
    assert not [name for name, kind in tokens.dtypes.items() if kind in ("object", "str")]
    order = results.tokens()["method"].cat.categories.tolist()
    assert order == ["nucleus", "eta", "ba-eta", "quarter", "ba-quarter"]  # that of the sweep


def test_measured_human_text(results: harness.RunResults) -> None:
    plain = results.measurements()
    assert len(plain) == 24
    assert set(plain["stage"]) == {"measure"}
    measured = results.measurements(constraints=4, model="fake")
    assert len(measured) == 24
    assert (measured["lower"] <= measured["upper"]).all()
    pd.testing.assert_frame_equal(measured[plain.columns.tolist()], plain)
    with pytest.raises(
        harness.BatError, match=r"constraints must be a number that was measured \(2, 4\); got 3"
    ):
        results.measurements(constraints=3)


def test_rejection_curves(results: harness.RunResults) -> None:
    curves = results.rejection_curves(["eta", "ba-eta"], [0.001, 0.01, 0.1], replicates=50)
    assert len(curves) == 3 + 2 * 3
    assert (curves["run"] == "wider").all()
    assert (curves["tokens"] == 24).all()
    with open_reader(results._reader.address) as reader:
        [measured] = load_results(reader, reader.runs()).measured
        measurement = reader.measurement(measured.jobs)
    expected = rejection_curve(measurement, "ba-eta", [0.001, 0.01, 0.1], 4, replicates=50)
    own = curves[(curves["rule"] == "ba-eta") & (curves["constraints"] == 4)]
    assert own["rejected"].tolist() == expected.value.tolist()
    assert own["low"].tolist() == expected.low.tolist()
    assert own["high"].tolist() == expected.high.tolist()

    grids = {"eta": [0.01], "nucleus": [0.5, 0.9]}
    assert len(results.rejection_curves(["eta", "nucleus"], grids, replicates=5)) == 3
    assert set(results.rejection_curves("ba-eta", [0.1], constraints=2)["constraints"]) == {2}
    default = results.rejection_curves(replicates=5)
    assert set(default["rule"]) == {"eta", "ba-eta", "nucleus"}  # those of the sweep
    for choice, sentence in (
        ({"constraints": [2, 7]}, "got 7"),
        ({"rules": "ancestral"}, "ancestral has none"),
        ({"rules": "etta"}, "etta"),
    ):
        with pytest.raises(harness.BatError, match=sentence):
            results.rejection_curves(**choice)


def test_resolutions(results: harness.RunResults) -> None:
    resolutions = results.resolutions()
    with open_reader(results._reader.address) as reader:
        assert resolutions["value"].tolist() == [stored.value for stored in reader.resolutions(1)]
    matched = resolutions[resolutions["method"] == "ba-eta"]
    assert len(matched) == 4
    assert set(matched["constraints"]) == {2, 4}
    assert (matched["low"] <= matched["value"]).all()
    assert matched["reference"].str.startswith("eta=").all()
    assert results.resolutions()["how"].notna().all()


def test_any_sql(results: harness.RunResults) -> None:
    counted = results.sql(
        "SELECT kind, count(*) AS jobs FROM jobs_view WHERE run_id = :run GROUP BY 1", {"run": 1}
    )
    assert counted["jobs"].sum() == results.runs()["total"].sum()
    assert results.run_ids == (1,)
    with pytest.raises(harness.BatError, match="queries are read-only; got DROP"):
        results.sql("drop table runs")
    with pytest.raises(harness.BatError, match="no such table"):
        results.sql("SELECT * FROM nowhere")


@pytest.fixture
def two_runs(address: str) -> str:  # noqa: F811
    """The sample jobs in two runs, on either backend."""
    with open_store(address) as store:
        examples.fill(store)
        examples.fill(store, name="again", config={"seed": 1})
    return address


def test_runs_are_told_apart_on_either_backend(two_runs: str) -> None:
    with (
        harness.open_results(two_runs) as latest,
        harness.open_results(two_runs, run="all") as everything,
        harness.open_results(two_runs, run=["demo", 2]) as both,
    ):
        assert latest.runs()["run"].tolist() == ["again"]
        assert sorted(everything.runs()["run"]) == sorted(both.runs()["run"]) == ["again", "demo"]
        for name, rows in (("scores", 1), ("texts", 8), ("tokens", 60), ("measurements", 12)):
            own = getattr(latest, name)()
            assert len(own) == rows, name
            assert set(own["run"]) == {"again"}
            every = getattr(everything, name)()
            assert every["run"].value_counts().to_dict() == {"demo": rows, "again": rows}
            pd.testing.assert_frame_equal(getattr(both, name)(), every)
        assert latest.texts(method="tight")["constraints"].tolist() == [20] * 4
        assert latest.texts(method="eta")["constraints"].isna().all()
        assert sorted(everything.resolutions()["run"]) == ["again", "demo"]
        assert len(everything.rejection_curves("eta", [0.01, 0.1], replicates=10)) == 4
        jobs = latest.sql("SELECT spec, run_id FROM jobs_view")
        assert all(isinstance(spec, str) for spec in jobs["spec"])
        assert len(latest.sql("SELECT avg(run_id) AS mean FROM jobs_view")["mean"].astype(float)) == 1


def test_a_run_without_results_has_the_same_columns(tmp_path: Path, results: harness.RunResults) -> None:
    with harness.open_results(stores.planned(tmp_path)[0], 1) as empty:
        for name in ("scores", "texts", "tokens", "measurements", "resolutions", "rejection_curves"):
            frame = getattr(empty, name)()
            assert frame.empty
            assert list(frame.columns) == list(getattr(results, name)().columns), name


def test_a_database_without_runs_and_one_that_is_not_there(tmp_path: Path) -> None:
    with open_store(tmp_path / "r.db"):
        pass
    for run in (None, "all"):
        with pytest.raises(harness.BatError, match="has no run yet"):
            harness.open_results(tmp_path / "r.db", run)
    with pytest.raises(harness.BatError, match="there is no database at"):
        harness.open_results(tmp_path / "other.db")


def test_closed_results_say_so(finished: str) -> None:
    with harness.open_results(finished) as opened:
        assert not opened.scores().empty
    with pytest.raises(harness.BatError, match="these results are closed"):
        opened.scores()
    assert "wider" in repr(opened)


def test_the_database_is_released_with_the_object(finished: str) -> None:
    opened = harness.open_results(finished)
    closing = opened._closing
    assert closing.alive
    del opened
    gc.collect()
    assert not closing.alive
