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
from harness.driver.requests import basis_aware_settings, continuations_request, model_request
from harness.jobs import Job, JobKind, Spec
from harness.planning.materials import Materials, ModelCard
from harness.planning.specs import LIKELIHOOD_TOKENS
from harness.planning.work import CONTINUATIONS, Pace, Paces, count_units
from harness.scoring.resampling import Resampling
from harness.scoring.scorer import FeaturePair
from harness.scoring.texts import IntArray, TextSet, TokenLikelihood
from workers.corpora import Split
from workers.features import featurize
from workers.generation import GenerationSettings
from workers.prefixes import PrefixSet
from workers.reading import DOCUMENTS_PER_BATCH
from workers.requests import GenerateRequest, MeasureRequest, ModelRequest

_TOKENS = 8
_TEXTS = 8
_DOCUMENTS = 4
_PLAIN, _AWARE = ("eta", 0.002), ("ba-eta", 0.036)  # they reject equally much, on the demo model


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
        self.plain_rates: dict[ModelRequest, float] = {}

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
                return self._measurement(self._card(pace), job.spec)
            case JobKind.GENERATE:
                return self._generation(self._card(pace), job.spec)
            case JobKind.FEATURIZE:
                return self._features()
            case JobKind.SCORE:
                return self._scores(job)

    def _card(self, pace: Pace) -> ModelCard:
        model: Model = self.config.get_model(pace.model)
        return self.materials.card(model)

    def _measurement(self, card: ModelCard, spec: Spec) -> float:
        text = self.materials.human_text(card)
        documents = text.documents[:_DOCUMENTS]
        positions = {document.id: text.positions[document.id] for document in documents}
        asked = MeasureRequest(
            model_request(card),
            documents,
            positions,
            tuple(spec["basis_sizes"]),
            spec["tolerance"],
            spec["batch_size"],
        )
        first = {documents[0].id: positions[documents[0].id][:1]}
        self.executor.execute(replace(asked, documents=documents[:1], positions=first))  # load and compile
        return self._seconds(asked) / sum(map(len, positions.values()))

    def _continuations(self, card: ModelCard) -> float:
        prefixes = self._prefix_set(card).prefixes[:_TEXTS]
        texts = [(one.id, one.token_ids, one.continuation_ids) for one in prefixes]
        asked = continuations_request(model_request(card), texts, LIKELIHOOD_TOKENS, DOCUMENTS_PER_BATCH)
        self.executor.load(asked.model)
        return self._seconds(asked) / sum(map(len, asked.positions.values()))

    def _generation(self, card: ModelCard, spec: Spec) -> float:
        plain = GenerationSettings(bat.get_rule(*_PLAIN), max_tokens=_TOKENS, batch_size=spec["batch_size"])
        if card.request not in self.plain_rates:
            self.plain_rates[card.request] = self._seconds_a_token(card, plain)
        if spec.get("constraints") is None:
            return self.plain_rates[card.request]
        few = replace(plain, batch_size=_TEXTS)
        aware = replace(few, rule=bat.get_rule(*_AWARE), **basis_aware_settings(spec))
        programs = self._seconds_a_token(card, aware) - self._seconds_a_token(card, few)
        return self.plain_rates[card.request] + max(0.0, programs)

    def _seconds_a_token(self, card: ModelCard, settings: GenerationSettings) -> float:
        """Time a batch up to its first token, which reads the prefixes, and up to a few more."""
        batch = self._prefix_set(card).prefixes[: settings.batch_size]
        asked = GenerateRequest(model_request(card), batch, settings)
        self.executor.execute(replace(asked, prefixes=batch[:1]))  # load, compile, prepare the basis
        first = self._seconds(replace(asked, settings=replace(settings, max_tokens=1)))
        step = max(0.0, self._seconds(asked) - first) / (_TOKENS - 1)
        tokens = self.config.generation.max_tokens
        return (first + step * (tokens - 1)) / (len(batch) * tokens)

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
        prefixes = self._prefix_set(self.materials.card(self.config.models[0])).prefixes
        texts = [np.array(one.continuation_ids, dtype=np.int64) for one in prefixes]
        # The first score of a process waits for libraries.
        mauve = job.spec.get("mauve")
        few = {**job.spec, "resamples": 1, "mauve": mauve and {**mauve, "buckets": "auto"}}
        self.executor.execute(self._score_request(texts[:_TEXTS], few))
        return self._seconds(self._score_request(texts, job.spec)) / count_units(job)

    def _score_request(self, texts: list[IntArray], spec: Spec) -> ScoreRequest:
        prefixes, samples = len(texts), self.config.generation.samples
        size = self.materials.card(self.config.features).info.hidden_size
        vectors = np.random.default_rng(0).standard_normal((prefixes * (1 + samples), size), np.float32)
        made = TextSet(
            prefixes=prefixes,
            places=np.tile(np.arange(prefixes), samples),
            token_ids=tuple(texts) * samples,
            ended=np.zeros(prefixes * samples, dtype=bool),
            likelihood=TokenLikelihood(np.empty(0, dtype=np.int64), np.empty(0)),
        )
        return ScoreRequest(
            made,
            # Perplexity and facts of sampling need texts that were generated, and take hardly any time.
            tuple(name for name in spec["statistics"] if name not in ("perplexity", "sampling")),
            Resampling(prefixes, spec["resamples"], spec["resample_seed"]),
            FeaturePair(vectors[:prefixes], vectors[prefixes:]),
            spec.get("mauve"),
        )

    def _prefix_set(self, card: ModelCard) -> PrefixSet:
        return self.materials.prefix_set(card, _some_split(self.config))

    def _seconds(self, request: AnyRequest) -> float:
        began = time.perf_counter()
        self.executor.execute(request)
        return time.perf_counter() - began


def _some_split(config: SweepConfig) -> Split:
    """A half of the corpus that the sweep continues texts of."""
    return next(stage.text_split for stage in config.stages if stage.kind == "generate")
