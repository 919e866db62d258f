"""The directions a basis-aware rule keeps: singular vectors of a model's output matrix.

Token probabilities are softmax(W h) for an output matrix W (vocabulary v, hidden size d), so gradients
that reach the model only see the distribution through the columns of W. The method keeps the first c left
singular vectors of W and asks that a replacement distribution agree with the model's on those, and sum to
one. Preparing them costs about a second once per model; every program afterwards reads ``rows``.
"""

from __future__ import annotations

import hashlib
import math
import operator
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bat.arrays import FloatArray
from bat.errors import InvalidInputError

if TYPE_CHECKING:
    import torch

    Weight = npt.NDArray[Any] | torch.Tensor
else:
    Weight = Any

CACHE_VARIABLE = "BAT_HARNESS_CACHE"
_FORMAT = 1  # part of every fingerprint: raise it when the same weights would give other rows
_BLOCK_NUMBERS = 2**21  # numbers held in float64 at a time while reading the weights (16 MB)
# The Gram matrix squares the singular values, so it resolves a direction to about
# 2e-16 (largest / this one)**2. Directions weaker than this ratio are found by QR instead, which is
# several times slower but does not square.
_GRAM_RATIO = 1e-4
_ONES_IN_SPAN = 1e-8  # distance of the unit ones vector from the kept span that counts as inside


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What every token's probability is multiplied with, prepared once per output matrix.

    ``rows[0]`` is all ones; the others are the first ``constraints`` left singular vectors, each scaled by
    sqrt(v) so that entries are around one, the first of its largest entries positive. Rows are always
    linearly independent: when the ones vector lies in the span of the vectors, the vector it leans on
    most is dropped, which leaves the span unchanged, and there are ``constraints`` rows instead of one more.
    """

    rows: FloatArray = field(repr=False)  # [r, v], C-contiguous
    constraints: int  # c, as asked for
    singular_values: FloatArray = field(repr=False)  # [min(v, d)], descending
    fingerprint: str  # SHA-256 of the weights, the constraints and the format

    @property
    def vocabulary_size(self) -> int:
        return int(self.rows.shape[1])

    @classmethod
    def from_matrix(
        cls, weight: Weight, constraints: int = 20, cache_dir: str | os.PathLike[str] | None = None
    ) -> Basis:
        """Prepare the basis of an output matrix [v, d]: torch or numpy, any float type, any device.

        ``constraints`` runs from 0 (plain threshold sampling) to the rank of the matrix. The matrix is
        not centred, and multiplying it by a positive number changes nothing but the singular values.
        The answer is kept in ``cache_dir``, or in the folder the variable BAT_HARNESS_CACHE names;
        with neither, nothing is written.
        """
        _check_shape(weight)
        if isinstance(weight, np.ndarray) and weight.dtype.itemsize > 8:
            weight = weight.astype(np.float64)  # extended types hold padding bytes that would be hashed
        constraints = _check_constraints(constraints)
        fingerprint, largest = _survey(weight, constraints)
        folder = cache_dir if cache_dir is not None else os.environ.get(CACHE_VARIABLE) or None
        path = None if folder is None else Path(folder) / f"basis-{fingerprint}.npz"
        if path is not None:
            cached = _load(path, constraints, fingerprint, weight.shape[0])
            if cached is not None:
                return cached

        # A power of two brings the largest entry near one without rounding, so that squaring is safe.
        exponent = min(max(math.frexp(largest)[1], -1000), 1000)
        vectors, values = _left_singular_vectors(weight, 2.0**-exponent, constraints)
        rows = _rows_from_vectors(vectors)
        basis = cls(rows, constraints, np.ldexp(values, exponent), fingerprint)
        if path is not None:
            _store(path, basis)
        return basis

    @classmethod
    def find_cached(
        cls, fingerprint: str, constraints: int, vocabulary_size: int, cache_dir: str | os.PathLike[str]
    ) -> Basis | None:
        """The basis of this fingerprint in a cache folder, without its matrix; None if there is none."""
        path = Path(cache_dir) / f"basis-{fingerprint}.npz"
        return _load(path, constraints, fingerprint, vocabulary_size)


def _left_singular_vectors(weight: Weight, scale: float, constraints: int) -> tuple[FloatArray, FloatArray]:
    """The first left singular vectors [v, c], orthonormal, and all singular values of scale * weight."""
    import torch  # here, because importing torch takes seconds and the solvers do without it

    size, width = weight.shape
    # 1. Right singular vectors from the Gram matrix, or from the triangular factor when that is too coarse.
    gram = torch.zeros(width, width, dtype=torch.float64)
    for block in _blocks(weight, scale):
        gram.addmm_(block.T, block)
    squares, right = torch.linalg.eigh(gram)
    values, right = squares.clamp(min=0).sqrt().flip(0)[: min(size, width)], right.flip(1)
    if constraints > len(values) or (constraints and values[constraints - 1] < _GRAM_RATIO * values[0]):
        values, right = _right_singular_vectors_by_qr(weight, scale)
        rank = int((values > values[0] * max(size, width) * torch.finfo(torch.float64).eps).sum())
        if constraints > rank:
            raise InvalidInputError(
                f"constraints must be at most the rank of the output matrix, {rank} for this "
                f"{size} x {width} matrix; got {constraints}. Use {rank} or fewer."
            )
    # 2. Rayleigh-Ritz: W V is orthogonal only up to the error of V; QR and a small SVD make it exact.
    image = torch.cat([block @ right[:, :constraints] for block in _blocks(weight, scale)])  # [v, c]
    orthonormal, triangle = torch.linalg.qr(image)
    rotation, kept_values, _ = torch.linalg.svd(triangle)
    values = torch.cat([kept_values, values[constraints:]])
    return (orthonormal @ rotation).numpy(), values.numpy()


def _right_singular_vectors_by_qr(weight: Weight, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Singular values, descending, and right singular vectors, by QR over blocks of rows."""
    import torch

    triangle = torch.zeros(0, weight.shape[1], dtype=torch.float64)
    for block in _blocks(weight, scale):
        triangle = torch.linalg.qr(torch.cat([triangle, block]), mode="r")[1]
    _, values, right = torch.linalg.svd(triangle, full_matrices=False)
    return values, right.T


def _rows_from_vectors(vectors: FloatArray) -> FloatArray:
    """The ones row over the vectors [v, c], signed and scaled; one vector less if they are dependent."""
    directions = np.ascontiguousarray(vectors.T)  # [c, v]
    kept, size = directions.shape
    # The sign of a singular vector is free. Near-equal largest entries count as equal, so that rounding
    # does not choose among them.
    for direction in directions:
        magnitudes = np.abs(direction)
        direction *= np.sign(direction[np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max())])
    ones = np.full(size, 1 / math.sqrt(size))
    leaning = directions @ ones  # [c]
    if kept and np.linalg.norm(ones - leaning @ directions) < _ONES_IN_SPAN:
        directions = np.delete(directions, np.argmax(np.abs(leaning)), axis=0)
    return np.vstack([np.ones(size), directions * math.sqrt(size)])


def _check_shape(weight: Weight) -> None:
    from bat.validation import is_tensor  # imports numba, which a driver does without

    if not is_tensor(weight) and not isinstance(weight, np.ndarray):
        kind = type(weight).__name__
        raise InvalidInputError(f"weight must be a torch tensor or a numpy array; got {kind}.")
    if isinstance(weight, np.ndarray):
        is_float = weight.dtype.kind == "f" or weight.dtype.name == "bfloat16"
    else:
        is_float = weight.is_floating_point()
    if not is_float:
        raise InvalidInputError(f"weight must hold floating-point numbers; got dtype {weight.dtype}.")
    if weight.ndim != 2 or 0 in weight.shape:
        raise InvalidInputError(
            f"weight must be a matrix [vocabulary, hidden size]; got shape {list(weight.shape)}. "
            f"Pass the output embedding's weight."
        )


def _check_constraints(constraints: object) -> int:
    try:
        count = -1 if isinstance(constraints, bool | np.bool_) else operator.index(constraints)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise InvalidInputError(
            f"constraints must be an integer of at least 0; got {constraints!r}. The paper uses 20."
        )
    return count


def _blocks(weight: Weight, scale: float) -> Iterator[torch.Tensor]:
    """The rows of scale * weight in float64, a few at a time so that no second copy is ever whole."""
    import torch

    for rows in _row_slices(weight):
        if isinstance(weight, np.ndarray):
            block = torch.from_numpy(np.array(weight[rows], dtype=np.float64, order="C"))
        else:
            block = weight[rows].detach().to("cpu", torch.float64, copy=True).contiguous()
        yield block.mul_(scale)


def _row_slices(weight: Weight) -> Iterator[slice]:
    step = max(256, _BLOCK_NUMBERS // weight.shape[1])
    return (slice(start, start + step) for start in range(0, weight.shape[0], step))


def _survey(weight: Weight, constraints: int) -> tuple[str, float]:
    """One pass over the weights: their fingerprint, and the largest magnitude (an error unless usable)."""
    dtype = str(weight.dtype).removeprefix("torch.")  # the same weights in torch and numpy are the same
    shape = "x".join(map(str, weight.shape))
    digest = hashlib.sha256(f"bat basis {_FORMAT}, {constraints} constraints, {shape} {dtype}\n".encode())
    largest = 0.0
    for rows in _row_slices(weight):
        if isinstance(weight, np.ndarray):
            block = np.ascontiguousarray(weight[rows])
            digest.update(block.view(np.uint8).data)
            extremes = (float(block.min()), float(block.max()))
        else:
            import torch

            tensor = weight[rows].detach().cpu().contiguous()
            digest.update(tensor.view(torch.uint8).numpy().data)
            extremes = (float(tensor.min()), float(tensor.max()))
        for extreme in extremes:
            if not math.isfinite(extreme):
                last = min(rows.stop, weight.shape[0]) - 1
                raise InvalidInputError(
                    f"weight must be finite; got {extreme} in rows {rows.start} to {last}. "
                    f"Check how the model was loaded."
                )
            largest = max(largest, abs(extreme))
    if largest == 0.0:
        raise InvalidInputError("weight must not be zero everywhere. Check how the model was loaded.")
    return digest.hexdigest(), largest


def _load(path: Path, constraints: int, fingerprint: str, vocabulary_size: int) -> Basis | None:
    """The basis stored at ``path``; None when there is none or the file is damaged."""
    try:
        # Opened here because numpy leaves a damaged file open. Zip checks each array's CRC.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            rows, values, owner = stored["rows"], stored["singular_values"], str(stored["fingerprint"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    if owner != fingerprint or rows.dtype != np.float64 or rows.shape[1:] != (vocabulary_size,):
        return None
    return Basis(np.ascontiguousarray(rows), constraints, values, fingerprint)


def _store(path: Path, basis: Basis) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file."""
    arrays = {"rows": basis.rows, "singular_values": basis.singular_values}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft = Path(folder) / path.name
            np.savez(draft, allow_pickle=False, fingerprint=np.array(basis.fingerprint), **arrays)
            os.replace(draft, path)
    except OSError as error:
        warnings.warn(f"the basis could not be kept in {path.parent}: {error}", RuntimeWarning, stacklevel=3)
