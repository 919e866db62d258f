"""Featurize: turn human or generated texts into vectors, for MAUVE."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from harness.jobs.base import Inputs, JobKind, JobSpec, Trial
from harness.jobs.parts import ModelIdentity
from harness.jobs.rows import FeatureRows

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.jobs.rows import PrefixEntry
    from workers.requests import FeaturizeRequest

_TRIAL_TEXTS = 8


@dataclass(frozen=True)
class Featurize(JobSpec["npt.NDArray[np.float32]"]):
    """A shard of texts, a model that reads them -> a vector for each text."""

    kind = JobKind.FEATURIZE
    rows_type = FeatureRows
    unit_name = "texts"
    model_task = "read texts for MAUVE"

    model: ModelIdentity
    include_prefix: bool
    max_tokens: int
    batch_size: int

    @abstractmethod
    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        """The prefixes of the shard, and the texts that continue them."""

    def time_unit(self, trial: Trial) -> float:
        from workers.requests import FeaturizeRequest

        texts = tuple(trial.human_texts(_TRIAL_TEXTS))
        model = trial.model_request(self.model)
        # Without the cache, which may have the vectors of an earlier calibration.
        request = FeaturizeRequest(model, texts, self.max_tokens, self.batch_size, use_cache=False)
        return trial.seconds(request) / len(texts)

    def request(self, inputs: Inputs, batch_size: int | None = None) -> FeaturizeRequest:
        from workers.requests import FeaturizeRequest

        prefixes, texts = self.texts_with_prefixes(inputs)
        if self.include_prefix:
            texts = [prefix.text + text for prefix, text in zip(prefixes, texts, strict=True)]
        model = inputs.model_request(self.model)
        return FeaturizeRequest(model, tuple(texts), self.max_tokens, batch_size or self.batch_size)

    def rows(self, value: npt.NDArray[np.float32]) -> FeatureRows:
        return FeatureRows(np.asarray(value, dtype=np.float32))


def reading_options(config: SweepConfig) -> dict[str, int | bool]:
    """The options of a sweep for reading texts, by field."""
    features = config.features
    return {
        "include_prefix": features.include_prefix,
        "max_tokens": features.max_tokens,
        "batch_size": features.batch_size,
    }
