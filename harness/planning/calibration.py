"""How fast this machine is at the work of a sweep: a little of each kind is done, and timed.

A basis-aware rule costs what its plain rule does and the programs beside; these are timed on few texts, since
with hundreds of constraints a program takes seconds. Scores are timed on made-up vectors, and human texts in
the place of generated ones, as many as the sweep has: their time does not grow in proportion.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import bat
from harness.config.schema import Model, SweepConfig
from harness.driver.executor import AnyRequest, Executor, ScoreRequest
from harness.driver.requests import continuations_request, model_request
from harness.jobs import Job, JobKind
from harness.planning.materials import Materials, ModelCard
from harness.planning.specs import LIKELIHOOD_TOKENS
from harness.planning.work import CONTINUATIONS, Pace, Paces, count_units
from harness.scoring.resampling import Resampling
from harness.scoring.scorer import FeaturePair
from harness.scoring.texts import TextSet, TokenLikelihood
from workers.corpora import Split
from workers.features import featurize
from workers.generation import GenerationSettings
from workers.prefixes import PrefixSet
from workers.reading import DOCUMENTS_PER_BATCH
from workers.requests import GenerateRequest, MeasureRequest

_TOKENS = 8
_TEXTS = 8
_DOCUMENTS = 4
_PLAIN, _AWARE = ("eta", 0.002), ("ba-eta", 0.02)  # about equal rejection rates, on the demo model


def calibrate(
    materials: Materials,
    jobs: Sequence[Job],
    begin: Callable[[int], Callable[[int], None]] = lambda total: lambda done: None,
) -> dict[Pace, float]:
    """Do a little of the work of these jobs; return seconds per unit.

    `begin` is told how many kinds of work there are, and returns what is told how many were done.
    """
    return _Calibration(materials).rates(jobs, begin)


class _Calibration:
    def __init__(self, materials: Materials) -> None:
        self.materials, self.config = materials, materials.config
        self.executor = Executor("auto")
        self.plain_rates: dict[str, float] = {}

    def rates(self, jobs: Sequence[Job], begin: Callable[[int], Callable[[int], None]]) -> dict[Pace, float]:
        pace_of = Paces(self.materials)
        # The largest of its pace: scores of human text, for one, are without MAUVE.
        examples = {pace_of(job): job for job in sorted(jobs, key=count_units)}
        # One model after another, as loading one takes longer than the work.
        wanted = sorted(examples, key=lambda pace: (pace.model, pace.kind, pace.detail))
        show = begin(len(wanted))
        found: dict[Pace, float] = {}
        for pace in wanted:
            found[pace] = self._rate(pace, examples[pace])
            show(len(found))
        return found

    def _rate(self, pace: Pace, job: Job) -> float:
        match pace.kind:
            case JobKind.MEASURE if pace.detail == CONTINUATIONS:
                return self._continuations(self._card(pace))
            case JobKind.MEASURE:
                return self._measurement(self._card(pace))
            case JobKind.GENERATE:
                return self._generation(self._card(pace), job.spec.get("constraints"))
            case JobKind.FEATURIZE:
                return self._features()
            case JobKind.SCORE:
                return self._scores(job)

    def _card(self, pace: Pace) -> ModelCard:
        model: Model = self.config.get_model(pace.model)
        return self.materials.card(model)

    def _measurement(self, card: ModelCard) -> float:
        text = self.materials.human_text(card)
        documents = text.documents[:_DOCUMENTS]
        positions = {document.id: text.positions[document.id] for document in documents}
        sizes = tuple(self.config.measurement.basis_sizes)
        asked = MeasureRequest(model_request(card), documents, positions, sizes)
        first = {documents[0].id: positions[documents[0].id][:1]}
        self.executor.execute(replace(asked, documents=documents[:1], positions=first))  # load and compile
        return self._seconds(asked) / sum(map(len, positions.values()))

    def _continuations(self, card: ModelCard) -> float:
        prefixes = self._prefix_set(card).prefixes[:_TEXTS]
        texts = [(one.id, one.token_ids, one.continuation_ids) for one in prefixes]
        asked = continuations_request(model_request(card), texts, LIKELIHOOD_TOKENS, DOCUMENTS_PER_BATCH)
        self.executor.load(asked.model)
        return self._seconds(asked) / sum(map(len, asked.positions.values()))

    def _generation(self, card: ModelCard, constraints: int | None) -> float:
        name = card.info.name
        if name not in self.plain_rates:
            self.plain_rates[name] = self._seconds_a_token(card, *_PLAIN, self.config.generation.batch_size)
        if constraints is None:
            return self.plain_rates[name]
        plain = self._seconds_a_token(card, *_PLAIN, _TEXTS)
        aware = self._seconds_a_token(card, *_AWARE, _TEXTS, constraints)
        return self.plain_rates[name] + max(0.0, aware - plain)

    def _seconds_a_token(
        self, card: ModelCard, rule: str, parameter: float, texts: int, constraints: int = 0
    ) -> float:
        batch = self._prefix_set(card).prefixes[:texts]
        settings = GenerationSettings(
            bat.get_rule(rule, parameter), constraints, max_tokens=_TOKENS, batch_size=texts
        )
        asked = GenerateRequest(model_request(card), batch, settings)
        self.executor.execute(replace(asked, prefixes=batch[:1]))  # load, compile, prepare the basis
        return self._seconds(asked) / (len(batch) * _TOKENS)

    def _features(self) -> float:
        wanted = self.config.features
        card = self.materials.card(self.config.models[0])
        rows = self.materials.prefix_rows(card, _some_split(self.config)).entries[:_TEXTS]
        texts = [entry.text + entry.continuation for entry in rows]
        model = self.executor.load(model_request(self.materials.card(wanted)))
        began = time.perf_counter()
        # Not as a request: a worker would find in its cache what an earlier calibration has read.
        featurize(model, texts, max_tokens=wanted.max_tokens, batch_size=wanted.batch_size, cache=None)
        return (time.perf_counter() - began) / len(texts)

    def _scores(self, job: Job) -> float:
        """Score human texts as if they were generated, with vectors that look alike."""
        spec = job.spec
        prefixes = self._prefix_set(self.materials.card(self.config.models[0])).prefixes
        samples = self.config.generation.samples
        texts = TextSet(
            prefixes=len(prefixes),
            places=np.tile(np.arange(len(prefixes)), samples),
            token_ids=tuple(np.array(one.continuation_ids, dtype=np.int64) for one in prefixes) * samples,
            ended=np.zeros(len(prefixes) * samples, dtype=bool),
            likelihood=TokenLikelihood(np.empty(0, dtype=np.int64), np.empty(0)),
        )
        size = self.materials.card(self.config.features).info.hidden_size
        vectors = np.random.default_rng(0).standard_normal((len(prefixes) + len(texts), size), np.float32)
        features = FeaturePair(vectors[: len(prefixes)], vectors[len(prefixes) :])
        # Perplexity and facts of sampling need texts that were generated, and take hardly any time.
        statistics = tuple(name for name in spec["statistics"] if name not in ("perplexity", "sampling"))
        resampling = Resampling(len(prefixes), spec["resamples"], spec["resample_seed"])
        asked = ScoreRequest(texts, statistics, resampling, features, spec.get("mauve"))
        return self._seconds(asked) / count_units(job)

    def _prefix_set(self, card: ModelCard) -> PrefixSet:
        return self.materials.prefix_set(card, _some_split(self.config))

    def _seconds(self, request: AnyRequest) -> float:
        began = time.perf_counter()
        self.executor.execute(request)
        return time.perf_counter() - began


def _some_split(config: SweepConfig) -> Split:
    """A half of the corpus that the sweep continues texts of."""
    return next(stage.text_split for stage in config.stages if stage.kind == "generate")
