"""What all tokens of one distribution share: its mean, its heavy tokens and its whitening, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

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


@njit(nogil=True, cache=True)
def prepare(rows, probs, wanted):  # type: ignore[no-untyped-def]
    """The context of ``probs`` [v], with about ``wanted`` heavy tokens."""
    r = rows.shape[0]
    mean = _sweep.weighted_column(rows, probs)
    heavy = _sweep.heaviest(probs, min(wanted, probs.shape[0]))
    n = heavy.shape[0]
    columns = np.empty((r, n))
    _sweep.gather(rows, heavy, columns)
    lightest = np.inf
    for q in range(n):
        lightest = min(lightest, probs[heavy[q]])
    centred, weighted = np.empty((r - 1, n)), np.empty((r - 1, n))
    for k in range(r - 1):
        for q in range(n):
            centred[k, q] = columns[k + 1, q] - mean[k + 1]
            weighted[k, q] = centred[k, q] * probs[heavy[q]]
    spread = np.eye(r - 1)
    if r > 1:
        covariance = np.empty((r - 1, r - 1))
        _blas.times_transpose(weighted, centred, covariance)
        whiten(covariance, spread)
    return Context(rows, probs, mean, heavy, columns, lightest, spread)


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
