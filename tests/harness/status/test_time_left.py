"""The time left that `run` shows: estimated from recent attempts, now and then, and in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.api import running
from harness.commands import run as command
from harness.jobs import JobKind
from harness.status.run_status import estimate_time_left
from harness.status.time_left import estimate, say_time_left
from harness.store import JobGroup, Progress, Rate
from tests.harness import stores
from tests.harness.store import examples


def test_the_estimate_is_the_work_left_over_the_leases(tmp_path: Path) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        run = store.get_run(run_id)
        assert estimate_time_left(store, run) == (None, False)
        stores.work(store, run_id, 4)  # 2 measure jobs and 2 of 6 generate jobs
        stores.move_back(store, started=1000, attempts_took=100)
        run = store.get_run(run_id)
        assert estimate_time_left(store, run) == (None, False), "nothing is leased"
        expired = store.claim("gone:1:aa", 1, 600.0, run_id)
        examples.let_expire(store, *expired)
        assert estimate_time_left(store, run) == (None, False), "its driver is gone"
        store.claim("one:1:aa", 2, 600.0, run_id)
        seconds, is_least = estimate_time_left(store, run)
        # 4 generate jobs of 100 s are left, and others of kinds of which none is done. A tenth allows for a
        # machine that is busy.
        assert seconds == pytest.approx(400 / 2, rel=0.1)
        assert is_least


def test_each_model_and_number_of_constraints_has_its_own_pace(tmp_path: Path) -> None:
    groups = [
        JobGroup(JobKind.GENERATE, "gpt2"),
        JobGroup(JobKind.GENERATE, "gpt2", 20),
        JobGroup(JobKind.GENERATE, "gpt2", 576),
        JobGroup(JobKind.GENERATE, "xl", 576),
    ]
    took = [5.0, 10.0, 100.0, 1000.0]
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 2)  # measure jobs
        stores.work(store, run_id, 4)
        stores.make_groups(store, JobKind.GENERATE, [group[1:] for group in groups], took)
        rates = {rate.group: rate.seconds_per_attempt for rate in store.rates(run_id, 60.0)}
        assert [rates[group] for group in groups] == pytest.approx(took, abs=0.1)
        means = store.mean_seconds()
        assert [means[group] for group in groups] == pytest.approx(took, abs=0.1)
        assert set(store.mean_seconds(attempts=1)) < set(means)

        left = dict.fromkeys(groups, 3)
        fast = Rate(*groups[0], done=40, jobs_per_second=0.4, seconds_per_attempt=4.0)
        work = 3 * (4 + 10 + 100 + 1000)
        assert estimate(store, left, 2, [fast]) == (pytest.approx(work / 2, abs=1), False)
        unknown = {**left, JobGroup(JobKind.SCORE): 1}
        assert estimate(store, unknown, 2, [fast])[1]
        assert estimate(store, {groups[0]: 0}, 2, [fast]) == (0.0, False)
        assert estimate(store, left, 0, [fast]) == (None, False)
        assert estimate(store, left, 2, []) == (None, False)


def test_a_run_estimates_every_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(running.time, "monotonic", lambda: now)
    estimates = iter([(None, False), (60.0, True), (30.0, False)])
    monkeypatch.setattr(running, "estimate_time_left", lambda *_: next(estimates))
    told: list[tuple[float, bool]] = []
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        report = running._Report(store, run_id, None, lambda *left: told.append(left))
        for now in (100.0, 101.0, 106.0, 107.0, 112.0):  # noqa: B007  read by the clock
            report([])
    assert told == [(60.0, True), (30.0, False)]  # nothing while there is no estimate


def test_the_time_left_is_shown_until_nothing_is_left() -> None:
    assert say_time_left(90.0, is_least=False) == "about 1 min 30 s left"
    shown: list[str] = []

    class Display:
        def end_step(self) -> None: ...

        def show(self, counts: object, note: str = "") -> None:
            shown.append(note)

    left = command._TimeLeft()
    for open_jobs in (2, 2, 0):
        counts = [Progress(JobKind.SCORE, open_jobs, blocked=0, leased=0, done=2 - open_jobs, failed=0)]
        command._show(Display(), left, counts)  # type: ignore[arg-type]
        left.update(200.0, is_least=True)
    assert shown == ["", "at least 3 min 20 s left", ""]
