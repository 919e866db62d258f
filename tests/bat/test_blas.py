"""Compiled code calls the routines numpy calls, and gets numpy's bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg.lapack import dgesv, dgetrs, dpotrf, dtrtri

from bat.solvers import _blas
from bat.solvers._context import _pairwise_sum


@pytest.mark.parametrize("c", [1, 2, 7, 20, 33, 129])
def test_equals_numpy(c: int) -> None:
    generator = np.random.default_rng(c)
    exact = _blas._numpy_address("dgemv") is not None  # else scipy's copy serves, whose bits may differ

    def agree(ours: np.ndarray, theirs: np.ndarray) -> None:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        assert not exact or np.array_equal(ours, theirs)

    for n in (1, 2, 63, 640):
        wide = generator.normal(size=(c, n + 24))[:, :n]  # rows further apart than they are long
        matrix, weights = np.ascontiguousarray(wide), generator.random(n)
        point, out = generator.normal(size=c), np.empty(c)
        _blas.matrix_vector(wide, weights, out)
        agree(out, wide @ weights)
        along = np.empty(n)
        _blas.vector_matrix(point, matrix, along)
        agree(along, point @ matrix)
        gram = np.empty((c, c))
        _blas.times_transpose(matrix * weights, matrix, gram)
        agree(gram, (matrix * weights) @ matrix.T)
        agree(np.array(_blas.dot(point, matrix[:, 0])), np.array(point @ matrix[:, 0]))
        agree(np.array(_pairwise_sum(weights)), np.array(weights.sum()))
    square = generator.normal(size=(c, c))
    inverse = np.empty((c, c))
    assert _blas.inverse_transposed(square, inverse)
    agree(inverse, np.linalg.inv(square).T)
    assert not _blas.inverse_transposed(np.zeros((c, c)), inverse)


@pytest.mark.parametrize("c", [1, 3, 20, 129])
def test_equals_scipy(c: int) -> None:
    generator = np.random.default_rng(c)
    square, right = generator.normal(size=(c, c)), generator.normal(size=c)
    positive = square @ square.T + np.eye(c)
    spread, solution = np.empty((c, c)), np.empty(c)
    assert _blas.inverse_cholesky(positive, spread)
    np.testing.assert_array_equal(spread, dtrtri(dpotrf(positive, lower=1, clean=1)[0], lower=1)[0])
    assert not _blas.inverse_cholesky(-positive, spread)
    assert _blas.solve_twice(square, right, solution)
    factors, swaps, first, _ = dgesv(square, right)
    np.testing.assert_array_equal(solution, first + dgetrs(factors, swaps, right - square @ first)[0])
    assert not _blas.solve_twice(np.zeros((c, c)), right, solution)
