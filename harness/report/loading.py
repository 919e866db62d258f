"""Results of runs, read from a store. Neither a model nor human text is loaded for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from bat.errors import InvalidInputError
from harness.config import MethodInstance, Resolved, Setting, SweepConfig, expand, from_identity, measurements
from harness.jobs import JobKind, Spec, is_commit
from harness.planning.finished import resolution_name
from harness.report.results import Cost, HumanScores, Measured, Result, Results, Scored
from harness.store import JobState, Reader, Resolution, Run, StoredJob, StoredScore

# What tells the texts of two settings apart: model, dtype, rule, parameter, constraints, prefixes, seed.
_Key = tuple[str, str, str, float | None, int | None, str, int]


def load_results(reader: Reader, runs: Sequence[Run]) -> Results:
    """Everything that the runs have to show; runs of different texts are refused."""
    loaded = [_LoadedRun(reader, run) for run in runs]
    _check_alike(loaded)
    return Results(
        runs=tuple(runs),
        configs=tuple(one.config for one in loaded),
        results=tuple(result for one in loaded for result in one.results()),
        human=_merged(human for one in loaded for human in one.human()),
        measured=tuple({measured.jobs: measured for one in loaded for measured in one.measured()}.values()),
        unfinished=sum(one.unfinished for one in loaded),
    )


def load_revisions(reader: Reader, results: Results) -> dict[str, str]:
    """The commits of hub models that texts were written with, by the names of the models."""
    first = {result.model_name: result.seeds[0].generate_jobs[0] for result in results.results}
    jobs = reader.find_jobs(first.values())
    found = {name: jobs[job].spec["model"]["revision"] for name, job in first.items()}
    return {name: revision for name, revision in found.items() if is_commit(revision)}


def load_cost(reader: Reader, result: Result) -> Cost:
    """What the programs behind a result cost."""
    jobs = [job for scored in result.seeds for job in scored.generate_jobs]
    tokens, seconds = reader.solver_cost(jobs)
    return Cost(tokens, seconds)


@dataclass
class _LoadedRun:
    reader: Reader
    run: Run
    config: SweepConfig = field(init=False)
    unfinished: int = field(init=False)

    def __post_init__(self) -> None:
        self.config = from_identity(self.run.config)
        progress = self.reader.progress(self.run.id)
        self.unfinished = sum(one.total - one.done for one in progress)
        self._resolutions = {one.parameter: one for one in self.reader.resolutions(self.run.id)}
        self._score_jobs = list(self.reader.jobs(self.run.id, JobKind.SCORE, JobState.DONE))
        self._specs = {job.id: job.spec for job in self._score_jobs}
        self._scores: dict[str, dict[str, StoredScore]] = {}
        for score in self.reader.scores([job.id for job in self._score_jobs]):
            self._scores.setdefault(score.job_id, {})[score.name] = score
        self._writers = self._find_writers()
        self._check_models()

    def _find_writers(self) -> dict[str, StoredJob]:
        """The first generate job behind each score job: the others differ in their shard alone."""
        first = {
            job.id: job.spec["texts"]["generated"][0]
            for job in self._score_jobs
            if "generated" in job.spec["texts"]
        }
        found = self.reader.find_jobs(first.values())
        return {job_id: found[writer] for job_id, writer in first.items()}

    def _check_models(self) -> None:
        """A sweep tells models apart by name and precision here; what it loaded must be as distinct."""
        known: dict[tuple[str, str], Any] = {}
        for writer in self._writers.values():
            model = writer.spec["model"]
            named = (model["name"], model["dtype"])
            if known.setdefault(named, model) != model:
                raise InvalidInputError(
                    f"a report needs one version of each model; run {self.run.name!r} has texts of "
                    f"{named[0]} with weights {known[named]['weights'][:12]} and {model['weights'][:12]}, "
                    "from two revisions. Run each revision as a sweep of its own."
                )

    @property
    def prefix_sets(self) -> set[str]:
        """The prefixes that the run's texts continue."""
        return {str(writer.spec["prefixes"]["set"]) for writer in self._writers.values()}

    @property
    def corpus(self) -> str:
        """What people call the corpus."""
        return self.config.corpus.name

    def results(self) -> Iterator[Result]:
        """Settings in the order of the sweep, as far as they are scored."""
        by_key = {_key(writer.spec): self._scored(job_id) for job_id, writer in self._writers.items()}
        splits = {named: self.reader.prefix_set(named).split for named in sorted(self.prefix_sets)}
        grouped: dict[tuple[str, str, str, Setting], list[MethodInstance]] = {}
        for instance in expand(self.config):
            named = (instance.stage, instance.model, instance.method, instance.setting)
            grouped.setdefault(named, []).append(instance)
        for (stage, model_title, method, asked), instances in grouped.items():
            known = self._resolve(instances[0])
            if known is None:
                continue
            setting, resolution = known
            model = self.config.get_model(model_title)
            for prefix_set, split in splits.items():
                if split != instances[0].split:
                    continue
                name = _full_name(model.name)
                keys = [_key_of(name, model.dtype, setting, prefix_set, one.seed) for one in instances]
                seeds = tuple(by_key[key] for key in keys if key in by_key)
                if not seeds:
                    continue
                yield Result(
                    run=self.run.name,
                    stage=stage,
                    split=split,
                    model=model_title,
                    model_name=model.name,
                    method=method,
                    setting=setting,
                    asked=asked,
                    resolution=resolution,
                    prefix_set=prefix_set,
                    seeds=seeds,
                    run_id=self.run.id,
                )

    def human(self) -> Iterator[HumanScores]:
        """The scores of what people wrote."""
        for job in self._score_jobs:
            if "human" in job.spec["texts"]:
                title = self._title_of(job.spec)
                scores = self._scores.get(job.id, {})
                yield HumanScores(title, job.spec["texts"]["human"], job.id, scores)

    def measured(self) -> Iterator[Measured]:
        """The human text measured for each model, where all of it is."""
        jobs = [job for job in self.reader.jobs(self.run.id, JobKind.MEASURE) if "prefixes" not in job.spec]
        for wanted in measurements(self.config):
            own = [job for job in jobs if self._title_of(job.spec) == wanted.model]
            if own and all(job.state is JobState.DONE for job in own):
                sizes = tuple(own[0].spec["basis_sizes"])
                yield Measured(wanted.model, sizes, tuple(job.id for job in own), self.run.id)

    def _resolve(self, instance: MethodInstance) -> tuple[Setting, Resolution | None] | None:
        if isinstance(instance.setting.parameter, Resolved):
            return instance.setting, None
        resolution = self._resolutions.get(resolution_name(instance))
        return None if resolution is None else (instance.setting.at(resolution.value), resolution)

    def _scored(self, job_id: str) -> Scored:
        spec = self._specs[job_id]
        return Scored(
            seed=self._writers[job_id].spec["seed"],
            score_job=job_id,
            featurize_jobs=tuple(spec["generated"]),
            generate_jobs=tuple(spec["texts"]["generated"]),
            scores=self._scores.get(job_id, {}),
        )

    def _title_of(self, spec: Spec) -> str:
        named = (spec["model"]["name"], spec["model"]["dtype"])
        for model in self.config.models:
            if (_full_name(model.name), model.dtype) == named:
                return model.title
        return str(named[0])


def _merged(found: Iterable[HumanScores]) -> tuple[HumanScores, ...]:
    """One entry for each model and set of prefixes, with the scores that any run has of it."""
    merged: dict[tuple[str, str], HumanScores] = {}
    for human in found:
        key = (human.model, human.prefix_set)
        first = merged.setdefault(key, human)
        merged[key] = replace(first, scores={**human.scores, **first.scores})
    return tuple(merged.values())


def _full_name(name: str) -> str:
    """What a model is called in the specifications of jobs."""
    if not name.startswith("fake:"):
        return name
    from workers.models import full_name  # brings in torch, which fake models take anyway

    return full_name(name)


def _key(spec: Spec) -> _Key:
    return (
        spec["model"]["name"],
        spec["model"]["dtype"],
        spec["rule"],
        None if spec["parameter"] is None else float(spec["parameter"]),
        spec.get("constraints"),
        spec["prefixes"]["set"],
        spec["seed"],
    )


def _key_of(name: str, dtype: str, setting: Setting, prefix_set: str, seed: int) -> _Key:
    assert isinstance(setting.parameter, Resolved)
    return (name, dtype, setting.rule, setting.parameter.value, setting.constraints, prefix_set, seed)


def _check_alike(loaded: Sequence[_LoadedRun]) -> None:
    first = loaded[0]
    for other in loaded[1:]:
        if other.corpus != first.corpus:
            raise InvalidInputError(
                f"runs of one report must continue the same human text; {first.run.name!r} has "
                f"{first.corpus}, {other.run.name!r} has {other.corpus}. Report them one by one."
            )
        for key in ("features", "scoring.mauve"):
            if attrgetter(key)(first.config) != attrgetter(key)(other.config):
                raise InvalidInputError(
                    f"runs of one report must make MAUVE in the same way; {first.run.name!r} and "
                    f"{other.run.name!r} differ in {key}. Report them one by one."
                )
        models = {model.name for model in first.config.models} & {model.name for model in other.config.models}
        if models and first.prefix_sets and other.prefix_sets and not first.prefix_sets & other.prefix_sets:
            raise InvalidInputError(
                f"runs of one report must continue the same prefixes; {first.run.name!r} and "
                f"{other.run.name!r} share none, though both are of {first.corpus}. Report them one by one, "
                "or give their sweeps the same prefixes and generation.max_tokens."
            )
