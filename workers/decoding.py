"""The device's half of generation: forward passes of one batch, and the proposals for its next tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from bat.arrays import FloatArray, IntArray
from bat.drafts import Draft, begin
from bat.lanes import lane_of
from bat.proposals import Proposals
from bat.rules import Rule
from workers.time_use import Clock

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Decoder(Protocol):
    """Rows of equal length on a device. The thread that runs the model calls these, and waits for neither."""

    def step(self, rule: Rule, uniforms: FloatArray, *, max_tries: int, threads: int | None) -> Draft:
        """Queue a forward pass over the tokens that are new, and proposals for the ones after them."""

    def advance(self, tokens: IntArray, staying: IntArray | None) -> None:
        """Append the tokens, one a row; only the rows `staying` (None: all) go on, in that order."""


class ModelDecoder:
    """The decoder of a real model, with its own keys and values."""

    def __init__(self, model: PreTrainedModel, token_ids: IntArray, steps: int, clock: Clock) -> None:
        from workers.kv_cache import make_cache  # imports transformers

        self.model, self.clock = model, clock
        self.lane = lane_of(model.device)
        self.inputs = self.lane.send(token_ids)  # [rows, length]
        self.cache = make_cache(model, token_ids.shape[1] + steps)

    @torch.inference_mode()
    def step(self, rule: Rule, uniforms: FloatArray, *, max_tries: int, threads: int | None) -> Draft:
        if _has_own_clock(self.model.device):
            return self._step_by_device_clock(rule, uniforms, max_tries, threads)
        with self.clock.timed("forward"):
            logits = self._forward()
        draft = begin(logits, rule, uniforms, max_tries=max_tries, threads=threads)
        return _HostTimed(draft, self.clock)

    def _step_by_device_clock(
        self, rule: Rule, uniforms: FloatArray, max_tries: int, threads: int | None
    ) -> Draft:
        marks: list[Any] = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(3)
        ]
        marks[0].record()
        logits = self._forward()
        marks[1].record()
        draft = begin(logits, rule, uniforms, max_tries=max_tries, threads=threads)
        marks[2].record()
        return _DeviceTimed(draft, self.clock, marks)

    def _forward(self) -> torch.Tensor:
        output = self.model(
            input_ids=self.inputs, past_key_values=self.cache, use_cache=True, logits_to_keep=1
        )
        logits: torch.Tensor = output.logits  # [rows, 1, v]
        return logits[:, -1]

    @torch.inference_mode()
    def advance(self, tokens: IntArray, staying: IntArray | None) -> None:
        if staying is not None:
            tokens = tokens[staying]
            self.cache.batch_select_indices(torch.from_numpy(staying))
        self.inputs = self.lane.send(tokens[:, None])


def _has_own_clock(device: torch.device) -> bool:
    return device.type == "cuda"


class _HostTimed:
    """A draft whose work is done, or waited for, when it is collected."""

    def __init__(self, draft: Draft, clock: Clock) -> None:
        self.draft, self.clock = draft, clock

    def collect(self) -> Proposals:
        with self.clock.timed("propose"):
            return self.draft.collect()


class _DeviceTimed:
    """A draft that marked on its device where the forward pass began and ended, and where it did."""

    def __init__(self, draft: Draft, clock: Clock, marks: list[Any]) -> None:
        self.draft, self.clock, self.marks = draft, clock, marks

    def collect(self) -> Proposals:
        proposals = self.draft.collect()
        began, forwarded, proposed = self.marks  # all reached: what was collected came after the last
        proposed.synchronize()
        self.clock.add("forward", began.elapsed_time(forwarded) / 1e3)
        self.clock.add("propose", forwarded.elapsed_time(proposed) / 1e3)
        return proposals
