"""Proposals on their way: ``begin`` queues the work where the logits are, ``collect`` waits for the answer.

    arrays and CPU tensors                bat.proposals, compiled, when collected
    tensors of other devices              bat.tensor_proposals, torch, on the device
    the same, where the device lacks      bat.proposals, after copying the logits to the host
    float64 or the rule takes arrays

``begin`` belongs to the thread that runs the model, ``collect`` to any other: it waits without holding the
interpreter's lock, while the next forward pass of another batch is queued.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy.typing as npt

from bat.proposals import Proposals, propose
from bat.rules import Rule
from bat.temperature import Temperature, resolve_temperature
from bat.validation import ArrayInput, is_tensor

if TYPE_CHECKING:
    import torch

    from bat.lanes import Arrival


class Draft(Protocol):
    """Proposals that may not have been computed yet."""

    def collect(self) -> Proposals: ...


def begin(
    logits: ArrayInput,
    rule: Rule,
    uniforms: npt.ArrayLike,
    *,
    max_tries: int = 10,
    temperature: float | Temperature | None = None,
    threads: int | None = None,
) -> Draft:
    """Begin what ``bat.propose`` does, without waiting for the device of the logits."""
    if not is_tensor(logits) or logits.device.type == "cpu":  # type: ignore[union-attr]
        return _HostDraft(logits, None, rule, uniforms, max_tries, temperature, threads)
    from bat.lanes import has_float64, lane_of
    from bat.tensor_proposals import TensorDraft

    tensor: torch.Tensor = logits  # type: ignore[assignment]
    lane = lane_of(tensor.device)
    if has_float64(tensor.device) and rule.takes_tensors:
        return TensorDraft(tensor, rule, uniforms, max_tries, lane, resolve_temperature(temperature, rule))
    reason = f"the rule {rule.name} takes arrays" if not rule.takes_tensors else "it has no float64"
    _say_once(f"Softmax and draws are done on the host for device {tensor.device}: {reason}.")
    return _HostDraft(None, lane.fetch(tensor.detach()), rule, uniforms, max_tries, temperature, threads)


class _HostDraft:
    """The compiled implementation, run when collected."""

    def __init__(
        self,
        logits: ArrayInput | None,
        arrival: Arrival | None,
        rule: Rule,
        uniforms: npt.ArrayLike,
        max_tries: int,
        temperature: float | Temperature | None,
        threads: int | None,
    ) -> None:
        self.logits, self.arrival = logits, arrival
        self.rule, self.uniforms, self.max_tries, self.threads = rule, uniforms, max_tries, threads
        self.temperature = temperature

    def collect(self) -> Proposals:
        logits = self.logits if self.arrival is None else self.arrival.wait()
        assert logits is not None
        return propose(
            logits,
            self.rule,
            self.uniforms,
            max_tries=self.max_tries,
            temperature=self.temperature,
            threads=self.threads,
        )


@cache
def _say_once(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=3)
