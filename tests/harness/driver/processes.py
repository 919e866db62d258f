"""A pool of real worker processes, which can be killed like those of Ray and start much sooner."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

# Workers are forked: what they compute with is imported here, not by each that replaces a killed one.
import faiss  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.preprocessing  # noqa: F401
import torch  # noqa: F401
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: F401

import harness.scoring.scorer  # noqa: F401
import workers.features
import workers.generation
import workers.measurement  # noqa: F401
from harness.driver.pool import REQUESTS_PER_WORKER, Failure, FailureKind, Outcome, Vacancy
from harness.driver.ray_pool import classify
from workers.requests import Answer, Request, Worker

_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass
class _Worker:
    process: BaseProcess
    line: Connection
    out: list[str] = field(default_factory=list)  # tickets, in the order of their requests


class ProcessPool:
    """Workers that are processes. `doomed` is asked at each wait, with the names of those at work, which of
    them to kill; `answered` is called with each answer that came in, before anybody has seen it."""

    def __init__(
        self,
        workers: int,
        doomed: Callable[[list[str]], list[str]] = lambda busy: [],
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        # Forked, so that they have everything that this process has imported.
        self._context = multiprocessing.get_context("fork")
        self._doomed, self._answered = doomed, answered
        self._workers = {f"w{number}": self._start() for number in range(workers)}
        self.killed = 0

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
        process.start()
        theirs.close()  # or the end of the worker would not be the end of the line
        return _Worker(process, ours)

    def vacancies(self) -> list[Vacancy]:
        return [
            Vacancy(name, None, f"here:{worker.process.pid}", queued=bool(worker.out) or busy > 0)
            for busy in range(REQUESTS_PER_WORKER)
            for name, worker in self._workers.items()
            if len(worker.out) <= busy
        ]

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        self._workers[worker].out.append(ticket)
        with contextlib.suppress(OSError):  # it is gone; wait finds out
            self._workers[worker].line.send(request)

    def wait(self, seconds: float) -> list[Outcome]:
        busy = [name for name, worker in self._workers.items() if worker.out]
        for name in self._doomed(busy):
            process = self._workers[name].process
            if process.exitcode is not None:
                continue  # killed before, with its last answer unread; its number may be reused
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            self.killed += 1
        lines = {id(self._workers[name].line): name for name in busy}
        ready = wait([self._workers[name].line for name in busy], seconds) if busy else []
        return [outcome for line in ready for outcome in self._collect(lines[id(line)])]

    def _collect(self, name: str) -> list[Outcome]:
        worker = self._workers[name]
        try:
            result: Answer[Any] | Failure = worker.line.recv()
        except (EOFError, OSError):
            return self._replace(name)
        self._answered()
        return [Outcome(worker.out.pop(0), name, result)]

    def _replace(self, name: str) -> list[Outcome]:
        """What was out comes back as from RayPool: only the first can have been begun."""
        gone, self._workers[name] = self._workers[name], self._start()
        gone.line.close()
        lost = Failure(FailureKind.WORKER_LOST, "its process ended")
        untried = Failure(FailureKind.NOT_BEGUN, "its worker went away before its turn")
        return [Outcome(ticket, name, untried if place else lost) for place, ticket in enumerate(gone.out)]

    def close(self) -> None:
        for worker in self._workers.values():
            worker.process.kill()
            worker.process.join()


def _work(line: Connection, driver: int) -> None:
    """Answer requests until the driver is gone, however it went."""
    worker = Worker("cpu", threads=1)
    while True:
        # Other workers hold the driver's end of this line too, so its end is not the line's.
        while not line.poll(_SECONDS_BETWEEN_LOOKS):
            if os.getppid() != driver:
                return
        try:
            request = line.recv()
        except EOFError:
            return
        try:
            answer: Answer[Any] | Failure = worker.answer(request)
        except Exception as error:
            answer = classify(error)
        line.send(answer)
