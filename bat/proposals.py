"""The first half of sampling, done where the logits are: a candidate for each row, and who needs a program.

Candidates are drawn from the model's distribution without replacement, in an order that the random
numbers alone decide, and the first one the rule accepts is taken. That has the distribution of a draw
from the rule's candidate set: in successive draws without replacement, the first member of any set C to
appear is token i of C with probability p_i / sum_C p_j, whatever is drawn before it. So one draw is
usually enough, the whole candidate set is never needed, and rules that share random numbers mostly agree
on their tokens, which makes comparisons between rules sharper.

A plain rule is finished here. A basis-aware rule is finished for the rows whose first candidate is at or
above the threshold; the others are pending, and ``bat.settling`` decides about them.

``propose`` below is the compiled implementation for logits in the host's memory; ``bat.drafts`` hands tensors
of other devices to the one in torch. Both return the same record, whose docstring says what each field holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat._wheel import draw_kept_rows, propose_flattened_rows, propose_rows
from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.rules import Rule, Summary, ThresholdRule, check_rule
from bat.temperature import Temperature, resolve_temperature
from bat.threads import run_in_threads, usable_threads
from bat.validation import ArrayInput, as_logit_rows, check_peaks, is_tensor


@dataclass(frozen=True, slots=True)
class Proposals:
    """What every implementation of ``propose`` returns: small arrays in the host's memory.

    ``pending`` are the rows of a basis-aware rule whose first candidate is less likely than the threshold,
    ascending; a plain rule has none. A row that is not pending is finished: ``tokens`` is its sample, and
    ``rejected_tokens`` what its plain rule rejected on the way.

    A row's fields depend on its logits, its uniforms and the rule alone. Its ``probs``, ``thresholds`` and
    its row of ``distributions`` come from one and the same float64 softmax: comparing a token's probability
    with the threshold must give one answer in both halves. Equal uniforms give equal tokens in every
    implementation, except where a number falls within rounding of the edge between two tokens.

    With a temperature (``bat.temperature``) candidates are drawn from ``flattened``. If it comes last, all of
    the above holds. If it comes first, ``thresholds`` belong to the flattened distribution, while ``probs``
    are the model's own as ever: the two are not to be compared, and no row is pending.
    """

    tokens: (
        IntArray  # [B] the token sampled; for a pending row its first candidate, drawn with uniforms[:, 0]
    )
    probs: FloatArray  # [B] the token's probability under the model
    thresholds: FloatArray  # [B] the rule's threshold (NaN for a rule without one)
    rejected_tokens: tuple[tuple[int, ...], ...]  # of each row, in order; empty for pending rows
    pending: IntArray  # [m] indices of rows
    distributions: FloatArray  # [m, v] C-contiguous, of the pending rows; v is the vocabulary when m is 0
    uniforms: FloatArray  # [m, max_tries + 1] of the pending rows
    flattened: FloatArray | None = None  # [m, v] what pending rows draw from; None: ``distributions``

    def __len__(self) -> int:
        return len(self.tokens)


def draws_needed(max_tries: int) -> int:
    """How many uniform numbers a row needs: one a try, and one for a draw that always ends it."""
    return max_tries + 1


def propose(
    logits: ArrayInput,
    rule: Rule,
    uniforms: npt.ArrayLike,
    *,
    max_tries: int = 10,
    temperature: float | Temperature | None = None,
    threads: int | None = None,
) -> Proposals:
    """Draw a candidate for each row of ``logits`` [B, v] and compare it with the rule's threshold.

    ``uniforms`` [B, max_tries + 1] in [0, 1) come from ``bat.uniforms``; ``bat.settle`` does the rest.
    ``temperature`` is a number, or a ``bat.Temperature`` to choose its order.
    """
    check_rule(rule)
    heat = resolve_temperature(temperature, rule)
    if is_tensor(logits) and logits.device.type != "cpu":  # type: ignore[union-attr]
        from bat.drafts import begin

        return begin(logits, rule, uniforms, max_tries=max_tries, temperature=heat, threads=threads).collect()
    threads = usable_threads(threads)
    values = as_logit_rows(logits)
    batch = len(values)
    numbers = check_uniforms(uniforms, batch, max_tries)
    probs, tokens = np.empty(values.shape), np.empty(batch, np.int64)
    peaks, entropy, maximum = np.empty((3, batch))
    made = (values, peaks, numbers, probs, entropy, maximum, tokens)
    weights = probs if heat is None else np.empty(values.shape)

    def run(counter: IntArray) -> None:
        if heat is None:
            propose_rows(*made, counter)
        else:
            propose_flattened_rows(*made, weights, heat.value, heat.is_first, counter)

    _deal(run, batch, threads)
    check_peaks(values, peaks)
    seen = weights if heat is not None and heat.is_first else probs
    summary = Summary(seen, entropy, maximum)
    taus = rule.thresholds(summary) if isinstance(rule, ThresholdRule) else np.full(batch, np.nan)
    counts, removed = np.zeros(batch, np.int64), np.empty(numbers.shape, np.int64)
    pending = np.empty(0, np.int64)
    rows = np.arange(batch)
    if rule.basis_aware:
        pending = np.flatnonzero(probs[rows, tokens] < taus)
    else:
        _draw_plain(summary, rule, taus, weights, numbers, tokens, counts, removed, threads)
    return Proposals(
        tokens=tokens,
        probs=probs[rows, tokens],
        thresholds=taus,
        rejected_tokens=tuple(tuple(removed[q, : counts[q]].tolist()) for q in range(batch)),
        pending=pending,
        distributions=probs[pending],
        uniforms=numbers[pending],
        flattened=None if heat is None else weights[pending],
    )


def _draw_plain(
    summary: Summary,
    rule: Rule,
    taus: FloatArray,
    weights: FloatArray,
    numbers: FloatArray,
    tokens: IntArray,
    counts: IntArray,
    removed: IntArray,
    threads: int,
) -> None:
    """Finish the rows of a plain rule whose first draw is not kept: membership is known."""
    if type(rule).keep is ThresholdRule.keep:
        keep = np.empty((len(tokens), 0), np.bool_)
        kept = summary.probs[np.arange(len(tokens)), tokens] >= taus
    else:  # the rule has its own idea of what to keep
        keep = rule.keep(summary)
        sole = np.count_nonzero(keep, axis=1) == 1  # greedy, or nothing else survives: no draw is needed
        tokens[sole] = keep[sole].argmax(axis=1)
        kept = keep[np.arange(len(tokens)), tokens]
    which = np.flatnonzero(~kept)
    _deal(
        lambda counter: draw_kept_rows(
            summary.probs, weights, taus, keep, numbers, which, counter, tokens, counts, removed
        ),
        which.size,
        threads,
    )


def _deal(run: Callable[[IntArray], None], count: int, threads: int) -> None:
    """Let threads run compiled code that takes numbers below ``count`` from a counter."""
    counter = np.zeros(1, np.int64)
    run_in_threads(lambda: run(counter), lambda: counter.fill(count), max(1, min(threads, count)))


def check_uniforms(uniforms: npt.ArrayLike, batch: int, max_tries: int) -> FloatArray:
    """The numbers that ``batch`` rows need, float64 [batch, max_tries + 1], or a clear error."""
    if isinstance(max_tries, bool) or not isinstance(max_tries, int) or max_tries < 1:
        raise InvalidInputError(
            f"max_tries must be an integer of at least 1; got {max_tries!r}. The paper uses 10."
        )
    numbers = np.asarray(uniforms, dtype=np.float64)
    needed = draws_needed(max_tries)
    if numbers.ndim != 2 or numbers.shape[0] != batch or numbers.shape[1] < needed:
        raise InvalidInputError(
            f"uniforms must have shape [{batch}, {needed}] or wider: a row for each row of logits, with "
            f"max_tries + 1 numbers; got {list(numbers.shape)}. Make them with bat.uniforms."
        )
    if not ((numbers >= 0.0) & (numbers < 1.0)).all():
        raise InvalidInputError("uniforms must lie in [0, 1). Make them with bat.uniforms.")
    return np.ascontiguousarray(numbers[:, :needed])
