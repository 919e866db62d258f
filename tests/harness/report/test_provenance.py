from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import update

from harness.config import parse_config, run_identity
from harness.jobs import JobKind
from harness.planning.finished import stored_identity
from harness.report.provenance import provenance
from harness.report.results import Results
from harness.store import Reader, open_reader
from harness.store.tables import JobRow
from tests.harness.driver.sweeps import open_quick_store, tiny_sweep
from tests.harness.report.formats.sampled_store import (
    PREFIX_SET,
    SETTINGS,
    config,
    generate_job,
    make_results,
    make_store,
)

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = tmp_path_factory.mktemp("provenance") / "r.db"
    with make_store(path) as store, store._database.writing() as connection:
        changed = update(JobRow).where(JobRow.id == generate_job(SETTINGS[1], 0).id)
        connection.execute(changed.values(adjustment={"batch_size": 2}))
    with open_reader(f"sqlite:///{path}") as opened:
        yield opened


@pytest.fixture(scope="module")
def facts(reader: Reader) -> dict[str, str]:
    found = provenance(reader, make_results(reader), now=NOW)
    assert len(dict(found)) == len(found)
    return dict(found)


def whole_numbers(value: Any) -> Any:
    """The same without points where numbers are whole, as in the ids of jobs."""
    if isinstance(value, Mapping):
        return {key: whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [whole_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_the_run_and_its_configuration(facts: dict[str, str], reader: Reader) -> None:
    assert facts["run"] == "sampled, number 1"
    found = whole_numbers(reader.get_run("sampled").config)
    spelled = json.dumps(found, sort_keys=True, separators=(",", ":"))
    assert facts["configuration hash"] == hashlib.sha256(spelled.encode()).hexdigest()
    assert facts["version of results"] == "2"
    again = parse_config(yaml.safe_load(facts["configuration"]))
    assert run_identity(again) == run_identity(config())


def test_versions_and_machine(facts: dict[str, str]) -> None:
    assert facts["versions at the latest start"] == "python 3.11, torch 2.13"
    assert facts["hardware"] == "x86_64 (of the driver at the latest start)"


def test_models_with_their_fingerprints_and_what_they_did(facts: dict[str, str]) -> None:
    assert facts["models"].splitlines() == [
        "fake:v=300,d=8: revision abc, float32, weights w1, tokenizer t1; wrote texts, measured human text",
        "reader: no revision, float32, weights w2, tokenizer t2; read texts for MAUVE",
    ]


def test_texts(facts: dict[str, str]) -> None:
    assert facts["corpus"] == "news, revision r7, split validation"
    assert facts["prefix set"] == f"{PREFIX_SET}: 8 prefixes, news, revision r7, split test"


def test_jobs_and_those_done_otherwise_than_planned(facts: dict[str, str]) -> None:
    assert facts["jobs"] == "6 done, 2 not done"
    changed = generate_job(SETTINGS[1], 0).id
    assert facts["jobs that ran differently from the plan"] == f"generate {changed[:12]}: batch_size 2"


def test_dates_are_of_utc(facts: dict[str, str], reader: Reader) -> None:
    run = reader.get_run("sampled")
    finished = [job.finished_at for job in reader.jobs(run.id, JobKind.GENERATE)]
    latest = max(time for time in finished if time is not None)
    assert facts["first start"] == run.created_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    assert facts["last job finished"] == latest.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    assert facts["report written"] == "2026-02-03 04:05:06 UTC"
    assert facts["database"] == reader.address


def test_several_runs_are_told_apart_and_their_jobs_counted_once(reader: Reader) -> None:
    results = make_results(reader)
    other = dataclasses.replace(results.runs[0], name="other")
    facts = dict(provenance(reader, dataclasses.replace(results, runs=(results.runs[0], other)), now=NOW))
    assert facts["run of sampled"] == "sampled, number 1"
    assert facts["run of other"] == "other, number 1"
    assert facts["jobs"] == "6 done, 2 not done"


def test_a_run_without_a_job_has_its_provenance(tmp_path: Path, reader: Reader) -> None:
    make_store(tmp_path / "r.db").add_run("idle", {"name": "idle"}, {})
    with open_reader(f"sqlite:///{tmp_path / 'r.db'}") as opened:
        idle = dataclasses.replace(make_results(opened), runs=(opened.get_run("idle"),))
        facts = dict(provenance(opened, idle, now=NOW))
    assert facts["jobs"] == "0 done, 0 not done"
    assert facts["versions at the latest start"] == "not recorded"
    assert facts["jobs that ran differently from the plan"] == "none"
    assert not {"last job finished", "corpus", "models", "version of results"} & set(facts)


def test_the_processor_is_told_where_a_run_recorded_it(tmp_path: Path) -> None:
    with open_quick_store(tmp_path / "r.db") as store:
        versions = {"machine": "x86_64", "processor": "Fast Chip", "cores": "64", "torch": "2"}
        run_id = store.add_run("tiny", stored_identity(tiny_sweep(tmp_path)), versions)
        run = store.get_run(run_id)
        results = Results((run,), (tiny_sweep(tmp_path),), (), (), (), 0)
        facts = dict(provenance(store, results))
    assert facts["hardware"] == "Fast Chip, 64 cores, x86_64 (of the driver at the latest start)"
    assert facts["versions at the latest start"] == "torch 2"
