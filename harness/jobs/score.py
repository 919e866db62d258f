"""Score: numbers that summarize a set of human or generated texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from harness.jobs.base import JobKind, JobSpec, Rows, canonical_json
from harness.jobs.parts import Trial, plugins
from harness.scoring.scores import ScoreEntry
from harness.scoring.statistics import provenance

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.scoring.scorer import ScoreRequest
    from harness.scoring.texts import TextSet
    from workers.prefixes import Prefix

_WARM_UP_TEXTS = 8

# Perplexity and sampling need generated texts, and take hardly any time.
_NOT_TIMED = ("perplexity", "sampling")

# The version of the procedure: increased when the same specification gives other scores or intervals.
#
#     None   before there were versions: MAUVE is the only score of clusters, with prefixes drawn with
#            replacement
#     2      all scores of clusters, with prefixes reweighted symmetrically
#     3      the same, with skewed weights
SCORE_VERSION = 3


@dataclass(frozen=True, slots=True)
class ScoreRows(Rows):
    """The result of a score job."""

    entries: tuple[ScoreEntry, ...]

    def __post_init__(self) -> None:
        names = [entry.name for entry in self.entries]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"a job has each score once; got {', '.join(sorted(names))}.")
        for entry in self.entries:
            canonical_json(entry.detail)  # raises if the database could not store it unchanged


@dataclass(frozen=True)
class Score(JobSpec[tuple[ScoreEntry, ...]]):
    """Texts, statistics, and how their prefixes are resampled -> numbers with intervals."""

    kind = JobKind.SCORE
    rows_type = ScoreRows
    unit_name = "scores"
    runs_model = False

    statistics: tuple[str, ...]
    resamples: int
    resample_seed: int

    @property
    def mauve_options(self) -> Mapping[str, Any] | None:
        """How MAUVE is computed; None if texts are not compared with others."""
        return None

    @property
    def procedure(self) -> int | None:
        """The version of the procedure; None for that of older score jobs."""
        return None

    @property
    def units(self) -> int:
        return len((self.mauve_options or {}).get("kmeans_seeds", ())) + len(self.statistics)

    @property
    def score_names(self) -> list[str]:
        """MAUVE and families of statistics."""
        return [*(["mauve"] if self.mauve_options is not None else []), *self.statistics]

    def rows(self, value: tuple[ScoreEntry, ...]) -> ScoreRows:
        return ScoreRows(value)

    def score_request(
        self,
        texts: TextSet,
        *,
        statistics: tuple[str, ...] | None = None,
        resamples: int | None = None,
        mauve: Mapping[str, Any] | None = None,
    ) -> ScoreRequest:
        """The request for scores of texts; arguments override the specification."""
        from harness.scoring.resampling import Resampling
        from harness.scoring.scorer import ScoreRequest

        return ScoreRequest(
            texts,
            self.statistics if statistics is None else statistics,
            Resampling(
                texts.prefixes, self.resamples if resamples is None else resamples, self.resample_seed
            ),
            self.mauve_options if mauve is None else mauve,
            self.procedure,
        )

    def time_unit(self, trial: Trial) -> float:
        """Score human texts as if they were generated, with random vectors, as many as the sweep has.

        The time is not proportional to the number of texts, so a small sample would not be representative.
        """
        prefixes = trial.prefixes()
        statistics = tuple(name for name in self.statistics if name not in _NOT_TIMED)
        # The warm-up loads libraries.
        mauve = self.mauve_options and {**self.mauve_options, "buckets": "auto"}
        warm_up = self.score_request(
            _synthetic_texts(trial, prefixes[:_WARM_UP_TEXTS]),
            statistics=statistics,
            resamples=1,
            mauve=mauve,
        )
        request = self.score_request(_synthetic_texts(trial, prefixes), statistics=statistics)
        return trial.seconds(request, warm_up=warm_up) / self.units


def scoring_options(config: SweepConfig) -> dict[str, Any]:
    """The options of a sweep for statistics, by field."""
    scoring = config.scoring
    return {
        "statistics": tuple(sorted(scoring.statistics)),
        "resamples": scoring.resamples,
        "resample_seed": scoring.resample_seed,
        "plugins": plugins(**{name: provenance(name) for name in scoring.statistics}),
    }


def logarithms(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The logarithms, without a warning for 0: perplexity raises for infinite ones."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _synthetic_texts(trial: Trial, prefixes: tuple[Prefix, ...]) -> TextSet:
    from harness.scoring.texts import Features, TextSet, TokenLikelihood

    count, samples = len(prefixes), trial.config.generation.samples
    size = (count * (2 + samples), trial.feature_width)
    vectors = np.random.default_rng(0).standard_normal(size, np.float32)
    texts = tuple(np.array(prefix.continuation_ids, dtype=np.int64) for prefix in prefixes)
    return TextSet(
        prefixes=count,
        prefix_index=np.tile(np.arange(count), samples),
        token_ids=texts * samples,
        ended=np.zeros(count * samples, dtype=bool),
        likelihood=TokenLikelihood(np.empty(0, dtype=np.int64), np.empty(0)),
        # Words of about the length of a token.
        strings=tuple(" ".join(map(str, ids.tolist())) for ids in texts) * samples,
        features=Features(vectors[2 * count :], vectors[:count], vectors[count : 2 * count]),
    )
