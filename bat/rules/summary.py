"""What rules ask of a batch of distributions, each answer computed once and only when asked.

``Summary`` answers from arrays in the host's memory. ``bat.rules.tensors`` has the same answers for tensors
on any device; a rule that speaks to either through these names alone states its formula once for both.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray, IntArray
from bat.errors import InvalidInputError

LARGEST_THRESHOLD = float(np.nextafter(1.0, 0.0))
SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)  # smaller numbers lose digits

# Beyond this mass the tokens that reach it are most of the vocabulary, and selecting them saves nothing.
_NEARLY_ALL = 1.0 - 1e-6


class Summary:
    """A batch of distributions [B, v] with the statistics that several rules share.

    Rules take plain arrays too; hand the same summary to several rules and the batch is sorted once. The
    array must not change while the summary lives.
    """

    def __init__(
        self, probs: FloatArray, entropy: FloatArray | None = None, maximum: FloatArray | None = None
    ) -> None:
        if not isinstance(probs, np.ndarray) or probs.dtype != np.float64 or probs.ndim != 2:
            described = f"{probs.dtype} {list(probs.shape)}" if isinstance(probs, np.ndarray) else type(probs)
            raise InvalidInputError(
                f"probs must be a float64 array [batch, vocabulary]; got {described}. "
                f"Make one with bat.validation.as_probabilities or softmax."
            )
        self.probs = probs
        if entropy is not None:  # known already from computing the softmax
            self.__dict__["entropy"] = entropy
        if maximum is not None:
            self.__dict__["maximum"] = maximum

    def __len__(self) -> int:
        return len(self.probs)

    # Where ``exp``, ``clip`` and other functions of the array standard are found, for formulas of rules.
    xp: ClassVar[ModuleType] = np

    @staticmethod
    def of(probs: FloatArray | Summary) -> Summary:
        return probs if isinstance(probs, Summary) else Summary(probs)

    @cached_property
    def maximum(self) -> FloatArray:  # [B]
        return np.asarray(self.probs.max(axis=1))

    @cached_property
    def positives(self) -> IntArray:  # [B]: how many tokens have any probability at all
        return np.asarray(np.count_nonzero(self.probs, axis=1))

    @cached_property
    def surprisals(self) -> FloatArray:  # [B, v]: -log p in nats, infinite where p underflowed to zero
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.probs))

    @cached_property
    def entropy(self) -> FloatArray:  # [B], nats
        return np.asarray(_entropy_terms(self.probs, self.surprisals).sum(axis=1))

    @cached_property
    def descending(self) -> FloatArray:  # [B, v]: probabilities, most likely first
        return np.ascontiguousarray(np.sort(self.probs, axis=1)[:, ::-1])

    @cached_property
    def running_sums(self) -> FloatArray:  # [B, v]: sums of ``descending``, never decreasing
        return np.asarray(np.cumsum(self.descending, axis=1))

    @cached_property
    def distances(self) -> FloatArray:  # [B, v]: from surprisal to entropy; infinite for probability zero
        return np.asarray(np.abs(self.surprisals - self.entropy[:, None]))

    @cached_property
    def nearest_first(self) -> npt.NDArray[np.intp]:  # [B, v]: tokens by distance
        return np.argsort(self.distances, axis=1)

    @cached_property
    def nearest_running_sums(self) -> FloatArray:  # [B, v]: sums of probabilities in that order
        return np.asarray(np.cumsum(np.take_along_axis(self.probs, self.nearest_first, axis=1), axis=1))

    @cached_property
    def deviation(
        self,
    ) -> FloatArray:  # [B]: standard deviation of log p over the tokens with any probability
        possible = self.probs > 0.0
        centred = np.where(possible, self.surprisals, 0.0)
        centred -= np.where(possible, (centred.sum(axis=1) / self.positives)[:, None], 0.0)
        return np.asarray(np.sqrt((centred * centred).sum(axis=1) / self.positives))

    @cached_property
    def collision(self) -> FloatArray:  # [B]: the probability that two draws are the same token
        return np.asarray((self.probs * self.probs).sum(axis=1))

    @cached_property
    def running_entropies(self) -> FloatArray:  # [B, v]: sums of -p log p along ``descending``
        return np.asarray(np.cumsum(_entropy_terms(self.descending), axis=1))

    def capped(self, thresholds: FloatArray | float) -> FloatArray:
        """Thresholds [B], or one for all, held below one and to the largest probability: that one is kept."""
        return np.minimum(thresholds, np.minimum(self.maximum, LARGEST_THRESHOLD))

    def constant(self, value: float) -> FloatArray:
        """The same number for each row, [B]."""
        return np.full(len(self.probs), value)

    def largest(self, rank: int) -> FloatArray:
        """The ``rank``-th largest probability, from 1 on, [B]; the smallest where there are fewer tokens."""
        from bat.rules._select import largest  # compiled: names and parameters are checked without it

        reached = min(rank, self.probs.shape[1])
        return np.array([largest(row, reached) for row in self.probs], dtype=np.float64)

    def last_reaching(self, mass: float) -> FloatArray:
        """The probability of the last token that is needed, most likely first, to reach the mass, [B]."""
        from bat.rules._select import probability_reaching

        # Rounding can leave every sum short of a target near one; then the sums over all tokens decide.
        if mass < _NEARLY_ALL:
            quick = np.array([probability_reaching(row, mass) for row in self.probs], dtype=np.float64)
            if (quick >= 0.0).all():
                return quick
        rank = first_reaching(self.running_sums, mass, self.positives)
        return np.asarray(np.take_along_axis(self.descending, rank[:, None], axis=1)[:, 0])

    def farthest_reaching(self, mass: float) -> FloatArray:
        """The distance of the last token that is needed, nearest to the entropy first, [B]."""
        rank = first_reaching(self.nearest_running_sums, mass, self.positives)
        last = np.take_along_axis(self.nearest_first, rank[:, None], axis=1)
        return np.asarray(np.take_along_axis(self.distances, last, axis=1)[:, 0])

    def last_within_entropy(self, share: float) -> FloatArray:
        """The probability of the last token, most likely first, up to which the sum of -p log p stays within
        the share of the whole, [B]; the first is within any."""
        sums = self.running_entropies
        count = np.count_nonzero(sums <= share * sums[:, -1:], axis=1)
        last = np.minimum(np.maximum(count, 1), self.positives) - 1
        return np.asarray(np.take_along_axis(self.descending, last[:, None], axis=1)[:, 0])

    @cached_property
    def most_likely(self) -> BoolArray:  # [B, v]: one token a row; among equals, the one with the lowest id
        return np.asarray(np.arange(self.probs.shape[1]) == self.probs.argmax(axis=1)[:, None])

    # The four questions of ``facts.Facts``, which the inverses of rules ask.

    def rank(self, levels: FloatArray, ties_kept: BoolArray) -> IntArray:
        """How many tokens have a probability that, taken as the threshold, rejects the level, [B]."""
        above = np.count_nonzero(self.probs > levels[:, None], axis=1)
        if not ties_kept.all():
            above = np.where(ties_kept, above, np.count_nonzero(self.probs >= levels[:, None], axis=1))
        return np.where(levels >= 1.0, 0, above)  # a critical threshold of one: no threshold rejects

    def mass(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The largest mass those tokens reach without a further one, [B]; what nucleus is inverted with."""
        return largest_target_before(self.running_sums, self.rank(levels, ties_kept), self.positives)

    def mass_nearer(self, levels: FloatArray) -> FloatArray:
        """The mass of the tokens whose surprisal is nearer the entropy than the level's, [B]."""
        with np.errstate(divide="ignore"):
            own = np.abs(-np.log(levels) - self.entropy)  # [B]
        # The logarithm of one number may differ in the last bit between an array of one shape and another,
        # so tokens of equal probability are told apart by the probability itself.
        nearer = (self.distances < own[:, None]) & (self.probs != levels[:, None])
        count = np.count_nonzero(nearer, axis=1)
        return largest_target_before(self.nearest_running_sums, count, self.positives)

    def entropy_share(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The largest share of the entropy that the tokens of ``rank`` and one more exceed, [B]."""
        rank, sums = self.rank(levels, ties_kept), self.running_entropies
        through = np.take_along_axis(sums, np.minimum(rank, sums.shape[1] - 1)[:, None], axis=1)[:, 0]
        with np.errstate(invalid="ignore"):  # a certain token has no entropy, and nothing after it
            share = np.nextafter(through / sums[:, -1], 0.0)
        share = np.where(rank >= self.positives, 1.0, share)
        return np.where(rank == 0, 0.0, share)


def _entropy_terms(probs: FloatArray, surprisals: FloatArray | None = None) -> FloatArray:
    """-p log p of every token, zero where p is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = probs * (-np.log(probs) if surprisals is None else surprisals)  # 0 * inf where p is zero
    return np.nan_to_num(terms, copy=False, nan=0.0)


# Two rules, nucleus and typical, rank tokens and keep the shortest prefix whose mass reaches a target. The
# pair below answers both ways from the same running sums, so that rounding cannot make them disagree.


def first_reaching(running_sums: FloatArray, target: float, positives: IntArray) -> IntArray:
    """The rank, from 0, of the first token where the running sum reaches ``target``, [B].

    It is the last token of positive probability when rounding leaves every sum short, and always so for
    a target of one, which sums of rounded numbers may otherwise reach too early.
    """
    last = positives - 1
    if target >= 1.0:
        return last
    return np.asarray(np.minimum(np.count_nonzero(running_sums < target, axis=1), last))


def largest_target_before(running_sums: FloatArray, rank: IntArray, positives: IntArray) -> FloatArray:
    """The largest target that ``first_reaching`` meets before the given rank, [B]; 0 when there is none."""
    before = np.take_along_axis(running_sums, np.maximum(rank - 1, 0)[:, None], axis=1)[:, 0]
    # A target of one is met only by the last positive token, whatever the sums before it round to.
    mass = np.minimum(before, np.nextafter(1.0, 0.0))
    mass = np.where(rank >= positives, 1.0, mass)
    return np.where(rank == 0, 0.0, mass)


def check_levels(levels: npt.ArrayLike, batch: int, name: str) -> FloatArray:
    """Per-row probabilities or critical thresholds, float64 [B] in [0, 1]."""
    values = np.asarray(levels, dtype=np.float64)
    if values.shape != (batch,):
        raise InvalidInputError(
            f"{name} must have shape [{batch}], one number for each row; got {list(values.shape)}."
        )
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidInputError(f"{name} must lie in [0, 1]; got {values[row]:g} in row {row}.")
    return values
