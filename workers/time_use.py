"""What a worker spent its time on, so that people see whether the model waits for the host.

    forward    the model ran
    propose    softmax, thresholds and draws, where the logits are
    settle     linear programs on the host; with several batches in flight, while the model runs
    waiting    the rest: the model had nothing to do, because the host was not done with any batch

On a CUDA device, `forward` and `propose` are by the clock of the device. On others they are by the host's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Phase = Literal["forward", "propose", "settle"]


@dataclass(frozen=True, slots=True)
class TimeUse:
    """Seconds of one job, or of several. `settle` may overlap with the others."""

    forward: float
    propose: float
    settle: float
    waiting: float
    batches_in_flight: int

    @property
    def waiting_share(self) -> float:
        """The share of the time in which the model waited for the host."""
        return self.waiting / max(self.forward + self.propose + self.waiting, 1e-9)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> TimeUse:
        return cls(**{field.name: stored[field.name] for field in fields(cls)})

    @classmethod
    def total(cls, uses: Iterable[TimeUse]) -> TimeUse | None:
        """The sum, with the most batches in flight; None of nothing."""
        known = list(uses)
        if not known:
            return None
        forward, propose, settle, waiting = (
            sum(getattr(use, name) for use in known) for name in ("forward", "propose", "settle", "waiting")
        )
        return cls(forward, propose, settle, waiting, max(use.batches_in_flight for use in known))


class Clock:
    """Adds up the time of one job. Threads may use it at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[Phase, float] = {}
        self.batches_in_flight = 1  # at the end of the job: memory may not suffice for more

    def add(self, phase: Phase, seconds: float) -> None:
        with self._lock:
            self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds

    @contextmanager
    def timed(self, phase: Phase) -> Iterator[None]:
        """Add the time of the block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(phase, time.perf_counter() - began)

    def read(self, seconds: float) -> TimeUse | None:
        """What a job of that many seconds spent them on; None for one whose phases nobody timed."""
        if not self._seconds:
            return None
        forward, propose, settle = (
            self._seconds.get(phase, 0.0) for phase in ("forward", "propose", "settle")
        )
        waiting = max(0.0, seconds - forward - propose)
        return TimeUse(forward, propose, settle, waiting, self.batches_in_flight)
