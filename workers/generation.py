"""Text from prefixes: batches of rows, one forward pass a step, `bat` choosing the tokens.

Prefixes of equal length need no padding, so a shard is grouped by length and each group cut into batches in
its order. Batches depend on the shard and the settings alone, and random numbers on a row's own address, so a
shard run again gives the same bits, on the same hardware and library versions with the same number of torch
threads.

    decoding     the device's half of a step: forward pass and proposals
    in_flight    a batch on its way, and several of them at a time
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch

from bat.arrays import IntArray
from bat.random import Key
from workers.decoding import Decoder, ModelDecoder
from workers.devices import check_batches_in_flight, free_memory
from workers.encoding import decode_continuation
from workers.generation_record import Generation as Generation
from workers.generation_record import GenerationSettings as GenerationSettings
from workers.generation_record import StopReason as StopReason
from workers.in_flight import Batch, fly
from workers.models import LanguageModel
from workers.prompts import Opening, as_openings, check_openings
from workers.time_use import Clock

# Makes the decoder of a batch: from its token ids [rows, length] and the number of steps.
MakeDecoder = Callable[[IntArray, int], Decoder]


def generate(
    language_model: LanguageModel,
    prefixes: Sequence[Opening | str],
    settings: GenerationSettings,
    *,
    threads: int | None = None,
    batches_in_flight: int | None = None,
    progress: Callable[[int], None] | None = None,
    clock: Clock | None = None,
    make_decoder: MakeDecoder | None = None,
) -> list[Generation]:
    """Continue every prefix, in the order given. A string is a prompt, named by the hash of its text.

    `threads` are for solving programs. `batches_in_flight` are advanced side by side (default: 1 on a CPU, 2
    elsewhere), each with its own keys and values; when memory does not suffice, fewer are. Neither changes
    anything but speed. `progress` is called after every step with the number of tokens made so far, `clock`
    adds up what the time is spent on, and `make_decoder` replaces the model itself.
    """
    prefixes = as_openings(language_model.tokenizer, prefixes)
    check_openings(language_model.info, prefixes)
    in_flight = check_batches_in_flight(batches_in_flight, language_model.info.device)
    shard = _Shard(language_model, prefixes, settings, threads, clock or Clock(), make_decoder)
    while not shard.run(in_flight, progress):
        in_flight -= 1
        free_memory(language_model.info.device)
        sentence = f"Memory ran out with {in_flight + 1} batches in flight; continuing with {in_flight}."
        warnings.warn(sentence, RuntimeWarning, stacklevel=2)
    return [shard.generations[index] for index in range(len(prefixes))]


class _Shard:
    """Prefixes that are continued, and those of them that have been."""

    def __init__(
        self,
        language_model: LanguageModel,
        prefixes: Sequence[Opening],
        settings: GenerationSettings,
        threads: int | None,
        clock: Clock,
        make_decoder: MakeDecoder | None,
    ) -> None:
        self.source, self.prefixes, self.settings = language_model, prefixes, settings
        self.threads, self.clock = threads, clock
        self.make_decoder = make_decoder or (
            lambda ids, steps: ModelDecoder(language_model.model, ids, steps, clock)
        )
        self.basis = language_model.basis(settings.constraints if settings.rule.basis_aware else 0)
        self.generations: dict[int, Generation] = {}  # by index of the prefix

    def run(self, in_flight: int, progress: Callable[[int], None] | None) -> bool:
        """Continue what has not been. False if memory did not suffice for more than one batch at a time.

        Batches that had not come to their ends are then lost, and begin again.
        """
        self.clock.batches_in_flight = in_flight
        made = sum(len(generation.trace) for generation in self.generations.values())
        lengths = [len(prefix.token_ids) for prefix in self.prefixes]
        waiting = [
            indices
            for indices in batches(lengths, self.settings.batch_size)
            if indices[0] not in self.generations
        ]
        indices_of: dict[Batch, list[int]] = {}
        try:
            for landing in fly(self._batches(waiting, indices_of), in_flight):
                made += landing.made
                if progress is not None:
                    progress(made)
                if landing.is_last:
                    self._keep(landing.batch, indices_of.pop(landing.batch))
        except torch.OutOfMemoryError:
            if in_flight == 1:
                raise
            return False
        return True

    def _batches(self, waiting: list[list[int]], indices_of: dict[Batch, list[int]]) -> Iterator[Batch]:
        """Batches, each made when there is room for it in flight."""
        settings, info = self.settings, self.source.info
        for indices in waiting:
            ids = np.array([self.prefixes[index].token_ids for index in indices], dtype=np.int64)
            steps = min(settings.max_tokens, info.context_length - ids.shape[1])
            batch = Batch(
                [self._key(index) for index in indices],
                steps,
                partial(self.make_decoder, ids, steps),
                settings=settings,
                basis=self.basis,
                end_tokens=info.end_tokens,
                threads=self.threads,
                clock=self.clock,
            )
            indices_of[batch] = indices
            yield batch

    def _key(self, index: int) -> Key:
        settings = self.settings
        return Key(settings.seed, settings.run, self.prefixes[index].id, settings.sample)

    def _keep(self, batch: Batch, indices: list[int]) -> None:
        """Turn a batch that has come to its end into texts."""
        for row, index in enumerate(indices):
            prefix, trace = self.prefixes[index], batch.record.trace(row)
            full = len(prefix.token_ids) + self.settings.max_tokens > self.source.info.context_length
            at_length = StopReason.CONTEXT if full else StopReason.LENGTH
            self.generations[index] = Generation(
                prefix_id=prefix.id,
                key=self._key(index),
                text=decode_continuation(self.source.tokenizer, prefix.token_ids, trace.token_ids.tolist()),
                stop_reason=StopReason.END if batch.ended[row] else at_length,
                trace=trace,
                solver_seconds=batch.record.solver_seconds(row),
            )


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices of equal lengths, `batch_size` at most together, lengths in order of first appearance."""
    by_length: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        by_length.setdefault(length, []).append(index)
    for indices in by_length.values():
        for start in range(0, len(indices), batch_size):
            yield indices[start : start + batch_size]
