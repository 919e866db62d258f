"""Ctrl-C once: finish the running jobs and stop. Twice: stop at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        self.requested = False

    def request(self) -> None:
        """Stop once the running jobs are finished. Any thread may call this."""
        self.requested = True

    @contextmanager
    def listening(self, on_first: Callable[[], None]) -> Iterator[Stop]:
        """Handle SIGINT and SIGTERM: the first calls `on_first`, the second raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield self  # only the main thread receives signals
            return

        def handle(number: int, frame: FrameType | None) -> None:
            if self.requested:
                raise KeyboardInterrupt
            self.requested = True
            # In a thread, because the main one may hold a lock that `on_first` needs.
            threading.Thread(target=on_first, daemon=True).start()

        previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
