"""Loading the results of runs from a store, without a model or human text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from bat.errors import InvalidInputError
from harness.config import Resolved, Setting, SweepConfig, from_identity
from harness.jobs import (
    KINDS,
    JobSpec,
    MeasureHumanText,
    ModelIdentity,
    ScoreGenerated,
    ScoreHuman,
    ScoreRows,
    TextsJob,
    canonical_json,
    is_commit,
)
from harness.jobs.score import Score
from harness.report.results import Cost, HumanScores, Measured, Result, Results, Scored
from harness.scoring.scores import StoredScore
from harness.store import Instance, InstanceKind, Reader, Run


def load_results(reader: Reader, runs: Sequence[Run]) -> Results:
    """All results of the runs; raises if the runs cannot be compared."""
    titles = run_titles(runs)
    loaded = [_LoadedRun(reader, run, titles) for run in runs]
    _check_comparable(loaded)
    return Results(
        runs=tuple(runs),
        configs=tuple(run.config for run in loaded),
        results=tuple(result for run in loaded for result in run.results()),
        human=_merged(human for run in loaded for human in run.human()),
        measured=tuple({measured.jobs: measured for run in loaded for measured in run.measured()}.values()),
        unfinished=sum(run.unfinished for run in loaded),
    )


def run_titles(runs: Sequence[Run]) -> dict[int, str]:
    """What to call each run: its name, with its number if several have that name."""
    names = Counter(run.name for run in runs)
    return {run.id: run.name if names[run.name] == 1 else f"{run.name} (run {run.id})" for run in runs}


def load_revisions(reader: Reader, results: Results) -> dict[str, str]:
    """The commits of the hub models that wrote the texts, by the names of the models."""
    first = {result.model_name: result.seeds[0].generate_jobs[0] for result in results.results}
    specs = reader.parsed_jobs(first.values())
    models = {name: specs[job].model_identity for name, job in first.items()}
    return {
        name: model.revision
        for name, model in models.items()
        if model is not None and model.revision is not None and is_commit(model.revision)
    }


def load_cost(reader: Reader, result: Result) -> Cost:
    """The cost of the linear programs of a result."""
    jobs = [job for scored in result.seeds for job in scored.generate_jobs]
    tokens, seconds = reader.solver_cost(jobs)
    return Cost(tokens, seconds, reader.time_use(jobs))


@dataclass
class _LoadedRun:
    reader: Reader
    run: Run
    titles: Mapping[int, str]  # of all runs of the report
    config: SweepConfig = field(init=False)
    unfinished: int = field(init=False)

    def __post_init__(self) -> None:
        self.config = from_identity(self.run.config)
        progress = self.reader.progress(self.run.id)
        self.unfinished = sum(kind.total - kind.done for kind in progress)
        self._resolutions = {
            resolution.parameter: resolution for resolution in self.reader.resolutions(self.run.id)
        }
        self._instances = self.reader.instances(self.run.id)
        self._prefixes: dict[str, int] = {}  # in each set
        self._specs: dict[str, JobSpec[Any]] = {}  # of score jobs that are done
        self._scores = self._load_scores()
        self._check_models()

    def _load_scores(self) -> dict[str, dict[str, StoredScore]]:
        """The scores of the jobs of all kinds that give scores and are done, by job and by name."""
        roles = {kind.role for kind in KINDS if kind.rows_type is ScoreRows}
        jobs = [job for instance in self._instances for role, job in instance.jobs if role in roles]
        done = self.reader.done_ids(jobs)
        self._specs = self.reader.parsed_jobs(done)
        scores: dict[str, dict[str, StoredScore]] = {job: {} for job in jobs if job in done}
        for score in self.reader.scores(list(scores)):
            spec = self._specs[score.job_id]
            if isinstance(spec, Score):
                score = replace(score, resampling=(spec.resamples, spec.resample_seed))
            scores[score.job_id][score.name] = score
        return scores

    def _scores_of(self, instance: Instance) -> dict[str, StoredScore]:
        """The scores of an instance by name, of all its jobs that give scores."""
        scores: dict[str, StoredScore] = {}
        for _, job in instance.jobs:
            for name, score in self._scores.get(job, {}).items():
                scores.setdefault(name, score)
        return scores

    def _check_models(self) -> None:
        """Raise if a model has two versions: a report only distinguishes models by name and precision."""
        writers = [instance.job_ids(TextsJob.role)[:1] for instance in self._instances]
        by_label: dict[str, ModelIdentity] = {}
        for writer in self.reader.parsed_jobs(job for jobs in writers for job in jobs).values():
            model = writer.model_identity
            assert model is not None
            first = by_label.setdefault(model.label, model)
            if first != model:
                raise InvalidInputError(
                    f"a report must have one version of each model; run {self.run.name!r} has texts of "
                    f"{model.shown} with weights {first.weights[:12]} and {model.weights[:12]}, "
                    "from two revisions. Run each revision as a sweep of its own."
                )

    def _of_kind(self, kind: InstanceKind) -> list[Instance]:
        return [instance for instance in self._instances if instance.kind is kind]

    @property
    def prefix_sets(self) -> set[str]:
        """The prefixes that the run's texts continue."""
        return {
            instance.prefix_set
            for instance in self._of_kind(InstanceKind.GENERATE)
            if instance.prefix_set is not None and self._score_job(instance) is not None
        }

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return self.config.corpus.name

    def results(self) -> Iterator[Result]:
        """The scored settings in the order of the sweep, each with all its seeds."""
        grouped: dict[tuple[str, str, str], list[Instance]] = {}
        for instance in self._of_kind(InstanceKind.GENERATE):
            if self._score_job(instance) is not None:
                assert instance.method is not None
                key = (instance.stage, f"{instance.model}: {instance.method}", canonical_json(instance.asked))
                grouped.setdefault(key, []).append(instance)
        for seeds in grouped.values():
            yield self._result(seeds)

    def _result(self, seeds: Sequence[Instance]) -> Result:
        first = seeds[0]
        asked = Setting.from_dict(first.asked or {})
        assert first.method is not None
        assert first.prefix_set is not None
        return Result(
            run=self.titles[self.run.id],
            stage=first.stage,
            split=first.split,
            model=first.model,
            model_name=self.config.get_model(first.model).name,
            method=first.method,
            setting=replace(asked, parameter=Resolved(first.parameter)),
            asked=asked,
            resolution=None if first.resolution is None else self._resolutions.get(first.resolution),
            prefix_set=first.prefix_set,
            seeds=tuple(map(self._scored, seeds)),
            run_id=self.run.id,
            prefixes=self._count_prefixes(first.prefix_set),
            of_several_runs=len(self.titles) > 1,
        )

    def _count_prefixes(self, prefix_set: str) -> int:
        if prefix_set not in self._prefixes:
            self._prefixes[prefix_set] = self.reader.prefix_set(prefix_set).prefixes
        return self._prefixes[prefix_set]

    def _scored(self, instance: Instance) -> Scored:
        job = self._score_job(instance)
        assert job is not None
        spec = self._specs[job]
        assert isinstance(spec, ScoreGenerated)
        return Scored(
            seed=instance.seed,
            score_job=job,
            featurize_jobs=spec.generated,
            generate_jobs=spec.texts.generated,
            scores=self._scores_of(instance),
        )

    def _score_job(self, instance: Instance) -> str | None:
        """The job that scored a setting with a seed, if it is done."""
        return self._find_job(instance, ScoreGenerated)

    def _find_job(self, instance: Instance, kind: type[Score]) -> str | None:
        """The first job of a kind that is done. Other kinds of score jobs may have the same role."""
        return next((job for _, job in instance.jobs if isinstance(self._specs.get(job), kind)), None)

    def human(self) -> Iterator[HumanScores]:
        """The scores of human text."""
        for instance in self._of_kind(InstanceKind.HUMAN):
            job = self._find_job(instance, ScoreHuman)
            if job is not None and instance.prefix_set is not None:
                yield HumanScores(instance.model, instance.prefix_set, job, self._scores_of(instance))

    def measured(self) -> Iterator[Measured]:
        """The human text measured by each model, if all of its jobs are done."""
        for instance in self._of_kind(InstanceKind.MEASURE):
            jobs = instance.job_ids(MeasureHumanText.role)
            if jobs and self.reader.done_ids(jobs) == set(jobs):
                spec = self.reader.parsed_jobs(jobs[:1])[jobs[0]]
                assert isinstance(spec, MeasureHumanText)
                run = f", {self.titles[self.run.id]}" if len(self.titles) > 1 else ""
                yield Measured(instance.model, spec.constraints, jobs, self.run.id, f"{instance.model}{run}")


def _merged(human: Iterable[HumanScores]) -> tuple[HumanScores, ...]:
    """One entry for each model and set of prefixes, with the scores of all runs."""
    merged: dict[tuple[str, str], HumanScores] = {}
    for scores in human:
        key = (scores.model, scores.prefix_set)
        first = merged.setdefault(key, scores)
        merged[key] = replace(first, scores={**scores.scores, **first.scores})
    return tuple(merged.values())


def _check_comparable(loaded: Sequence[_LoadedRun]) -> None:
    first = loaded[0]
    for other in loaded[1:]:
        if other.corpus != first.corpus and not first.prefix_sets & other.prefix_sets:
            raise InvalidInputError(
                f"runs of one report must continue the same human text; {first.run.name!r} has "
                f"{first.corpus}, {other.run.name!r} has {other.corpus}. Report them separately."
            )
        for key in ("features", "scoring.mauve"):
            if attrgetter(key)(first.config) != attrgetter(key)(other.config):
                raise InvalidInputError(
                    f"runs of one report must compute MAUVE in the same way; {first.run.name!r} and "
                    f"{other.run.name!r} differ in {key}. Report them separately."
                )
        for key in ("prefixes.tokens", "generation.max_tokens"):
            lengths = [attrgetter(key)(run.config) for run in (first, other)]
            if first.prefix_sets and other.prefix_sets and lengths[0] != lengths[1]:
                raise InvalidInputError(
                    f"runs of one report must have texts of the same length; {key} is {lengths[0]} in "
                    f"{first.run.name!r} and {lengths[1]} in {other.run.name!r}. Report them separately."
                )
