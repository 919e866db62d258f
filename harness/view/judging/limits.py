"""How often somebody may ask: a bucket of requests that refills with time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from http import HTTPStatus

from harness.view.problems import ViewError

_MOST_NAMES = 10_000


class Limits:
    """Buckets by name. A person who reads and answers never empties one; a script does."""

    def __init__(self, size: float, per_second: float) -> None:
        self._size, self._per_second = size, per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and since when
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Count a request; raises when there were too many."""
        now = time.monotonic()
        with self._lock:
            left, since = self._buckets.pop(name, (self._size, now))
            left = min(self._size, left + (now - since) * self._per_second)
            self._buckets[name] = (max(0.0, left - 1), now)
            while len(self._buckets) > _MOST_NAMES:
                self._buckets.popitem(last=False)
        if left < 1:
            raise ViewError(
                "too many requests in a short time. Nothing was lost. Wait a few seconds, then reload.",
                HTTPStatus.TOO_MANY_REQUESTS,
            )
