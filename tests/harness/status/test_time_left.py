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


def test_the_estimate_is_the_work_left_over_the_attempts_at_a_time(tmp_path: Path) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        run = store.get_run(run_id)
        assert estimate_time_left(store, run) == (None, False)
        stores.work(store, run_id, 4)  # 2 measure jobs and 2 of 6 generate jobs
        stores.move_back(store, started=1000, attempts_took=100)
        run = store.get_run(run_id)
        seconds, is_least = estimate_time_left(store, run)
        # 4 attempts of 100 s in 1000 s are 0.4 at a time; 4 generate jobs of 100 s are left, and others of
        # kinds of which none is done. A tenth allows for a machine that is busy.
        assert seconds == pytest.approx(400 / 0.4, rel=0.1)
        assert is_least


def test_each_model_and_number_of_constraints_has_its_own_pace(tmp_path: Path) -> None:
    plain, full = JobGroup(JobKind.GENERATE, "gpt2"), JobGroup(JobKind.GENERATE, "gpt2", 576)
    left = {plain: 2, full: 3, JobGroup(JobKind.SCORE): 0}
    fast, slow = Rate(*plain, 40, 0.4, 5.0), Rate(*full, 1, 0.01, 100.0)
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        assert estimate(store, left, 0, []) == (None, False)
        assert estimate(store, left, 0, [fast]) == (pytest.approx(2 * 5 / 2), True)
        assert estimate(store, left, 0, [fast, slow]) == (pytest.approx((2 * 5 + 3 * 100) / 3), False)
        assert estimate(store, {plain: 0}, 0, [fast]) == (0.0, False)
        # At first, few attempts have ended, and the leases tell how many run.
        assert estimate(store, left, 1, [fast, slow]) == (pytest.approx((2 * 5 + 3 * 100) / 3), False)
        assert estimate(store, left, 5, [fast, slow]) == (pytest.approx((2 * 5 + 3 * 100) / 5), False)
        # What was done before the recent past, or in another run, is known, too.
        stores.work(store, run_id, 2)
        stores.move_back(store, started=1000, attempts_took=100)
        left = {plain: 2, JobGroup(JobKind.MEASURE, "gpt2"): 1}
        assert estimate(store, left, 0, [fast]) == (pytest.approx((2 * 5 + 100) / 2, rel=0.1), False)


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
