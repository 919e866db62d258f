"""Merging databases: everything arrives once, on either backend, after interruptions and when repeated."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

import harness
from harness.store import (
    InstanceState,
    LocalInput,
    Resolution,
    SchemaVersionError,
    Store,
    merging,
    open_store,
)
from harness.store.checks import check_database
from harness.store.records import JobState
from harness.store.tables import ScoreRow
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.store.test_versions import set_version

PAIRS = [
    "sqlite -> other sqlite",
    pytest.param("sqlite -> postgresql", marks=pytest.mark.xdist_group("postgresql")),
    pytest.param("postgresql -> sqlite", marks=pytest.mark.xdist_group("postgresql")),
]


@pytest.fixture(params=PAIRS)
def addresses(request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path) -> tuple[str, str]:
    """A source and a target, both with empty tables."""
    shutil.copy(sqlite_template, tmp_path / "other.db")
    known = {"other sqlite": f"sqlite:///{tmp_path / 'other.db'}"}
    source, target = (
        known.get(name) or request.getfixturevalue(f"{name}_address") for name in request.param.split(" -> ")
    )
    return source, target


@pytest.fixture
def source(addresses: tuple[str, str]) -> Iterator[Store]:
    """A run that is done and tagged, and one with a failed, a leased and a waiting job."""
    with open_store(addresses[0]) as store:
        run_id = examples.fill(store)
        store.add_tags(run_id, ["paper"])
        files = [LocalInput("corpus.name", "/texts.jsonl", "sha256:1", "x")]
        config = {"name": "second", "corpus": {"name": "texts.jsonl"}}
        other = store.add_run("second", config, {}, files)
        jobs = [examples.score_job(number) for number in range(3)]
        store.add_jobs(other, [*jobs, examples.score_job(3, (jobs[0].id,))])
        store.fail(store.claim("driver", 1, 600.0, other)[0], "no luck", retry=False)
        store.claim("driver", 1, 600.0, other)
        yield store


def check(store: Store) -> None:
    assert [finding for finding in check_database(store) if finding.violations] == []


def content(store: Store) -> dict[str, Any]:
    """All that can be read of a database, but for numbers of runs."""
    found: dict[str, Any] = {}
    for run in store.runs():
        found[run.name] = (
            replace(run, id=0),
            store.results_hash(run.id),
            store.resolutions(run.id),
            store.instances(run.id),
            [(job.id, job.state, job.failures) for job in store.jobs(run.id)],
            [(failed.id, failed.error) for failed in store.failed(run.id)],
        )
    return found


def test_everything_arrives_and_again_changes_nothing(source: Store, addresses: tuple[str, str]) -> None:
    steps: list[tuple[str, int]] = []

    def progress(title: str, total: int) -> Any:
        return lambda done: steps.append((title, total - done))

    outcome = harness.merge_databases(*addresses, progress=progress)
    counts = outcome.counts
    assert (counts.runs, counts.joined, counts.jobs, counts.results) == (2, 0, 9, 5)
    assert {step for step in steps if not step[1]} == {("Prefixes", 0), ("Jobs", 0), ("Runs", 0)}
    source.take_back("driver")  # in the target, a leased job waits
    with open_store(addresses[1]) as target:
        check(target)
        there = content(target)
        here = content(source)
        for name, (run, *rest) in here.items():
            assert there[name][0] == run
            assert there[name][1:] == tuple(rest)
        again = harness.merge_databases(*addresses).counts
        assert (again.runs, again.joined, again.jobs, again.results, again.present) == (0, 2, 0, 0, 5)
        assert again.differing == []
        assert content(target) == there
        # It can be gone on with: what the failed job blocks waits, the others are there to be claimed.
        second = target.get_run("second").id
        leases = target.claim("here", 5, 600.0, second)
        assert len(leases) == 2


def test_a_merge_that_is_killed_is_completed_by_the_next(
    source: Store, addresses: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_JOBS", 2)
    add = merging._Merge._add_jobs
    calls = []

    def stop(self: Any, connection: Any, page: Any) -> None:
        add(self, connection, page)
        calls.append(page)
        if len(calls) == 3:
            raise KeyboardInterrupt  # in the transaction, whose work is lost

    monkeypatch.setattr(merging._Merge, "_add_jobs", stop)
    with pytest.raises(KeyboardInterrupt):
        harness.merge_databases(*addresses)
    with open_store(addresses[1]) as target:
        check(target)
        assert target.runs() == []  # runs come whole, and last
        monkeypatch.setattr(merging._Merge, "_add_jobs", add)
        counts = harness.merge_databases(*addresses).counts
        assert (counts.jobs, counts.present + counts.results) == (5, 5)
        check(target)
        demo = source.get_run("demo").id
        assert target.results_hash(target.get_run("demo").id) == source.results_hash(demo)


def test_results_of_the_target_stay(source: Store, addresses: tuple[str, str]) -> None:
    with open_store(addresses[1]) as target:
        run_id = examples.fill(target)
        with target._database.writing() as connection:
            connection.execute(update(ScoreRow).values(value=0.123))
        target.add_resolution(run_id, Resolution("other", {}, "so", 1, ()))
        source.add_resolution(source.get_run("demo").id, Resolution("other", {}, "so", 2, ()))
        counts = harness.merge_databases(*addresses).counts
        score = examples.sample_jobs()[-1].id
        assert counts.differing == [score]
        assert counts.unequal_parameters == ["other"]
        assert (counts.present, counts.joined, counts.runs) == (4, 1, 1)
        assert [entry.value for entry in target.scores([score])] == [0.123]
        assert target.get_run("demo").tags == ("paper",)


def test_what_the_target_lacks_is_filled_in(source: Store, addresses: tuple[str, str]) -> None:
    """The same run, begun in both: in the target a job has failed, another is being worked on."""
    with open_store(addresses[1]) as target:
        run_id = target.add_run("demo", examples.CONFIG, {})
        target.add_prefix_set(examples.make_prefix_rows())
        instances = examples.sample_instances()
        unresolved = replace(instances[2], state=InstanceState.OPEN, parameter=None, jobs=())
        target.add_plan(run_id, examples.sample_jobs(), [0, 1, 1, 1, 1], [*instances[:2], unresolved])
        measure, plain, *_ = (job.id for job in examples.sample_jobs())
        [lease] = target.claim("here", 1, 600.0, run_id)
        target.fail(lease, "no luck", retry=False)
        counts = harness.merge_databases(*addresses).counts
        assert (counts.jobs, counts.results, counts.present, counts.leased) == (4, 5, 0, 0)
        check(target)
        assert target.find_jobs([measure])[measure].attempt == 2  # that of the source after its own
        assert target.instances(run_id) == source.instances(source.get_run("demo").id)
        assert target.results_hash(run_id) == source.results_hash(source.get_run("demo").id)
        assert target.find_jobs([plain])[plain].state is JobState.DONE


def test_a_job_that_is_worked_on_is_left_to_its_driver(source: Store, addresses: tuple[str, str]) -> None:
    with open_store(addresses[1]) as target:
        run_id = target.add_run("demo", examples.CONFIG, {})
        target.add_jobs(run_id, examples.sample_jobs())
        [lease] = target.claim("here", 1, 600.0, run_id)
        assert harness.merge_databases(*addresses).counts.leased == 1
        assert target.complete(lease, examples.result_of(lease))
        counts = harness.merge_databases(*addresses).counts
        assert (counts.leased, counts.present) == (0, 5)
        check(target)


def test_mistakes(tmp_path: Path, sqlite_address: str) -> None:
    with pytest.raises(harness.BatError, match="must be merged into another one"):
        harness.merge_databases(sqlite_address, sqlite_address.removeprefix("sqlite:///"))
    with pytest.raises(harness.BatError, match="there is no database at"):
        harness.merge_databases(tmp_path / "none.db", sqlite_address)
    set_version(sqlite_address, "0001")
    with pytest.raises(SchemaVersionError, match=r"older 0001.*bat-harness db migrate --db"):
        harness.merge_databases(sqlite_address, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_the_command_says_what_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = stores.filled(tmp_path)
    target = f"sqlite:///{tmp_path / 'new.db'}"
    said = stores.run_command(capsys, "db", "merge", source, "--db", target)
    assert said == (
        f"{source} is merged into {target}: 1 new run, 5 new jobs, 5 new results; 0 results in both.\n"
    )
    with open_store(target) as store, store._database.writing() as connection:
        connection.execute(update(ScoreRow).values(value=0.123))
    said = stores.run_command(capsys, "db", "merge", source, "--db", target, code=1)
    assert "4 results in both." in said
    assert (
        f"1 job with different results; those of {target} are kept: {examples.sample_jobs()[-1].id[:12]}"
        in said
    )
