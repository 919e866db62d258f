"""The names of array types, one for the whole project. Shapes are written beside each array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IdArray = npt.NDArray[np.int32]  # token ids, which many are kept of
IntArray = npt.NDArray[np.int64]
SingleArray = npt.NDArray[np.float32]
TextArray = npt.NDArray[np.str_]
WordArray = npt.NDArray[np.uint64]  # raw bits
