"""The kept singular vectors: right, orthonormal, independent of the ones row, and cached safely."""

import pickle
import threading

import numpy as np
import pytest
import torch

from bat.basis import CACHE_VARIABLE, Basis
from bat.errors import InvalidInputError


@pytest.fixture(autouse=True)
def _no_cache_from_outside(monkeypatch):
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)


def matrix(size=300, width=24, condition=50.0, seed=0):
    """A matrix with geometrically falling singular values, hence with well-separated vectors."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.normal(size=(size, width)))[0]
    right = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return left * np.geomspace(condition, 1.0, width) @ right.T


def assert_same_up_to_sign(ours, reference, tolerance):
    """Rows [c, v] against orthonormal columns [v, c]."""
    reference = reference.T * np.sqrt(reference.shape[0])
    signs = np.sign((ours * reference).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(ours, signs * reference, atol=tolerance)


@pytest.mark.parametrize("constraints", [0, 1, 7, 24])
def test_rows_are_ones_and_left_singular_vectors(constraints):
    weight = matrix()
    left, values, _ = np.linalg.svd(weight, full_matrices=False)
    basis = Basis.from_matrix(weight, constraints)
    assert basis.constraints == constraints
    assert basis.vocabulary_size == 300
    assert basis.rows.shape == (constraints + 1, 300)
    assert basis.rows.dtype == np.float64
    assert basis.rows.flags.c_contiguous
    assert (basis.rows[0] == 1.0).all()
    assert_same_up_to_sign(basis.rows[1:], left[:, :constraints], 1e-10)
    np.testing.assert_allclose(basis.singular_values, values, rtol=1e-10)


@pytest.mark.parametrize("condition", [10.0, 1e3, 1e6, 1e10])
def test_orthonormal_and_accurate_however_ill_conditioned(condition):
    weight = matrix(condition=condition)
    rows = Basis.from_matrix(weight, 24).rows[1:] / np.sqrt(300)
    np.testing.assert_allclose(rows @ rows.T, np.eye(24), atol=1e-13)
    # The same span as the matrix: nothing of it is left outside, even for the smallest singular value.
    left = np.linalg.svd(weight, full_matrices=False)[0]
    outside = left - rows.T @ (rows @ left)
    assert np.linalg.norm(outside, axis=0).max() < 1e-14 * condition


def test_the_weak_direction_beyond_the_gram_matrix():
    """Squared, a ratio of 1e-9 drowns in rounding: only QR finds the eleventh vector."""
    rng = np.random.default_rng(4)
    left = np.linalg.qr(rng.normal(size=(400, 12)))[0]
    right = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    values = np.array([1.0] * 10 + [1e-9, 1e-13])
    basis = Basis.from_matrix(left * values @ right.T, 11)
    assert abs(basis.rows[11] @ left[:, 10]) / np.sqrt(400) == pytest.approx(1.0, abs=1e-9)
    assert basis.singular_values[10] == pytest.approx(1e-9, rel=1e-5)


def test_many_blocks_give_what_one_gives(monkeypatch):
    weight = matrix(size=1000)
    whole = Basis.from_matrix(weight, 8)
    monkeypatch.setattr("bat.basis._BLOCK_NUMBERS", 24 * 300)
    pieces = Basis.from_matrix(weight, 8)
    np.testing.assert_allclose(pieces.rows, whole.rows, atol=1e-11)
    assert pieces.fingerprint == whole.fingerprint


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_float_type_means_its_own_values(dtype):
    weight = torch.tensor(matrix(), dtype=dtype, requires_grad=True)
    basis = Basis.from_matrix(weight, 8)
    exact = Basis.from_matrix(weight.detach().double().numpy(), 8)
    np.testing.assert_array_equal(basis.rows, exact.rows)
    if dtype != torch.bfloat16:  # numpy has no such type
        from_numpy = Basis.from_matrix(weight.detach().numpy(), 8)
        np.testing.assert_array_equal(from_numpy.rows, exact.rows)
        assert from_numpy.fingerprint == basis.fingerprint


def test_extended_precision_is_read_as_float64():
    weight = matrix()
    basis, extended = Basis.from_matrix(weight, 3), Basis.from_matrix(weight.astype(np.longdouble), 3)
    np.testing.assert_array_equal(extended.rows, basis.rows)
    assert extended.fingerprint == basis.fingerprint


def test_layout_does_not_matter():
    weight = matrix()
    straight = Basis.from_matrix(weight, 5)
    for other in (np.asfortranarray(weight), weight[:, ::1], torch.tensor(weight.T.copy()).T):
        basis = Basis.from_matrix(other, 5)
        np.testing.assert_array_equal(basis.rows, straight.rows)
        assert basis.fingerprint == straight.fingerprint
    reverse = Basis.from_matrix(weight[::-1], 5)
    np.testing.assert_allclose(np.abs(reverse.rows[:, ::-1]), np.abs(straight.rows), atol=1e-11)
    frozen = weight.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(Basis.from_matrix(frozen, 5).rows, straight.rows)


@pytest.mark.parametrize("factor", [3.0, 0.37, 2.0**-20, 1e200, 1e-200, 1e-300])
def test_rescaling_changes_only_the_singular_values(factor):
    weight = matrix()
    basis, scaled = Basis.from_matrix(weight, 10), Basis.from_matrix(weight * factor, 10)
    np.testing.assert_allclose(scaled.rows, basis.rows, atol=1e-10)
    np.testing.assert_allclose(scaled.singular_values, basis.singular_values * factor, rtol=1e-12)


def test_signs_are_a_convention():
    weight = matrix()
    rows = Basis.from_matrix(weight, 10).rows
    np.testing.assert_allclose(Basis.from_matrix(-weight, 10).rows, rows, atol=1e-11)
    assert (rows[np.arange(11), np.abs(rows).argmax(axis=1)] > 0).all()
    # Equally large entries: the first decides, though rounding may make the second a hair larger.
    for hair in (1 - 1e-15, 1.0, 1 + 1e-15):
        np.testing.assert_allclose(Basis.from_matrix(np.array([[-1.0], [hair]]), 1).rows[1], [1, -1])


def test_the_toy_example():
    rows = Basis.from_matrix(np.array([[0.55], [0.71], [0.29]]), 1).rows
    column = np.array([0.55, 0.71, 0.29])
    np.testing.assert_allclose(rows[1], column / np.linalg.norm(column) * np.sqrt(3), rtol=1e-14)


@pytest.mark.parametrize("constraints", [1, 2, 4])
def test_ones_inside_the_span_cost_one_row(constraints):
    rng = np.random.default_rng(6)
    ones = np.ones((50, 1))
    if constraints == 1:
        weight = ones * [[2.0, 1.0]]
    else:
        weight = np.hstack([ones, rng.normal(size=(50, constraints - 1))])
    basis = Basis.from_matrix(weight, constraints)
    assert basis.rows.shape == (constraints, 50)
    assert basis.constraints == constraints
    assert np.linalg.matrix_rank(basis.rows) == constraints
    assert np.linalg.cond(basis.rows) < 100
    left = np.linalg.svd(weight, full_matrices=False)[0][:, :constraints]
    projection = np.linalg.pinv(basis.rows) @ basis.rows
    np.testing.assert_allclose(projection, left @ left.T, atol=1e-10)


def test_a_vocabulary_smaller_than_the_hidden_size():
    weight = np.random.default_rng(7).normal(size=(4, 9))
    basis = Basis.from_matrix(weight, 4)
    assert basis.rows.shape == (4, 4)  # four vectors span everything, the ones vector included
    assert np.linalg.matrix_rank(basis.rows) == 4
    assert len(basis.singular_values) == 4
    with pytest.raises(InvalidInputError, match="rank of the output matrix, 4 for this 4 x 9 matrix; got 5"):
        Basis.from_matrix(weight, 5)


def test_more_constraints_than_the_rank_are_invalid():
    weight = matrix(width=10)[:, :6] @ np.random.default_rng(8).normal(size=(6, 10))
    assert Basis.from_matrix(weight, 6).rows.shape == (7, 300)
    for constraints in (7, 10, 1000):
        with pytest.raises(InvalidInputError, match=f"6 for this 300 x 10 matrix; got {constraints}. Use 6"):
            Basis.from_matrix(weight, constraints)


@pytest.mark.parametrize(
    ("weight", "constraints", "message"),
    [
        (np.zeros(5), 1, r"must be a matrix \[vocabulary, hidden size\]; got shape \[5\]"),
        (torch.zeros(2, 3, 4), 1, r"got shape \[2, 3, 4\]"),
        (np.zeros((0, 4)), 0, r"got shape \[0, 4\]"),
        (np.zeros((4, 0)), 0, r"got shape \[4, 0\]"),
        (np.ones((4, 2), dtype=np.int32), 1, "floating-point numbers; got dtype int32"),
        (torch.ones(4, 2, dtype=torch.int64), 1, "floating-point numbers; got dtype torch.int64"),
        ([[1.0, 2.0]], 1, "torch tensor or a numpy array; got list"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), 1, "must be finite; got nan in rows 0 to 1"),
        (np.array([[1.0, np.nan]], dtype=np.float16), 1, "must be finite; got nan in rows 0 to 0"),
        (torch.tensor([[1.0, torch.nan]], dtype=torch.bfloat16), 1, "must be finite; got nan"),
        (torch.tensor([[1.0, 2.0], [-torch.inf, 1.0]]), 1, "must be finite; got -inf"),
        (np.zeros((4, 2)), 0, "zero everywhere"),
        (np.eye(4), -1, "integer of at least 0; got -1"),
        (np.eye(4), True, "got True"),
        (np.eye(4), 2.0, "got 2.0"),
        (np.eye(4), None, "got None"),
    ],
)
def test_bad_input_is_invalid(weight, constraints, message):
    with pytest.raises(InvalidInputError, match=message):
        Basis.from_matrix(weight, constraints)


def test_fingerprints_tell_weights_and_constraints_apart():
    weight = matrix()
    touched = weight.copy()
    touched[17, 3] = np.nextafter(touched[17, 3], 9.0)
    prints = [Basis.from_matrix(w, c).fingerprint for w in (weight, touched) for c in (3, 4)]
    prints.append(Basis.from_matrix(weight.reshape(600, 12), 3).fingerprint)
    assert len(set(prints)) == 5
    assert Basis.from_matrix(weight.copy(), 3).fingerprint == prints[0]


def test_pickle_round_trip():
    basis = Basis.from_matrix(matrix(), 6)
    copy = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(copy.rows, basis.rows)
    np.testing.assert_array_equal(copy.singular_values, basis.singular_values)
    assert (copy.constraints, copy.fingerprint) == (basis.constraints, basis.fingerprint)


def counted(monkeypatch):
    """Count how often the singular vectors are really computed."""
    import bat.basis

    calls, compute = [], bat.basis._left_singular_vectors
    monkeypatch.setattr("bat.basis._left_singular_vectors", lambda *args: calls.append(1) or compute(*args))
    return calls


@pytest.mark.parametrize("through", ["argument", "variable"])
def test_the_cache_answers_the_second_time(tmp_path, monkeypatch, through):
    calls, weight = counted(monkeypatch), matrix()
    folder = tmp_path / "deep" / "cache"
    if through == "variable":
        monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    argument = folder if through == "argument" else None
    first = Basis.from_matrix(weight, 6, cache_dir=argument)
    second = Basis.from_matrix(weight, 6, cache_dir=argument)
    assert len(calls) == 1
    np.testing.assert_array_equal(second.rows, first.rows)
    np.testing.assert_array_equal(second.singular_values, first.singular_values)
    assert (second.constraints, second.fingerprint) == (6, first.fingerprint)
    assert second.rows.flags.c_contiguous
    assert [path.name for path in folder.iterdir()] == [f"basis-{first.fingerprint}.npz"]
    Basis.from_matrix(weight, 7, cache_dir=argument)
    assert len(calls) == 2


def test_nothing_is_written_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Basis.from_matrix(matrix(), 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "text", "other"])
def test_a_damaged_file_is_rewritten(tmp_path, monkeypatch, damage):
    weight = matrix()
    good = Basis.from_matrix(weight, 6, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    intact = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(intact[: len(intact) // 2])
    elif damage == "flip":
        intact[len(intact) // 2] ^= 1
        path.write_bytes(intact)
    elif damage == "other":
        np.savez(path, rows=good.rows, singular_values=good.singular_values, fingerprint=np.array("0" * 64))
    else:
        path.write_bytes(b"" if damage == "empty" else b"not a basis")
    calls = counted(monkeypatch)
    for _ in range(2):  # computed again once, then read
        np.testing.assert_array_equal(Basis.from_matrix(weight, 6, cache_dir=tmp_path).rows, good.rows)
        assert len(calls) == 1


def test_a_folder_that_cannot_be_written_is_only_a_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(RuntimeWarning, match="could not be kept in"):
        basis = Basis.from_matrix(matrix(), 3, cache_dir=tmp_path / "file")
    assert basis.rows.shape == (4, 300)


def test_writers_at_the_same_time_leave_one_good_file(tmp_path):
    weight = matrix()
    threads = [
        threading.Thread(target=Basis.from_matrix, args=(weight, 6), kwargs={"cache_dir": tmp_path})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.iterdir())) == 1
    assert Basis.from_matrix(weight, 6, cache_dir=tmp_path).rows.shape == (7, 300)
