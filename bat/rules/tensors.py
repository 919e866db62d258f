"""What rules ask of a batch of distributions, answered by torch on the device that the batch is on.

Nothing here waits for the device or reads a number back. Sums may be taken in another order than on the
host, so answers agree to rounding, about 1e-15 of the value.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import torch

from bat.rules.summary import LARGEST_THRESHOLD, Summary


class TensorSummary(Summary):
    """A ``Summary`` whose arrays are float64 tensors: a rule with ``takes_tensors`` cannot tell."""

    xp: ClassVar[ModuleType] = torch

    def __init__(self, probs: torch.Tensor, entropy: torch.Tensor) -> None:
        self.probs: Any = probs
        self._entropy = entropy  # computing the softmax gives it for next to nothing

    @cached_property
    def entropy(self) -> Any:
        return self._entropy

    @cached_property
    def maximum(self) -> Any:
        return self.probs.amax(dim=1)

    @cached_property
    def positives(self) -> Any:
        return (self.probs > 0.0).sum(dim=1)

    @cached_property
    def surprisals(self) -> Any:
        return -self.probs.log()

    @cached_property
    def descending(self) -> Any:
        return self.probs.sort(dim=1, descending=True).values

    @cached_property
    def running_sums(self) -> Any:
        return self.descending.cumsum(dim=1)

    @cached_property
    def deviation(self) -> Any:
        impossible, count = self.probs <= 0.0, self.positives.unsqueeze(1)
        surprisals = self.surprisals.masked_fill(impossible, 0.0)
        centred = (surprisals - surprisals.sum(dim=1, keepdim=True) / count).masked_fill(impossible, 0.0)
        return ((centred * centred).sum(dim=1) / self.positives).sqrt()

    @cached_property
    def collision(self) -> Any:
        return (self.probs * self.probs).sum(dim=1)

    @cached_property
    def running_entropies(self) -> Any:
        return torch.special.entr(self.descending).cumsum(dim=1)

    @cached_property
    def distances(self) -> Any:
        return (self.surprisals - self.entropy.reshape(-1, 1)).abs()

    @cached_property
    def nearest_first(self) -> Any:
        return self.distances.argsort(dim=1)

    @cached_property
    def nearest_running_sums(self) -> Any:
        return self.probs.gather(1, self.nearest_first).cumsum(dim=1)

    @cached_property
    def most_likely(self) -> Any:
        ids = torch.arange(self.probs.shape[1], device=self.probs.device)
        return ids == self.probs.argmax(dim=1, keepdim=True)

    def capped(self, thresholds: Any) -> Any:
        highest = self.maximum.clamp(max=LARGEST_THRESHOLD)
        return torch.minimum(
            self.constant(thresholds) if isinstance(thresholds, float) else thresholds, highest
        )

    def constant(self, value: float) -> Any:
        return torch.full_like(self.entropy, value)

    def largest(self, rank: int) -> Any:
        size = self.probs.shape[1]
        return self.probs.kthvalue(size + 1 - min(rank, size), dim=1).values

    def last_reaching(self, mass: float) -> Any:
        rank = self._first_reaching(self.running_sums, mass)
        return self.descending.gather(1, rank).squeeze(1)

    def last_within_entropy(self, share: float) -> Any:
        sums = self.running_entropies
        count = (sums <= share * sums.narrow(1, -1, 1)).sum(dim=1).clamp(min=1)
        last = torch.minimum(count, self.positives).clamp(min=1) - 1
        return self.descending.gather(1, last.unsqueeze(1)).squeeze(1)

    def farthest_reaching(self, mass: float) -> Any:
        rank = self._first_reaching(self.nearest_running_sums, mass)
        return self.distances.gather(1, self.nearest_first.gather(1, rank)).squeeze(1)

    def _first_reaching(self, running_sums: torch.Tensor, target: float) -> Any:
        """``first_reaching`` of ``bat.rules.summary``, [B, 1]."""
        last = (self.positives - 1).clamp(min=0).unsqueeze(1)
        if target >= 1.0:
            return last
        return torch.minimum((running_sums < target).sum(dim=1, keepdim=True), last)
