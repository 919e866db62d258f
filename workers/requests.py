"""What a worker is asked for and what it answers: plain records that cross process borders.

Requests say everything that a result depends on. Answers carry numpy arrays and text, never tensors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workers.features import DEFAULT_MAX_TOKENS
from workers.generation import Generation, GenerationSettings
from workers.measurement_record import Measurement
from workers.models import ModelInfo
from workers.positions import Positions, TokenizedDocument
from workers.prefixes import Prefix
from workers.reading import DOCUMENTS_PER_BATCH


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Which model; the device is the worker's own."""

    name: str
    dtype: str = "float32"
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Continue a shard of prefixes."""

    model: ModelRequest
    prefixes: tuple[Prefix, ...]
    settings: GenerationSettings


@dataclass(frozen=True, slots=True, eq=False)
class MeasureRequest:
    """Measure tokens of a shard of human text."""

    model: ModelRequest
    documents: tuple[TokenizedDocument, ...]
    positions: Positions
    basis_sizes: tuple[int, ...] = (20,)
    tolerance: float = 1e-6
    batch_size: int = DOCUMENTS_PER_BATCH


@dataclass(frozen=True, slots=True)
class FeaturizeRequest:
    """Compute the features of a shard of texts."""

    model: ModelRequest
    texts: tuple[str, ...]
    max_tokens: int = DEFAULT_MAX_TOKENS
    batch_size: int = 16


Request = GenerateRequest | MeasureRequest | FeaturizeRequest


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What came of a request, on which model, in what time."""

    model: ModelInfo
    seconds: float
    value: list[Generation] | Measurement | npt.NDArray[np.float32]
