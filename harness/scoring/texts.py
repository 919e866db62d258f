"""Texts to score: continuations of one set of prefixes, by people or by a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.arrays import SingleArray
from workers.traces import Trace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TokenLikelihood:
    """The log-probability of some tokens of the texts under the model."""

    texts: IntArray  # [t] the text of the token
    log_probs: FloatArray  # [t]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Vectors of the texts, in their order, and of what they are compared with."""

    texts: SingleArray  # [m, d]
    human: SingleArray | None = None  # [prefixes, d] of what people wrote after each prefix
    prefixes: SingleArray | None = None  # [prefixes, d] of each prefix alone


@dataclass(frozen=True, slots=True, eq=False)
class TextSet:
    """Continuations as token ids. There may be several of one prefix, and a continuation may be empty.

    Prefixes are the sample from a population: intervals come from resampling prefixes, never single texts.
    """

    prefixes: int  # the number of prefixes
    prefix_index: IntArray  # [m] the prefix of each text, in [0, prefixes)
    token_ids: tuple[IntArray, ...]  # m continuations, an end-of-text token included
    ended: BoolArray  # [m] whether the model ended the text itself
    likelihood: TokenLikelihood
    traces: tuple[Trace, ...] | None = None  # m, of texts that a model wrote
    strings: tuple[str, ...] | None = None  # m, the texts as people read them
    features: Features | None = None

    def __len__(self) -> int:
        return len(self.token_ids)
