"""Results as they are read from rows: every setting with its seeds, and where each came from."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from bat.errors import InvalidInputError
from harness.jobs import JobKind
from harness.report.loading import load_cost, load_results, load_revisions, run_titles
from harness.store import open_reader
from tests.harness.driver.sweeps import tiny_sweep, write_corpus
from tests.harness.report.finished import run_in_this_process


def test_every_setting_is_there_with_its_seeds_and_its_own_scores(finished: str) -> None:
    with open_reader(finished) as reader:
        run = reader.get_run("wider")
        results = load_results(reader, [run])
        stages = [(result.stage, result.method, result.setting.constraints) for result in results.results]
        assert stages == [
            *[("select", "nucleus", None)] * 2,
            *[("compare", "eta", None)] * 2,
            *[("compare", "ba-eta", 2)] * 2,
            *[("compare", "ba-eta", 4)] * 2,
            ("compare", "nucleus", None),
            ("compare", "quarter", None),
            ("compare", "ba-quarter", 4),
        ]
        assert all([one.seed for one in result.seeds] == [0, 1] for result in results.results)
        for result in results.results:
            for scored in result.seeds:
                jobs = reader.find_jobs(scored.generate_jobs)
                assert {job.spec["seed"] for job in jobs.values()} == {scored.seed}
                assert {job.spec["rule"] for job in jobs.values()} == {result.setting.rule}
                assert {job.spec["parameter"] for job in jobs.values()} == {result.parameter}
                assert {score.job_id for score in scored.scores.values()} == {scored.score_job}
                stored = {score.name: score.value for score in reader.scores([scored.score_job])}
                assert {name: score.value for name, score in scored.scores.items()} == stored
        assert results.unfinished == 0
        assert {(one.model, len(one.jobs), one.constraints) for one in results.measured} == {
            ("fake", 2, (2, 4))
        }


def test_what_was_matched_finds_its_partner_and_people_their_prefixes(finished: str) -> None:
    with open_reader(finished) as reader:
        results = load_results(reader, [reader.get_run("wider")])
    for result in results.results:
        plain = results.plain_of(result)
        if result.setting.rule == "ba-eta":
            assert plain is not None
            assert plain.setting.rule == "eta"
            assert plain.stage == result.stage
            assert result.resolution is not None
            assert f"eta={plain.setting.known_rule().parameter:.6g} " in result.resolution.how
        else:
            assert plain is None
        human = results.human_of(result)
        assert human is not None
        assert human.prefix_set == result.prefix_set
        assert "perplexity" in human.scores
        assert "mauve" not in human.scores


def test_cost_adds_up_what_the_texts_have(finished: str) -> None:
    with open_reader(finished) as reader:
        results = load_results(reader, [reader.get_run("wider")])
        result = next(one for one in results.results if one.setting.rule == "ba-eta")
        jobs = [job for scored in result.seeds for job in scored.generate_jobs]
        texts = [generation for _, generation in reader.generations(jobs)]
        cost = load_cost(reader, result)
        assert cost.tokens == sum(len(text.trace) for text in texts)
        assert cost.solver_seconds == pytest.approx(sum(text.solver_seconds for text in texts))


def test_a_sweep_that_is_not_done_shows_what_it_has(tmp_path: Path, text_corpus: Path) -> None:
    address = run_in_this_process(tmp_path / "half.db", tiny_sweep(text_corpus))
    with open_reader(address) as reader:
        whole = load_results(reader, [reader.get_run("tiny")])
    job = whole.results[1].seeds[0].score_job
    with sqlite3.connect(tmp_path / "half.db") as connection:
        key = connection.execute("SELECT key FROM jobs WHERE id = ?", (job,)).fetchone()[0]
        connection.execute("DELETE FROM scores WHERE job_key = ?", (key,))
        connection.execute("UPDATE jobs SET state = 'waiting' WHERE key = ?", (key,))
    with open_reader(address) as reader:
        part = load_results(reader, [reader.get_run("tiny")])
    assert [result.method for result in part.results] == ["eta"]
    assert part.unfinished == 1


def test_runs_of_other_text_are_not_compared(tmp_path: Path, text_corpus: Path) -> None:
    file = tmp_path / "two.db"
    run_in_this_process(file, tiny_sweep(text_corpus))
    other = write_corpus(tmp_path / "elsewhere")
    for document in other.iterdir():
        document.write_text(f"Elsewhere. {document.read_text()}")
    run_in_this_process(file, tiny_sweep(other, name="elsewhere"))
    fewer = {"count": 5, "tokens": 4, "min_continuation_tokens": 6, "shard_size": 3}
    address = run_in_this_process(file, tiny_sweep(text_corpus, name="fewer", prefixes=fewer))
    with open_reader(address) as reader:
        tiny, elsewhere, others = (reader.get_run(name) for name in ("tiny", "elsewhere", "fewer"))
        with pytest.raises(InvalidInputError, match="must continue the same human text; 'tiny' has"):
            load_results(reader, [tiny, elsewhere])
        length = "same length; prefixes.tokens is 5 in 'tiny' and 4 in 'fewer'"
        with pytest.raises(InvalidInputError, match=length):
            load_results(reader, [tiny, others])
        both = load_results(reader, [tiny, tiny])
        assert len(both.results) == 4
        assert len(both.human) == 1
        assert run_titles([tiny, replace(tiny, id=9), elsewhere]) == {
            tiny.id: f"tiny (run {tiny.id})",
            9: "tiny (run 9)",
            elsewhere.id: "elsewhere",
        }
        assert len(list(reader.jobs(tiny.id, JobKind.SCORE))) == 3


def test_runs_that_make_mauve_in_another_way_are_not_compared(text_corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "ways.db"
    run_in_this_process(file, tiny_sweep(text_corpus))
    scoring = {"mauve": {"kmeans_seeds": [26], "kmeans_redo": 1}, "resamples": 4}
    address = run_in_this_process(file, tiny_sweep(text_corpus, name="other", scoring=scoring))
    with open_reader(address) as reader:
        runs = [reader.get_run(name) for name in ("tiny", "other")]
        with pytest.raises(InvalidInputError, match=r"'tiny' and 'other' differ in scoring\.mauve"):
            load_results(reader, runs)


def test_what_one_run_lacks_of_human_text_another_may_have(text_corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "both.db"
    settings = {"mauve": {"kmeans_seeds": [25], "kmeans_redo": 1}, "resamples": 4}
    few = tiny_sweep(text_corpus, name="few", scoring={**settings, "statistics": ["length"]})
    run_in_this_process(file, few)
    address = run_in_this_process(file, tiny_sweep(text_corpus))
    with open_reader(address) as reader:
        runs = [reader.get_run(name) for name in ("few", "tiny")]
        alone, both = load_results(reader, runs[:1]), load_results(reader, runs)
    assert set(alone.human[0].scores) == {"length", "ended", "empty"}
    [merged] = both.human
    assert set(merged.scores) > {"length", "perplexity"}
    assert merged.scores["length"].job_id == alone.human[0].score_job
    # Both have measured the same text, in the same jobs.
    assert len(both.measured) == 1


def test_commits_are_known_where_models_have_any(text_corpus: Path, tmp_path: Path) -> None:
    address = run_in_this_process(tmp_path / "r.db", tiny_sweep(text_corpus))
    with open_reader(address) as reader:
        results = load_results(reader, [reader.get_run("tiny")])
        assert load_revisions(reader, results) == {}
    commit = "0123456789abcdef" * 2 + "01234567"
    with sqlite3.connect(tmp_path / "r.db") as connection:
        connection.execute("UPDATE jobs SET spec = json_set(spec, '$.model.revision', ?)", (commit,))
    with open_reader(address) as reader:
        assert load_revisions(reader, results) == {results.results[0].model_name: commit}


def test_two_versions_of_one_model_are_not_mixed(text_corpus: Path, tmp_path: Path) -> None:
    address = run_in_this_process(tmp_path / "two.db", tiny_sweep(text_corpus))
    with sqlite3.connect(tmp_path / "two.db") as connection:
        connection.execute(
            "UPDATE jobs SET spec = json_set(spec, '$.model.weights', 'others') "
            "WHERE kind = 'generate' AND method = 'ba-eta'"
        )
    with open_reader(address) as reader, pytest.raises(InvalidInputError, match="one version of each model"):
        load_results(reader, [reader.get_run("tiny")])
