"""Small contexts that the engine's tests share."""

from __future__ import annotations

import numpy as np

import bat
from bat.arrays import FloatArray

# The paper's example: hidden size 1, three tokens, exp(delta) = 1.9.
TOY_WEIGHT = np.array([[0.55], [0.71], [0.29]])
TOY_LOGITS = TOY_WEIGHT.T * 2.55  # [1, 3]
TOY_THRESHOLD = 1 - 1 / 1.9


def toy() -> tuple[bat.Basis, FloatArray]:
    return bat.Basis.from_matrix(TOY_WEIGHT, constraints=1), bat.softmax(TOY_LOGITS)


def random_model(
    seed: int, tokens: int = 60, hidden: int = 8, constraints: int = 4, batch: int = 3, scale: float = 1.0
) -> tuple[bat.Basis, FloatArray]:
    """A softmax layer with a few hidden states: (basis, logits [batch, tokens])."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_t(5, size=(tokens, hidden))
    logits = scale * rng.normal(size=(batch, hidden)) @ weight.T
    return bat.Basis.from_matrix(weight, constraints), logits
