"""The provenance of a report: runs, configuration, versions, models, texts, machines and dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from harness.jobs import CorpusIdentity, ModelIdentity
from harness.report.results import Results
from harness.store import JobState, Reader, Run, StoredJob

Facts = tuple[tuple[str, str], ...]

_MACHINE = ("processor", "cores", "machine")  # keys of a run's versions that are not libraries
# Jobs that ran differently from the plan and are listed one by one.
_LISTED = 20


def provenance(reader: Reader, results: Results, *, now: datetime | None = None) -> Facts:
    """Return pairs of a name and a value; `now` is when the report is written."""
    seen = _Seen()
    for run in results.runs:
        for job in reader.jobs(run.id):
            seen.add(job)
    facts: list[tuple[str, str]] = []
    for run in results.runs:
        facts += _of_run(run, several=len(results.runs) > 1)
    facts += seen.models()
    facts += [("reproducibility", limits) for limits in ["\n".join(seen.limits)] if limits]
    facts += [("imported texts", origins) for origins in ["\n".join(sorted(seen.origins))] if origins]
    facts += [("corpus", corpus) for corpus in ["\n".join(sorted(seen.corpora))] if corpus]
    facts += _prefix_sets(reader, seen)
    facts += seen.jobs()
    finished = [("last job finished", _date(seen.finished))] if seen.finished is not None else []
    return (
        *facts,
        *finished,
        ("report written", _date(now or datetime.now(UTC))),
        ("database", reader.address),
        ("hardware", _hardware(results)),
    )


def _of_run(run: Run, *, several: bool) -> Iterator[tuple[str, str]]:
    from harness.export.run_files import config_yaml

    suffix = f" of {run.name}" if several else ""
    yield f"run{suffix}", f"{run.name}, number {run.id}"
    yield f"configuration hash{suffix}", configuration_hash(run)
    version = run.config.get("result_version")
    if version is not None:
        yield f"version of results{suffix}", str(version)
    libraries = sorted(item for item in run.versions.items() if item[0] not in _MACHINE)
    versions = ", ".join(f"{name} {value}" for name, value in libraries)
    yield f"versions at the latest start{suffix}", versions or "not recorded"
    yield f"first start{suffix}", _date(run.created_at)
    yield f"latest start{suffix}", _date(run.started_at)
    config = {key: value for key, value in run.config.items() if key != "result_version"}
    yield f"configuration{suffix}", config_yaml(config)


def configuration_hash(run: Run) -> str:
    """The SHA-256 of a run's configuration, the same on every machine."""
    return run.configuration_hash


@dataclass
class _Seen:
    """Models, corpora and prefix sets of jobs, each once."""

    tasks: dict[str, dict[str, None]] = field(default_factory=dict)  # model -> what it did
    corpora: set[str] = field(default_factory=set)
    origins: set[str] = field(default_factory=set)
    limits: dict[str, None] = field(default_factory=dict)  # of how far results can be reproduced
    prefix_sets: dict[str, None] = field(default_factory=dict)
    states: dict[str, JobState] = field(default_factory=dict)
    adjusted: dict[str, str] = field(default_factory=dict)
    finished: datetime | None = None

    def add(self, job: StoredJob) -> None:
        if job.id in self.states:  # of an earlier run
            return
        self.states[job.id] = job.state
        if job.finished_at is not None:
            self.finished = max(self.finished or job.finished_at, job.finished_at)
        if job.adjustment:
            changes = ", ".join(f"{name} {value}" for name, value in job.adjustment.items())
            self.adjusted[job.id] = f"{job.kind} {job.id[:12]}: {changes}"
        spec = job.parse()
        if spec.model_identity is not None:
            self.tasks.setdefault(_model(spec.model_identity), {})[spec.model_task] = None
        if spec.reproducibility is not None:
            self.limits[spec.reproducibility] = None
        if spec.origin is not None:
            self.origins.add(spec.origin)
        if spec.corpus_identity is not None:
            self.corpora.add(_corpus(spec.corpus_identity))
        if spec.prefix_set is not None:
            self.prefix_sets[spec.prefix_set] = None

    def models(self) -> Iterator[tuple[str, str]]:
        described = [f"{model}; {', '.join(tasks)}" for model, tasks in self.tasks.items()]
        if described:
            yield ("model" if len(described) == 1 else "models"), "\n".join(described)

    def jobs(self) -> Iterator[tuple[str, str]]:
        done = sum(state is JobState.DONE for state in self.states.values())
        yield "jobs", f"{done:,} done, {len(self.states) - done:,} not done"
        listed = list(self.adjusted.values())
        more = [f"and {len(listed) - _LISTED} more"] if len(listed) > _LISTED else []
        yield "jobs that ran differently from the plan", "\n".join([*listed[:_LISTED], *more]) or "none"


def _model(model: ModelIdentity) -> str:
    revision = f"revision {model.revision}" if model.revision else "no revision"
    fingerprints = f"weights {model.weights}, tokenizer {model.tokenizer}"
    return f"{model.shown}: {revision}, {model.dtype}, {fingerprints}"


def _corpus(corpus: CorpusIdentity) -> str:
    return f"{corpus.shown}, revision {corpus.revision}, split {corpus.split}"


def _prefix_sets(reader: Reader, seen: _Seen) -> Iterator[tuple[str, str]]:
    lines = []
    for set_id in seen.prefix_sets:
        if reader.has_prefix_set(set_id):
            stored = reader.prefix_set(set_id)
            lines.append(
                f"{stored.id}: {stored.prefixes:,} prefixes, {stored.corpus}, revision "
                f"{stored.revision}, split {stored.split}"
            )
    if lines:
        yield ("prefix set" if len(lines) == 1 else "prefix sets"), "\n".join(lines)


def _hardware(results: Results) -> str:
    """The machines of the drivers; earlier versions recorded only the architecture."""
    recorded = []
    for run in results.runs:
        processor, cores, machine = (run.versions.get(key) for key in _MACHINE)
        parts = [processor, f"{cores} cores" if cores else None, machine]
        recorded.append(", ".join(str(part) for part in parts if part))
    machines = ", ".join(dict.fromkeys(text for text in recorded if text)) or "not recorded"
    return f"{machines} (of the driver at the latest start)"


def _date(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
