"""bat-harness plan, and knowing that nothing is left without loading anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bat.errors import InvalidInputError
from harness.cli import main
from harness.config import to_yaml
from harness.jobs import JobKind
from harness.planning.finished import is_finished
from harness.planning.materials import Materials
from harness.planning.planner import enqueue, make_plan
from harness.planning.work import count_work, later_jobs
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["plan", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_a_plan_is_the_same_again_and_grows_with_results(corpus: Path, tmp_path: Path) -> None:
    config = tiny_sweep(corpus)
    materials = Materials(config)
    first = make_plan(config, materials)
    assert [job.id for _, job in first.jobs] == [
        job.id for _, job in make_plan(config, Materials(config)).jobs
    ]
    assert not first.complete
    assert [str(one.setting) for one in first.unresolved] == ["ba-eta rejecting as much as eta=0.01 (c=4)"]
    with open_quick_store(tmp_path / "r.db") as store:
        driver = make_driver(store, config, LocalPool)
        assert driver.run().complete
        last = make_plan(config, materials, store, store.resolutions(driver.run_id))
        assert last.complete
        assert {job.id for _, job in first.jobs} < {job.id for _, job in last.jobs}
        # What was resolved once is not looked for again.
        assert last.resolutions == []
        assert make_plan(config, materials, store).resolutions == store.resolutions(driver.run_id)


def test_what_changes_no_result_changes_no_job(corpus: Path) -> None:
    ids = [job.id for _, job in make_plan(tiny_sweep(corpus), Materials(tiny_sweep(corpus))).jobs]
    other = tiny_sweep(corpus, name="other", resources={"num_cpus": 2, "lease_seconds": 99})
    assert [job.id for _, job in make_plan(other, Materials(other)).jobs] == ids
    seeds = tiny_sweep(corpus, generation={"max_tokens": 6, "batch_size": 2, "seeds": [1]})
    changed = {job.id for _, job in make_plan(seeds, Materials(seeds)).jobs}
    kept = {job.id for _, job in make_plan(seeds, Materials(seeds)).jobs if job.kind is JobKind.MEASURE}
    assert kept <= set(ids)
    assert not any(
        job.id in ids for _, job in make_plan(seeds, Materials(seeds)).jobs if job.kind is JobKind.GENERATE
    )
    assert changed - kept


def test_a_run_is_finished_when_all_is_planned_and_done(corpus: Path, tmp_path: Path) -> None:
    config = tiny_sweep(corpus)
    with open_quick_store(tmp_path / "r.db") as store:
        driver = make_driver(store, config, LocalPool)
        assert not is_finished(store, driver.run_id)  # nothing is planned yet
        enqueue(store, driver.run_id, driver.materials)
        assert not is_finished(store, driver.run_id)
        driver.run()
        assert is_finished(store, driver.run_id)


def test_knowing_that_nothing_is_left_waits_for_nothing_heavy(corpus: Path, tmp_path: Path) -> None:
    config = tiny_sweep(corpus)
    sweep = tmp_path / "tiny.yaml"
    sweep.write_text(to_yaml(config))
    with open_quick_store(tmp_path / "r.db") as store:
        make_driver(store, config, LocalPool).run()
    script = (
        "import sys\n"
        "from harness.cli import main\n"
        "try:\n"
        f"    main(['run', {str(sweep)!r}, '--db', 'sqlite:///{tmp_path / 'r.db'}'])\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        "heavy = {'torch', 'transformers', 'ray', 'numba', 'alembic', 'psycopg'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Nothing to do" in done.stderr


def test_prints_jobs_units_and_what_is_open(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "tiny.yaml"
    sweep.write_text(to_yaml(tiny_sweep(corpus)))
    database = f"sqlite:///{tmp_path / 'none.db'}"
    printed = run(capsys, str(sweep), "--db", database)
    assert "17 jobs, 0 of them done." in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["generate", "fake", "2", "-", "-", "36", "tokens", "-"] in rows
    assert ["generate,", "c=4", "fake", "2", "-", "2", "36", "tokens", "9"] in rows
    assert (
        "5 jobs will be planned once results have resolved their parameters:\n"
        "  ba-eta rejecting as much as eta=0.01 (c=4)\n"
    ) in printed
    assert not (tmp_path / "none.db").exists()  # nothing is written


def test_a_calibration_does_some_of_every_kind_of_work(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path / "cache"))
    sweep = tmp_path / "tiny.yaml"
    sweep.write_text(to_yaml(tiny_sweep(corpus)))
    database = f"sqlite:///{tmp_path / 'none.db'}"
    record = json.loads(run(capsys, str(sweep), "--db", database, "--json", "--calibrate"))
    assert record["totals"]["jobs"] == 17
    assert record["totals"]["later"] == 5
    assert record["totals"]["uncalibrated"] == 0
    assert record["totals"]["seconds"] == pytest.approx(sum(work["seconds"] for work in record["work"]))
    assert record["unresolved"] == ["ba-eta rejecting as much as eta=0.01 (c=4)"]
    assert {(work["kind"], work["detail"]) for work in record["work"] if work["seconds"] > 0} == {
        ("measure", ""),
        ("measure", "continuations"),
        ("generate", ""),
        ("generate", "c=4"),
        ("featurize", ""),
        ("score", ""),
    }
    # What was read is not kept: the next calibration would time the cache.
    assert not list((tmp_path / "cache").glob("features*"))


def test_what_comes_later_is_counted_as_it_turns_out(corpus: Path, tmp_path: Path) -> None:
    best = {"metric": "mauve", "split": "validation", "among": [0.1, 0.2]}
    methods = [
        {"rule": "eta", "parameter": {"best": best}},
        {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}, "constraints": [4, 6]},
        {"rule": "top-k", "parameter": {"hrr": 0.5}},
        {"rule": "nucleus", "parameter": {"hrr": [0.2, 0.3]}},
    ]
    config = tiny_sweep(
        corpus,
        methods=methods,
        stages=[
            {"name": "select", "split": "validation", "methods": ["eta"]},
            {"name": "measure", "kind": "measure"},
            {"name": "compare", "split": "test"},
        ],
        measurement={"tokens": 24, "per_document": 3, "constraints": [4, 6], "shard_size": 2},
    )
    materials = Materials(config)
    first = make_plan(config, materials)
    expected = count_work(materials, first, later_jobs(materials, first), set())
    assert sum(work.later for work in expected) > 0
    with open_quick_store(tmp_path / "r.db") as store:
        driver = make_driver(store, config, LocalPool)
        assert driver.run().complete
        plan = make_plan(config, materials, store, store.resolutions(driver.run_id))
        done = store.done_ids([job.id for _, job in plan.jobs])
    found = count_work(materials, plan, later_jobs(materials, plan), done)
    assert [(work.stage, work.kind, work.detail, work.jobs) for work in found] == [
        (work.stage, work.kind, work.detail, work.jobs) for work in expected
    ]
    assert all((work.done, work.later, work.units) == (work.jobs, 0, 0) for work in found)


def test_what_is_asked_for_twice_is_counted_once(corpus: Path) -> None:
    methods = [
        {"name": name, "rule": "nucleus", "parameter": {"hrr": rates}}
        for name, rates in (("one", [0.2, 0.3]), ("other", 0.2))
    ]
    config = tiny_sweep(corpus, methods=methods)
    materials = Materials(config)
    plan = make_plan(config, materials)
    assert len(plan.unresolved) == 3
    generated = [job for _, job in later_jobs(materials, plan) if job.kind is JobKind.GENERATE]
    assert len(generated) == 2 * 2


def test_a_model_for_features_may_have_the_name_of_another(corpus: Path) -> None:
    config = tiny_sweep(
        corpus,
        models=[{"name": "fake:v=300,d=8", "dtype": "bfloat16"}],
        features={"model": "fake:v=300,d=8", "dtype": "float32", "max_tokens": 16},
    )
    materials = Materials(config)
    plan = make_plan(config, materials)
    work = count_work(materials, plan, later_jobs(materials, plan), set())
    assert {one.model for one in work} == {"fake:v=300,d=8", ""}


def test_a_database_that_cannot_be_read_is_no_empty_one(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "tiny.yaml"
    sweep.write_text(to_yaml(tiny_sweep(corpus)))
    (tmp_path / "text.db").write_text("This is no database. " * 100)
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(sweep), "--db", str(tmp_path / "text.db")])
    assert ended.value.code == 1
    assert "text.db" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"measurement": {"tokens": 12, "per_document": 3, "constraints": [4, 9]}},
            "measurement.constraints must be at most",
        ),
        (
            {"methods": [{"rule": "ba-eta", "parameter": 0.1, "constraints": 9}]},
            "constraints of ba-eta must be at most",
        ),
    ],
)
def test_more_constraints_than_a_model_has_are_invalid_before_any_work(
    changes: dict[str, Any], said: str, corpus: Path
) -> None:
    config = tiny_sweep(corpus, **changes)
    with pytest.raises(InvalidInputError, match=f"{said} the rank .*, 8 for fake.*; got 9"):
        make_plan(config, Materials(config))


def test_a_mistake_in_the_sweep_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "wrong.yaml"
    sweep.write_text("name: wrong\nmodles: []\n")
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(sweep)])
    assert ended.value.code == 1
    assert "line 2" in capsys.readouterr().err
