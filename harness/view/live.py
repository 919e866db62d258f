"""Pages that change while they are open, by server-sent events.

All visitors of one subject, such as a run, share one channel. While somebody watches, the channel looks at
the database again and again, and each visitor is sent the parts of the page that changed. A look that takes
long is repeated less often, so that watching takes at most a fiftieth of one core, however many watch.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from bat.errors import BatError
from harness.view.problems import sentence_of

# Parts of a page by the id of their element, as HTML.
Parts = Mapping[str, str]

_LEAST_PAUSE_SECONDS = 1.0
_PAUSE_FOR_EACH_SECOND = 49.0
# A sign of life, so that a connection that broke is noticed.
_SILENCE_SECONDS = 15.0

PROBLEM = "problem"  # the part that shows why there is no news


class _Channel:
    def __init__(self, look: Callable[[], Parts]) -> None:
        self._look = look
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._is_over = False
        self.parts: Parts = {}
        self.watchers = 0

    async def watch(self) -> AsyncIterator[Parts]:
        """What differs from what this watcher has seen; nothing, now and then, as a sign of life."""
        seen: dict[str, str] = {}
        self.watchers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look_again_and_again())
        try:
            while not self._is_over:
                changed = {name: part for name, part in self.parts.items() if seen.get(name) != part}
                if changed:
                    seen |= changed
                    yield changed
                    continue
                try:
                    async with self._news:
                        await asyncio.wait_for(self._news.wait(), _SILENCE_SECONDS)
                except TimeoutError:
                    yield {}
        finally:
            self.watchers -= 1

    async def end(self) -> None:
        """Let all watchers go."""
        self._is_over = True
        async with self._news:
            self._news.notify_all()

    async def _look_again_and_again(self) -> None:
        try:
            while self.watchers:
                began = time.monotonic()
                try:
                    parts = {**await run_in_threadpool(self._look), PROBLEM: ""}
                except BatError as error:
                    parts = {PROBLEM: sentence_of(error)}
                if parts != self.parts:
                    async with self._news:
                        self.parts = parts
                        self._news.notify_all()
                took = time.monotonic() - began
                await asyncio.sleep(max(_LEAST_PAUSE_SECONDS, _PAUSE_FOR_EACH_SECOND * took))
        finally:
            self._task = None


class Live:
    """The channels of a server."""

    def __init__(self) -> None:
        self._channels: dict[Hashable, _Channel] = {}

    def response(self, subject: Hashable, look: Callable[[], Parts]) -> StreamingResponse:
        """A stream of the parts of a page that changed; `look` returns all of them."""
        return StreamingResponse(self._events(subject, look), media_type="text/event-stream")

    async def end(self) -> None:
        """End all streams, which would not end by themselves when the server does."""
        for channel in list(self._channels.values()):
            await channel.end()

    async def _events(self, subject: Hashable, look: Callable[[], Parts]) -> AsyncIterator[str]:
        channel = self._channels.setdefault(subject, _Channel(look))
        try:
            async for changed in channel.watch():
                yield f"data: {json.dumps(changed)}\n\n" if changed else ": still here\n\n"
        finally:
            if not channel.watchers and self._channels.get(subject) is channel:
                del self._channels[subject]


def live_of(request: Request) -> Live:
    """The channels of the server that is asked."""
    live: Live = request.app.state.live
    return live
