"""Everything callers hand in becomes checked float64 or int64, or an error that says where."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bat.errors import InvalidInputError
from bat.validation import as_probabilities, as_thresholds, as_tokens, softmax

FLOAT_TYPES = [
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
    torch.float16,
    torch.bfloat16,
    torch.float32,
]


def cast(values, dtype):
    if isinstance(dtype, torch.dtype):
        return torch.tensor(values, dtype=dtype, requires_grad=True)
    return np.array(values, dtype=dtype)


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_probabilities_of_every_float_type(dtype):
    exact = np.random.default_rng(0).dirichlet(np.full(3000, 0.1), size=4)
    probs = as_probabilities(cast(exact, dtype))
    assert probs.dtype == np.float64
    assert probs.flags.c_contiguous
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(probs, exact, rtol=1e-2, atol=1e-7)


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_softmax_of_every_float_type(dtype):
    logits = cast([[0.0, 1.0, -2.0, -np.inf], [60.0, -60.0, 3.0, 3.0]], dtype)  # exact in every type
    weights = np.exp([[0.0, 1.0, -2.0, -np.inf], [0.0, -120.0, -57.0, -57.0]])
    probs = softmax(logits)
    assert probs.dtype == np.float64
    np.testing.assert_allclose(probs, weights / weights.sum(axis=1, keepdims=True), rtol=1e-14)
    assert probs[0, 3] == 0.0


def test_checking_twice_changes_no_bit():
    rng = np.random.default_rng(1)
    for size in (3, 1000, 50_000):
        rough = rng.dirichlet(np.full(size, 0.1), size=3).astype(np.float32)
        once = as_probabilities(rough)
        np.testing.assert_array_equal(as_probabilities(once), once)
        mixed = np.vstack([once, rough[:1]])  # a row that needs work leaves its neighbours alone
        np.testing.assert_array_equal(as_probabilities(mixed)[:3], once)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-1e308, 1e308))
)
@settings(max_examples=200, deadline=None)
def test_softmax_of_any_finite_logits(logits):
    probs = softmax(logits)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-14)
    assert (probs >= 0).all()
    peaks = logits == logits.max(axis=1, keepdims=True)
    assert (probs[peaks] >= 1 / logits.shape[1] - 1e-12).all()
    for row in range(len(logits)):
        np.testing.assert_array_equal(softmax(logits[row : row + 1])[0], probs[row])


def test_batching_changes_no_bit_of_a_long_softmax():
    logits = np.random.default_rng(2).normal(scale=5, size=(5, 1003)).astype(np.float32)
    together = softmax(logits)
    for row in range(5):
        np.testing.assert_array_equal(softmax(logits[row : row + 1])[0], together[row])


def test_layouts_and_devices():
    exact = np.random.default_rng(3).dirichlet(np.ones(6), size=4)
    np.testing.assert_array_equal(as_probabilities(np.asfortranarray(exact)), exact)
    np.testing.assert_array_equal(as_probabilities(torch.tensor(exact).T.contiguous().T), exact)
    np.testing.assert_array_equal(as_probabilities([[0.5, 0.5], [1.0, 0.0]]), [[0.5, 0.5], [1.0, 0.0]])
    assert as_probabilities(np.zeros((0, 5))).shape == (0, 5)


def test_one_row_only_where_asked():
    assert as_probabilities(np.array([0.5, 0.5]), single=True).shape == (1, 2)
    assert softmax(np.array([0.5, 0.5]), single=True).tolist() == [[0.5, 0.5]]
    with pytest.raises(InvalidInputError, match=r"probs must have shape \[batch, vocabulary\]; got \[2\]"):
        as_probabilities(np.array([0.5, 0.5]))


@pytest.mark.parametrize(
    ("dtype", "allowed", "invalid"),
    [
        (np.float64, 0.9e-6, 1.1e-6),
        (np.float32, 0.9e-4, 1.1e-4),
        (np.float16, 0.9e-2, 1.3e-2),
        (torch.bfloat16, 0.7e-2, 2e-2),
    ],
)
def test_how_far_from_one_a_row_may_sum(dtype, allowed, invalid):
    assert as_probabilities(cast([[0.5, 0.5 + allowed]], dtype)).sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InvalidInputError, match=r"must sum to one within .*; got 1\.\d+ in row 1"):
        as_probabilities(cast([[0.5, 0.5], [0.5, 0.5 + invalid]], dtype))


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ([[0.5, 0.5], [1.1, -0.1]], "must not be negative; got -0.1 at row 1, column 1"),
        ([[0.5, np.nan]], "must be finite; got nan at row 0, column 1"),
        ([[np.inf, -np.inf]], "must be finite; got inf at row 0, column 0"),
        ([[1e308, 1e308]], "must sum to one within 1e-06 in every row; got inf in row 0"),
        ([[0.0, 0.0]], "must sum to one within 1e-06 in every row; got 0 in row 0"),
        ([[1, 0]], "must be floating-point numbers; got dtype int64"),
        ([[]], r"must have shape \[batch, vocabulary\]; got \[1, 0\]"),
        ([[[1.0]]], r"got \[1, 1, 1\]"),
        ([[0.5, 0.5], [1.0]], "rectangular"),
    ],
)
def test_bad_probabilities(probs, message):
    with pytest.raises(InvalidInputError, match=message):
        as_probabilities(probs)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[0.0, 1.0], [np.nan, 2.0]], "logits must not be NaN; got nan at row 1, column 0"),
        ([[0.0, np.inf]], r"must not be \+inf; got inf at row 0, column 1"),
        ([[0.0, 1.0], [-np.inf, -np.inf]], "row 1 is -inf everywhere"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, torch.bfloat16])
def test_bad_logits(logits, message, dtype):
    with pytest.raises(InvalidInputError, match=message):
        softmax(cast(logits, dtype))


def test_tokens():
    for given_tokens in ([0, 4], np.array([0, 4], dtype=np.uint8), torch.tensor([0, 4])):
        tokens = as_tokens(given_tokens, 2, 5)
        assert tokens.dtype == np.int64
        assert tokens.tolist() == [0, 4]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([0, 5], r"must lie in \[0, 5\); got 5 in row 1"),
        ([-1, 0], "got -1 in row 0"),
        (np.array([0, 2**64 - 1], dtype=np.uint64), "got 18446744073709551615 in row 1"),
        ([0.0, 1.0], "must be integers; got dtype float64"),
        ([True, False], "must be integers; got dtype bool"),
        ([0], r"must have shape \[2\], one id for each row; got \[1\]"),
        (3, r"got \[\]"),
    ],
)
def test_bad_tokens(tokens, message):
    with pytest.raises(InvalidInputError, match=message):
        as_tokens(tokens, 2, 5)


def test_thresholds():
    assert as_thresholds(0.25, 3).tolist() == [0.25] * 3
    assert as_thresholds(0, 2).tolist() == [0.0] * 2
    assert as_thresholds(torch.tensor([0.5, 0.25], dtype=torch.bfloat16), 2).tolist() == [0.5, 0.25]
    assert as_thresholds(np.array([0.0, np.nextafter(1.0, 0.0)]), 2).dtype == np.float64


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.5, 1.0], r"must lie in \[0, 1\); got 1 in row 1"),
        ([-1e-9, 0.5], "got -1e-09 in row 0"),
        ([0.5, np.nan], "got nan in row 1"),
        ([0.5], r"shape \[2\]"),
        (["a", "b"], "must be numbers"),
        (True, "must be numbers; got dtype bool"),
    ],
)
def test_bad_thresholds(thresholds, message):
    with pytest.raises(InvalidInputError, match=message):
        as_thresholds(thresholds, 2)
