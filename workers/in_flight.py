"""A batch of texts on its way, and how several are kept in flight.

A step of a batch has two halves: `launch` queues a forward pass and proposals on the device, `land` settles
what was proposed on the host. While the device runs the forward pass of one batch, host threads land another.
Batches share nothing, so the order in which they take turns changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bat.arrays import IntArray
from bat.drafts import Draft
from bat.proposals import draws_needed
from bat.random import Key, key_words, uniforms
from bat.settling import settle
from workers.decoding import Decoder
from workers.time_use import Clock
from workers.trace_record import TraceRecord

if TYPE_CHECKING:
    from bat.basis import Basis
    from workers.generation import GenerationSettings

OpenDecoder = Callable[[], Decoder]


class Batch:
    """Rows of equal length that are continued together. A row that has ended leaves."""

    def __init__(
        self,
        keys: Sequence[Key],
        steps: int,
        open_decoder: OpenDecoder,
        *,
        settings: GenerationSettings,
        basis: Basis,
        end_tokens: Sequence[int],
        threads: int | None,
        clock: Clock,
    ) -> None:
        self.settings, self.basis, self.threads, self.clock = settings, basis, threads, clock
        self.steps, self.step = steps, 0
        self.record = TraceRecord(len(keys), steps)
        self.ended = np.zeros(len(keys), np.bool_)  # by an end token
        self._words, self._ends = key_words(keys), np.array(end_tokens, dtype=np.int64)
        self._active = np.arange(len(keys))  # which row of the record each row of the decoder is
        self._open_decoder = open_decoder
        self._decoder: Decoder | None = (
            None  # it has the keys and values, so only while the batch is in flight
        )
        self._next: tuple[IntArray, IntArray | None] | None = None  # what the decoder advances by

    @property
    def finished(self) -> bool:
        return self._active.size == 0 or self.step == self.steps

    def launch(self) -> Draft:
        """Queue the next step on the device."""
        if self._decoder is None:
            self._decoder = self._open_decoder()
        if self._next is not None:
            self._decoder.advance(*self._next)
        settings = self.settings
        numbers = uniforms(self._words[self._active], self.step, draws_needed(settings.max_tries))
        return self._decoder.step(
            settings.rule,
            numbers,
            max_tries=settings.max_tries,
            temperature=settings.temperature,
            threads=self.threads,
        )

    def land(self, draft: Draft) -> int:
        """Choose the tokens of the step; return how many there are."""
        proposals = draft.collect()
        settings = self.settings
        with self.clock.timed("settle"):
            samples = settle(
                self.basis,
                proposals,
                fallback=settings.fallback,
                solver=settings.solver,
                threads=self.threads,
            )
        made = len(self._active)
        self.record.add(self._active, self.step, samples)
        self.step += 1
        ended = np.isin(samples.tokens, self._ends)
        self.ended[self._active[ended]] = True
        staying = close_gaps(~ended) if ended.any() else None
        self._next = samples.tokens, staying
        if staying is not None:
            self._active = self._active[staying]
        if self.finished:
            self._decoder = None
        return made


class Landing(NamedTuple):
    """A step that is done."""

    batch: Batch
    made: int  # tokens
    is_last: bool  # of its batch, which other threads no longer change


def fly(batches: Iterable[Batch], in_flight: int) -> Iterator[Landing]:
    """Advance batches to their ends, `in_flight` at a time; yields every step."""
    if in_flight == 1:
        for batch in batches:
            while not batch.finished:
                yield Landing(batch, batch.land(batch.launch()), batch.finished)
        return
    waiting = iter(batches)
    flying: dict[Future[int], Batch] = {}  # in the order of their launches
    with ThreadPoolExecutor(in_flight, thread_name_prefix="settle") as hosts:

        def launch(batch: Batch) -> None:
            flying[hosts.submit(batch.land, batch.launch())] = batch

        while True:
            while len(flying) < in_flight and (new := next(waiting, None)) is not None:
                launch(new)
            if not flying:
                return
            landed, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in [future for future in flying if future in landed]:
                batch, made = flying.pop(future), future.result()
                is_last = batch.finished  # asked now: once launched again, another thread changes the batch
                if not is_last:
                    launch(batch)  # before anything else: the device may have nothing to do
                yield Landing(batch, made, is_last)


def close_gaps(staying: npt.NDArray[np.bool_]) -> IntArray:
    """The rows that stay, those from the end moved into the gaps: the cache then copies only these."""
    rows = np.arange(len(staying))
    count = int(staying.sum())
    kept = rows[:count].copy()
    kept[~staying[:count]] = rows[count:][staying[count:]]
    return kept
