"""``propose`` in torch, for logits on any device that has float64.

Softmax, entropy, thresholds and draws are queued on the device, and nothing waits for them. What crosses to
the host, and nothing else:

    1.  one small float64 array, [B, 2 + 3 draws] or so: candidates, their probabilities, thresholds
    2.  the distributions of the rows that the host goes on with, once (1) has told which these are

Rows the host goes on with are those of a basis-aware rule whose candidate is below the threshold, and rows of
a plain rule that has rejected ``DRAWS`` candidates. More draws on the device would cost every step their
kernels, some twenty each, for the sake of about one row in a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bat._softmax import LOWEST
from bat._tensor_wheel import TensorWheel
from bat._wheel import draw_kept
from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.lanes import Lane
from bat.proposals import Proposals, check_uniforms
from bat.rules import Rule, Summary, ThresholdRule
from bat.rules.tensors import TensorSummary
from bat.temperature import Temperature
from bat.validation import softmax

DRAWS = 3  # of a plain rule, on the device


class TensorDraft:
    """A ``Draft`` whose kernels are queued when it is made."""

    def __init__(
        self,
        logits: torch.Tensor,
        rule: Rule,
        uniforms: npt.ArrayLike,
        max_tries: int,
        lane: Lane,
        temperature: Temperature | None = None,
    ) -> None:
        if logits.ndim != 2 or logits.shape[1] == 0 or not logits.is_floating_point():
            raise InvalidInputError(
                "logits must be floating-point numbers of shape [batch, vocabulary]; got "
                f"{logits.dtype} {list(logits.shape)}."
            )
        self.logits, self.rule, self.lane, self.temperature = logits.detach(), rule, lane, temperature
        self.numbers = check_uniforms(uniforms, len(logits), max_tries)
        self.draws = 1 if rule.basis_aware else min(DRAWS, max_tries)
        with torch.inference_mode():
            columns = self._queue()
            self.small = lane.fetch(torch.cat([column.double() for column in columns], dim=1))

    def _queue(self) -> list[torch.Tensor]:
        """Queue everything; the columns of the small array, [B, n] each."""
        summary, peaks = self._flatten()
        thresholds: Any
        if isinstance(self.rule, ThresholdRule):
            thresholds = self.rule.thresholds(summary)
        else:
            thresholds = summary.constant(np.nan)
        wheel = TensorWheel(self.weights)
        numbers = self.lane.send(self.numbers[:, : self.draws])
        drawn = [wheel.draw(numbers.narrow(1, 0, 1))]
        for number in range(1, self.draws):
            wheel.remove(drawn[-1])
            drawn.append(wheel.draw(numbers.narrow(1, number, 1)))
        tokens = torch.cat(drawn, dim=1)
        columns = [peaks, thresholds.unsqueeze(1), tokens, self.probs.gather(1, tokens)]
        if self._rule_sees_flattened:
            columns += [self.weights.gather(1, tokens)]
        if not self._by_threshold:
            keep: torch.Tensor = self.rule.keep(summary)  # type: ignore[assignment]
            only = keep.to(torch.uint8).argmax(dim=1, keepdim=True)
            chosen = [keep.gather(1, tokens), keep.sum(dim=1, keepdim=True), only]
            columns += [*chosen, self.probs.gather(1, only)]
        return columns

    def _flatten(self) -> tuple[TensorSummary, torch.Tensor]:
        """Queue the model's distributions and, with a temperature, what is drawn from instead; returns what
        the rule sees, and the largest logits."""
        wide = self.logits.double()
        peaks = wide.amax(dim=1, keepdim=True)  # NaN wins over everything
        shifted = wide - peaks
        if self.temperature is None:
            self.probs, entropy = _softmax(shifted)  # [B, v]
            self.weights = self.probs
            return TensorSummary(self.probs, entropy), peaks
        flat = shifted / self.temperature.value
        if self.temperature.is_first:
            self.probs, (self.weights, entropy) = _probabilities(shifted)[0], _softmax(flat)
            return TensorSummary(self.weights, entropy), peaks
        self.probs, entropy = _softmax(shifted)
        self.weights = _probabilities(flat)[0].masked_fill(self.probs <= 0.0, 0.0)
        return TensorSummary(self.probs, entropy), peaks

    @property
    def _rule_sees_flattened(self) -> bool:
        return self.temperature is not None and self.temperature.is_first

    @property
    def _by_threshold(self) -> bool:
        """Whether the threshold alone says what is kept; else the rule has its own idea of it."""
        return type(self.rule).keep is ThresholdRule.keep

    def collect(self) -> Proposals:
        """Wait for the small array, and for the distributions of the rows that it leaves open."""
        small = self.small.wait().numpy()
        finite, thresholds = np.isfinite(small[:, 0]), np.ascontiguousarray(small[:, 1])
        if not finite.all():
            softmax(self.lane.fetch(self.logits).wait())  # raises for the first offending entry
        parts = 3 + self._rule_sees_flattened
        tokens, probs, *kept = np.split(small[:, 2:], np.arange(1, parts + 1) * self.draws, axis=1)
        seen = kept.pop(0) if self._rule_sees_flattened else probs
        candidates = tokens.astype(np.int64)  # [B, draws]
        # A token that has no probability is what an exhausted row draws.
        accepted = (seen > 0.0) & (seen >= thresholds[:, None] if self._by_threshold else kept[0] > 0.0)
        first = accepted.argmax(axis=1)  # where there is one
        rows = np.arange(len(small))
        chosen, own = candidates[rows, first], probs[rows, first]
        rejected = [tuple(row[:count].tolist()) for row, count in zip(candidates, first, strict=True)]
        open_rows = ~accepted.any(axis=1)
        if not self._by_threshold:  # one token remains: no draw is needed
            count, only, only_probs = kept[1].T
            single = count == 1
            chosen, own = np.where(single, only.astype(np.int64), chosen), np.where(single, only_probs, own)
            rejected = [() if alone else row for alone, row in zip(single, rejected, strict=True)]
            open_rows &= ~single
        pending = np.flatnonzero(open_rows)
        distributions = self._fetch(self.probs, pending)
        flattened = None if self.temperature is None else self._fetch(self.weights, pending)
        if not self.rule.basis_aware:
            self._finish(pending, distributions, flattened, thresholds, chosen, own, rejected)
            pending, distributions = pending[:0], distributions[:0]
            flattened = None if flattened is None else flattened[:0]
        return Proposals(
            tokens=chosen,
            probs=own,
            thresholds=thresholds,
            rejected_tokens=tuple(rejected),
            pending=pending,
            distributions=distributions,
            uniforms=self.numbers[pending],
            flattened=flattened,
        )

    def _fetch(self, tensor: torch.Tensor, rows: IntArray) -> FloatArray:
        if rows.size == 0:
            return np.empty((0, tensor.shape[1]))
        return self.lane.fetch_rows(tensor, rows).numpy()

    def _finish(
        self,
        rows: IntArray,
        distributions: FloatArray,
        flattened: FloatArray | None,
        thresholds: FloatArray,
        chosen: IntArray,
        own: FloatArray,
        rejected: list[tuple[int, ...]],
    ) -> None:
        """Do all draws of these rows on the host, with the same numbers."""
        weights = distributions if flattened is None else flattened
        seen = weights if self._rule_sees_flattened else distributions
        keeps = np.empty((len(rows), 0), np.bool_) if self._by_threshold else self.rule.keep(Summary(seen))
        removed = np.empty(self.numbers.shape[1], np.int64)
        for place, row in enumerate(rows.tolist()):
            token, count = draw_kept(
                seen[place], weights[place], thresholds[row], keeps[place], self.numbers[row], removed
            )
            chosen[row], own[row] = token, distributions[place, token]
            rejected[row] = tuple(removed[:count].tolist())


def _softmax(shifted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The steps of ``bat._softmax``: distributions [B, v] and entropies [B]. The largest of a row is zero."""
    probs, weights, totals, shifted = _probabilities(shifted)
    moments = (weights * shifted).sum(dim=1, keepdim=True)
    return probs, (totals.log() - moments / totals).clamp(min=0.0).squeeze(1)


def _probabilities(shifted: torch.Tensor) -> tuple[torch.Tensor, ...]:
    shifted = shifted.clamp(min=LOWEST)
    weights = shifted.exp().masked_fill(shifted <= LOWEST, 0.0)
    totals = weights.sum(dim=1, keepdim=True)
    return weights * (1.0 / totals), weights, totals, shifted
