"""Ctrl-C once: claim nothing more, finish what runs. Twice: leave now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether somebody asked to stop, and how urgently."""

    def __init__(self) -> None:
        self.asked = False

    def request(self) -> None:
        """Stop once the running jobs are finished. Any thread may call this."""
        self.asked = True

    @contextmanager
    def listening(self, told: Callable[[], None]) -> Iterator[Stop]:
        """Listen to SIGINT and SIGTERM: the first calls `told`, the second raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield self  # only the main thread gets signals; somebody else listens
            return

        def handle(number: int, frame: FrameType | None) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True
            # In a thread: the signal may have come while this one holds a lock that telling needs.
            threading.Thread(target=told, daemon=True).start()

        before = {one: signal.signal(one, handle) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
