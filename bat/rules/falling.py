"""Rules that reject more as their parameter falls: top-k, nucleus, top-h and top-n-sigma.

Their critical parameter is the largest parameter that still rejects the token, 0 when none does.

The threshold of the first three is the probability of the token at some rank, most likely first. For a plain
rule the inverse looks at the tokens strictly likelier than the token (p_j > p_i), because a threshold on a
tie keeps it; for a basis-aware rule at the tokens with p_j >= tau*, because a threshold equal to tau* already
rejects. Both directions read the same sorted sums, so for top-k and nucleus they agree exactly, at ties too.
For top-h and top-n-sigma, which multiply and divide, they may disagree within about 1e-12 of the boundary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import Scale, ThresholdRule
from bat.rules.facts import Facts
from bat.rules.summary import LARGEST_THRESHOLD, SMALLEST_NORMAL, Summary


@dataclass(frozen=True, slots=True)
class TopK(ThresholdRule):
    """Keep the k most likely tokens (Fan et al. 2018), and all that tie with the k-th.

    A k beyond the vocabulary keeps everything. transformers' TopKLogitsWarper keeps ties too.
    """

    parameter: float

    plain_name: ClassVar[str] = "top-k"
    limits: ClassVar[tuple[float, float]] = (0.0, math.inf)
    requirement: ClassVar[str] = "must be an integer of at least 1"
    quantity: ClassVar[str] = "count"
    example: ClassVar[float] = 40
    takes_tensors: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.WHOLE

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.largest(int(self.parameter)))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.rank(levels, ties_kept).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Nucleus(ThresholdRule):
    """Keep the most likely tokens up to the one where their mass reaches p (Holtzman et al. 2020).

    Tokens that tie with that one are kept, unlike in transformers' TopPLogitsWarper, which cuts a tie where
    sorting happens to. A p of one keeps exactly the tokens with positive probability.
    """

    parameter: float

    plain_name: ClassVar[str] = "nucleus"
    requirement: ClassVar[str] = "must lie in (0, 1]"
    quantity: ClassVar[str] = "mass"
    example: ClassVar[float] = 0.95
    takes_tensors: ClassVar[bool] = True

    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        return parameter if 0.0 < parameter <= 1.0 else None

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.last_reaching(self.parameter))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.mass(levels, ties_kept)


@dataclass(frozen=True, slots=True)
class TopH(ThresholdRule):
    """Keep the most likely tokens while their part of the entropy is at most alpha times the whole.

    Potraghloo et al. 2025, "Top-H decoding". A token's part is -p log p, as in the authors' code and
    in transformers' TopHLogitsWarper; the paper states the bound for the entropy of the truncated
    distribution. Both programs look at the 100 most likely tokens alone; here the whole vocabulary counts.
    The most likely token and those that tie with the last one are kept.
    """

    parameter: float

    plain_name: ClassVar[str] = "top-h"
    requirement: ClassVar[str] = "must lie in (0, 1]"
    quantity: ClassVar[str] = "share"
    example: ClassVar[float] = 0.4
    takes_tensors: ClassVar[bool] = True
    extra_facts: ClassVar[tuple[str, ...]] = ("entropy_share",)

    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        return parameter if 0.0 < parameter <= 1.0 else None

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.last_within_entropy(self.parameter))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.entropy_share(levels, ties_kept)


@dataclass(frozen=True, slots=True)
class TopNSigma(ThresholdRule):
    """Keep tokens whose logit is at least the largest minus n standard deviations of all logits.

    Tang et al. 2024, "Top-n-sigma". Logits differ from log p by a constant, so the threshold in
    probabilities is max p * exp(-n sigma) with sigma the standard deviation of log p. Dividing logits by a
    temperature divides both sides alike: what is kept does not depend on it. Tokens without probability (a
    logit of -inf, or 708 below the largest) are left out of sigma and never kept, as in llama.cpp. Sigma is
    that of the vocabulary as a population; ``torch.std``, which others use, is larger by 1/(2v) of it.
    """

    parameter: float

    plain_name: ClassVar[str] = "top-n-sigma"
    limits: ClassVar[tuple[float, float]] = (0.0, 1000.0)
    requirement: ClassVar[str] = "must lie in (0, 1000)"
    quantity: ClassVar[str] = "number of standard deviations"
    example: ClassVar[float] = 1.0
    takes_tensors: ClassVar[bool] = True
    extra_facts: ClassVar[tuple[str, ...]] = ("deviation",)

    @classmethod
    def default_parameters(cls) -> FloatArray:
        return np.linspace(0.05, 5.0, 100)

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        # Below one, however small n is: the threshold does not reach the largest probability.
        ratio = rows.xp.clip(rows.xp.exp(-self.parameter * rows.deviation), None, LARGEST_THRESHOLD)
        return rows.capped(rows.xp.clip(rows.maximum * ratio, SMALLEST_NORMAL, None))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.log(rows.maximum) - np.log(levels)  # of the logits
            critical = distance / rows.deviation
        critical = np.where(ties_kept, np.nextafter(critical, 0.0), critical)
        impossible = np.where(ties_kept, levels < SMALLEST_NORMAL, levels <= SMALLEST_NORMAL)
        return np.where(impossible, math.inf, np.where(distance <= 0.0, 0.0, critical))
