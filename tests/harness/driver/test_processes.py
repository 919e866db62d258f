"""The pool of processes that other tests kill."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.driver.pool import Failure, FailureKind
from tests.harness.driver.processes import ProcessPool
from workers.requests import Request, Worker


@dataclass(frozen=True)
class _Wait(Request[str]):
    seconds: float

    def run(self, worker: Worker) -> str:
        time.sleep(self.seconds)
        return "done"


def test_a_worker_that_dies_after_its_answer_is_lost_once() -> None:
    """Its answer is read when it is dead already, and by then it may be chosen to be killed again."""
    pool = ProcessPool(1, doomed=lambda busy: busy)
    pool.submit("w0", "first", _Wait(0.0))
    pool.submit("w0", "second", _Wait(60.0))
    try:
        deadline = time.monotonic() + 60.0
        while not pool._workers["w0"].line.poll(0.1):
            assert time.monotonic() < deadline
        [answered], [lost] = pool.wait(10.0), pool.wait(10.0)
    finally:
        pool.close()
    assert (answered.ticket, lost.ticket, pool.killed) == ("first", "second", 1)
    assert not isinstance(answered.result, Failure)
    assert isinstance(lost.result, Failure)
    assert lost.result.kind is FailureKind.WORKER_LOST
