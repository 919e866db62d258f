"""What all tokens of one distribution share: its mean, its heavy tokens and its whitening, compiled."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from bat._compiling import njit
from bat.arrays import FloatArray, IntArray
from bat.solvers import _blas, _sweep


class Context(NamedTuple):
    """A distribution, prepared for questions about any of its tokens."""

    rows: FloatArray  # [r, v]
    probs: FloatArray  # [v]
    mean: FloatArray  # [r] b
    heavy: IntArray  # [n]
    heavy_columns: FloatArray  # [r, n]
    lightest: float  # the least probability among the heavy tokens
    spread: FloatArray  # [c, c], lower triangular
    mass: float  # of all its tokens together
    is_core: bool  # whether the heavy tokens are all its tokens


class Prepared:
    """A distribution that programs share: each kind of context is made when first asked for."""

    def __init__(self, rows: FloatArray, probs: FloatArray, wanted: int) -> None:
        self.rows, self.probs, self.wanted = rows, probs, wanted

    @cached_property
    def whole(self) -> Context:
        context: Context = prepare(self.rows, self.probs, self.wanted)
        return context

    @cached_property
    def core(self) -> Context:
        context: Context = prepare_core(self.rows, self.probs, self.wanted)
        return context


@njit(nogil=True, cache=True)
def prepare(rows, probs, wanted):  # type: ignore[no-untyped-def]
    """The context of ``probs`` [v], with about ``wanted`` heavy tokens."""
    heavy, columns, lightest = _heavy_tokens(rows, probs, wanted)
    mean = _sweep.weighted_column(rows, probs)
    spread = _spread(columns, probs[heavy], mean)
    return Context(rows, probs, mean, heavy, columns, lightest, spread, 1.0, False)


@njit(nogil=True, cache=True)
def prepare_core(rows, probs, wanted):  # type: ignore[no-untyped-def]
    """The core of the same context: its heavy tokens as if there were no others; the context itself where
    there are none. ``_solve`` says what a core is good for."""
    heavy, columns, lightest = _heavy_tokens(rows, probs, wanted)
    if heavy.shape[0] < wanted:
        return prepare(rows, probs, wanted)
    weights = probs[heavy]
    total = _sweep.weighted_column(columns, weights)
    mass = total[0]
    mean = total / mass
    spread = _spread(columns, weights, mean)
    return Context(rows, probs, mean, heavy, columns, lightest, spread, mass, True)


@njit(nogil=True, cache=True)
def complete(core):  # type: ignore[no-untyped-def]
    """The context that a core is the core of."""
    mean = _sweep.weighted_column(core.rows, core.probs)
    spread = _spread(core.heavy_columns, core.probs[core.heavy], mean)
    return Context(
        core.rows, core.probs, mean, core.heavy, core.heavy_columns, core.lightest, spread, 1.0, False
    )


@njit(nogil=True, cache=True)
def with_token(core, token):  # type: ignore[no-untyped-def]
    """The core with a token that need not be one of the heavy ones."""
    for heavy in core.heavy:
        if heavy == token:
            return core
    own = core.probs[token]
    mass = core.mass + own
    mean = np.empty(core.mean.shape[0])
    for k in range(mean.shape[0]):
        mean[k] = (core.mean[k] * core.mass + own * core.rows[k, token]) / mass
    return Context(
        core.rows, core.probs, mean, core.heavy, core.heavy_columns, core.lightest, core.spread, mass, True
    )


@njit(nogil=True, cache=True)
def _heavy_tokens(rows, probs, wanted):  # type: ignore[no-untyped-def]
    """The heavy tokens, their columns and the least of their probabilities."""
    heavy = _sweep.heaviest(probs, min(wanted, probs.shape[0]))
    columns = np.empty((rows.shape[0], heavy.shape[0]))
    _sweep.gather(rows, heavy, columns)
    lightest = np.inf
    for token in heavy:
        lightest = min(lightest, probs[token])
    return heavy, columns, lightest


@njit(nogil=True, cache=True)
def _spread(columns, weights, mean):  # type: ignore[no-untyped-def]
    """The whitening of tokens with these columns [r, n] and weights [n] about the mean."""
    r, n = columns.shape
    centred, weighted = np.empty((r - 1, n)), np.empty((r - 1, n))
    for k in range(r - 1):
        for q in range(n):
            centred[k, q] = columns[k + 1, q] - mean[k + 1]
            weighted[k, q] = centred[k, q] * weights[q]
    spread = np.eye(r - 1)
    if r > 1:
        covariance = np.empty((r - 1, r - 1))
        _blas.times_transpose(weighted, centred, covariance)
        whiten(covariance, spread)
    return spread


@njit(nogil=True, cache=True)
def whiten(covariance, spread):  # type: ignore[no-untyped-def]
    """Fill ``spread``, the identity, with a matrix that makes the covariance about the identity.

    Any invertible matrix would be correct: it only sets the lengths by which edges are compared. So a
    floor under the small eigenvalues keeps it well conditioned when a few tokens hold all the mass.
    """
    c = covariance.shape[0]
    diagonal = np.empty(c)
    for k in range(c):
        diagonal[k] = covariance[k, k]
    floor = 1e-8 * _pairwise_sum(diagonal) / c
    if not floor > 0.0:  # all mass on one token
        return
    for k in range(c):
        covariance[k, k] += floor
    if not _blas.inverse_cholesky(covariance, spread):
        spread[:] = np.eye(c)


@njit(nogil=True, cache=True)
def _pairwise_sum(values):  # type: ignore[no-untyped-def]
    """np.sum(values), in numpy's order."""
    n = values.shape[0]
    if n > 128:
        half = n // 2
        half -= half % 8
        return _pairwise_sum(values[:half]) + _pairwise_sum(values[half:])
    total = 0.0
    whole = n - n % 8 if n >= 8 else 0
    if whole:
        parts = values[:8].copy()
        for start in range(8, whole, 8):
            for k in range(8):
                parts[k] += values[start + k]
        total = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + (
            (parts[4] + parts[5]) + (parts[6] + parts[7])
        )
    for q in range(whole, n):
        total += values[q]
    return total


@njit(nogil=True, cache=True)
def fill_direction(context, u, direction):  # type: ignore[no-untyped-def]
    """The direction y, in the basis's own coordinates, of a point u of the climb."""
    _blas.vector_matrix(u, context.spread, direction[1:])
    direction[0] = 1.0 - _blas.dot(context.mean[1:], direction[1:])
