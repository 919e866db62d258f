"""The door: what callers hand in becomes checked float64 and int64 numpy arrays, or a clear error.

Everything behind this door may assume finite float64 rows that are nonnegative and sum to one, tokens
inside the vocabulary and thresholds in [0, 1). Torch tensors of any float type and device, numpy arrays
and nested sequences are all welcome; nothing here imports torch unless the caller already has.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bat._softmax import softmax_rows
from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError

if TYPE_CHECKING:
    import torch

    ArrayInput = npt.ArrayLike | torch.Tensor
else:
    ArrayInput = Any

# How far a row may be from summing to one before it is an error, by bytes per number of the input. Half
# types round each of some 50,000 probabilities to 8 or 11 bits, which moves the sum by up to a percent.
_SUM_TOLERANCE = {1: 1e-2, 2: 1e-2, 4: 1e-4}
_SUM_TOLERANCE_WIDE = 1e-6

# Rows this close to one are left alone, so that checking twice changes no bit. Dividing by the sum leaves
# at most about 3e-15 (one rounding a term, and numpy's pairwise summation).
_ALREADY_NORMALISED = 1e-14


def is_tensor(value: object) -> bool:
    """Whether ``value`` is a torch tensor, without importing torch to find out."""
    torch_module = sys.modules.get("torch")
    return torch_module is not None and isinstance(value, torch_module.Tensor)


def as_probabilities(probs: ArrayInput, *, single: bool = False, name: str = "probs") -> FloatArray:
    """Checked distributions, float64 [B, v], each row summing to one.

    A row may miss one by 1e-6 (float64), 1e-4 (float32) or 1e-2 (half types) and is then renormalised in
    float64. A row that sums to one already is returned bit for bit, possibly as a view of the input.
    With ``single`` a 1-D input is taken as a batch of one.
    """
    values, number_bytes = _as_float64_rows(probs, single=single, name=name)
    # Two passes cover every check: NaN and infinities survive into the sum.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = values.sum(axis=1)  # [B]
    lowest = values.min(axis=1)  # [B]
    if not np.isfinite(sums).all() and not np.isfinite(values).all():
        _raise_for_entry(name, "must be finite", values, ~np.isfinite(values), "Check the model's output.")
    if (lowest < 0).any():
        advice = "Pass probabilities, for example bat.validation.softmax(logits), not logits."
        _raise_for_entry(name, "must not be negative", values, values < 0, advice)
    tolerance = _SUM_TOLERANCE.get(number_bytes, _SUM_TOLERANCE_WIDE)
    error = np.abs(sums - 1.0)
    if (error > tolerance).any():
        row = int(np.argmax(error > tolerance))
        raise InvalidInputError(
            f"{name} must sum to one within {tolerance:g} in every row; got {sums[row]:.9g} in row {row}. "
            f"Normalise the rows, or pass logits through bat.validation.softmax."
        )
    if (error <= _ALREADY_NORMALISED).all():
        return values
    divisors = np.where(error <= _ALREADY_NORMALISED, 1.0, sums)
    return np.asarray(values / divisors[:, None], dtype=np.float64)


def softmax(logits: ArrayInput, *, single: bool = False, name: str = "logits") -> FloatArray:
    """Distributions, float64 [B, v], from logits of any float type, computed stably in float64.

    An entry of -inf is a forbidden token and gets probability zero; NaN, +inf and rows with nothing
    but -inf are errors. With ``single`` a 1-D input is taken as a batch of one.
    """
    values, peaks = as_logits(logits, single=single, name=name)
    probs = np.empty(values.shape)
    entropy, maximum = np.empty((2, len(values)))
    softmax_rows(values, peaks, probs, entropy, maximum, np.zeros(1, np.int64))
    return probs


def as_logits(
    logits: ArrayInput, *, single: bool = False, name: str = "logits"
) -> tuple[npt.NDArray[np.floating], FloatArray]:
    """Checked logits, float32 or float64 [B, v], and the largest of each row, float64 [B]."""
    values = as_logit_rows(logits, single=single, name=name)
    peaks = values.max(axis=1).astype(np.float64)  # NaN wins over everything in numpy's max
    check_peaks(values, peaks, name)
    return values, peaks


def as_logit_rows(
    logits: ArrayInput, *, single: bool = False, name: str = "logits"
) -> npt.NDArray[np.floating]:
    """Logits as float32 or float64 [B, v]; ``check_peaks`` looks at their values."""
    return _as_rows(_as_numpy(logits, keep_single=True), single=single, name=name)


def check_peaks(values: npt.NDArray[np.floating], peaks: FloatArray, name: str = "logits") -> None:
    """Raise for rows whose largest logit is no finite number."""
    if np.isfinite(peaks).all():
        return
    if np.isnan(peaks).any():
        _raise_for_entry(name, "must not be NaN", values, np.isnan(values), "Check the model's output.")
    if (peaks == np.inf).any():
        advice = "Check the model for overflow, often a half-precision forward pass."
        _raise_for_entry(name, "must not be +inf", values, values == np.inf, advice)
    row = int(np.argmax(peaks == -np.inf))
    raise InvalidInputError(
        f"{name} must leave at least one token possible in every row; row {row} is -inf everywhere. "
        f"Check the masks applied before sampling."
    )


def as_tokens(tokens: ArrayInput, batch: int, vocabulary_size: int, *, name: str = "tokens") -> IntArray:
    """Checked token ids, int64 [batch], each in [0, vocabulary_size)."""
    values = _as_numpy(tokens)
    if values.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must be integers; got dtype {values.dtype}. Pass token ids.")
    if values.shape != (batch,):
        raise InvalidInputError(
            f"{name} must have shape [{batch}], one id for each row; got {list(values.shape)}."
        )
    outside = (values < 0) | (values >= vocabulary_size)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"{name} must lie in [0, {vocabulary_size}); got {values[row]} in row {row}. "
            f"Check that the tokenizer belongs to the model."
        )
    return values.astype(np.int64)


def as_thresholds(thresholds: ArrayInput, batch: int, *, name: str = "thresholds") -> FloatArray:
    """Checked thresholds, float64 [batch], each in [0, 1); a single number serves every row."""
    values = _as_numpy(thresholds)
    if values.dtype.kind not in "iuf" and values.dtype.name != "bfloat16":
        raise InvalidInputError(f"{name} must be numbers; got dtype {values.dtype}.")
    if values.ndim == 0:
        values = np.full(batch, values)
    if values.shape != (batch,):
        raise InvalidInputError(
            f"{name} must be one number or have shape [{batch}], one for each row; got {list(values.shape)}."
        )
    checked = values.astype(np.float64)
    inside = (checked >= 0) & (checked < 1)  # False for NaN
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidInputError(
            f"{name} must lie in [0, 1); got {checked[row]:g} in row {row}. "
            f"Use a probability, for example what a rule's thresholds() gives."
        )
    return checked


def _as_numpy(value: ArrayInput, *, keep_single: bool = False) -> npt.NDArray[Any]:
    """The value as a numpy array; a tensor's floating-point numbers become float64.

    With ``keep_single`` float32 stays as it is and half types, some of which numpy lacks, become float32.
    """
    if is_tensor(value):
        tensor: torch.Tensor = value  # type: ignore[assignment]
        tensor = tensor.detach().cpu()
        if tensor.is_floating_point():
            narrow = keep_single and tensor.element_size() <= 4
            tensor = tensor.float() if narrow else tensor.double()
        array: npt.NDArray[Any] = tensor.numpy()
        return array
    try:
        return np.asarray(value)
    except ValueError as error:  # ragged nested sequences
        raise InvalidInputError(f"expected a rectangular array of numbers; {error}.") from error


def _as_float64_rows(value: ArrayInput, *, single: bool, name: str) -> tuple[FloatArray, int]:
    """Float64 [B, v], C-contiguous, and the bytes per number of what was handed in."""
    array = _as_numpy(value)
    number_bytes = value.element_size() if is_tensor(value) else array.dtype.itemsize  # type: ignore[union-attr]
    return _as_rows(array, single=single, name=name).astype(np.float64, copy=False), int(number_bytes)


def _as_rows(array: npt.NDArray[Any], *, single: bool, name: str) -> npt.NDArray[np.floating]:
    """Float32 or float64 [B, v], C-contiguous."""
    if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
        raise InvalidInputError(
            f"{name} must be floating-point numbers; got dtype {array.dtype}. Convert with astype or to()."
        )
    if single and array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] == 0:
        shapes = "[batch, vocabulary] or [vocabulary]" if single else "[batch, vocabulary]"
        raise InvalidInputError(f"{name} must have shape {shapes}; got {list(array.shape)}.")
    narrow = array.dtype == np.float32 or array.dtype.itemsize < 4
    return np.ascontiguousarray(array, dtype=np.float32 if narrow else np.float64)


def _raise_for_entry(
    name: str,
    requirement: str,
    values: npt.NDArray[np.floating],
    offending: npt.NDArray[np.bool_],
    advice: str,
) -> None:
    """Raise for the first offending entry, saying where it is."""
    row, column = (int(index) for index in np.argwhere(offending)[0])
    raise InvalidInputError(
        f"{name} {requirement}; got {values[row, column]:g} at row {row}, column {column}. {advice}"
    )
