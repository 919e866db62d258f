"""Where a report comes from: runs, configuration, versions, models, texts, machines and dates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.jobs import JobKind, Spec, canonical_json
from harness.report.results import Results
from harness.store import JobState, Reader, Run, StoredJob

Facts = tuple[tuple[str, str], ...]

_ROLES = {
    JobKind.GENERATE: "wrote texts",
    JobKind.MEASURE: "measured human text",
    JobKind.FEATURIZE: "read texts for MAUVE",
    JobKind.SCORE: "lent its tokens to scores of human text",
}
_MACHINE = ("processor", "cores", "machine")  # what among a run's versions is none
# Jobs done otherwise than planned that are listed one by one.
_LISTED = 20


def provenance(reader: Reader, results: Results, *, now: datetime | None = None) -> Facts:
    """Return what is known, as pairs of a name and a value; `now` is when the report is written."""
    seen = _Seen()
    for run in results.runs:
        for job in reader.jobs(run.id):
            seen.add(job)
    facts: list[tuple[str, str]] = []
    for run in results.runs:
        facts += _of_run(run, several=len(results.runs) > 1)
    facts += seen.models()
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
    named = ", ".join(f"{name} {value}" for name, value in libraries)
    yield f"versions at the latest start{suffix}", named or "not recorded"
    yield f"first start{suffix}", _date(run.created_at)
    yield f"latest start{suffix}", _date(run.started_at)
    config = {key: value for key, value in run.config.items() if key != "result_version"}
    yield f"configuration{suffix}", config_yaml(config)


def configuration_hash(run: Run) -> str:
    """The SHA-256 of everything that tells the run from others: the same wherever it is run."""
    return hashlib.sha256(canonical_json(run.config).encode()).hexdigest()


@dataclass
class _Seen:
    """What the specifications of jobs name, each once."""

    roles: dict[str, dict[str, None]] = field(default_factory=dict)  # model -> what it did
    corpora: set[str] = field(default_factory=set)
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
        if isinstance(model := job.spec.get("model"), Mapping):
            self.roles.setdefault(_model(model), {})[_ROLES[job.kind]] = None
        if isinstance(corpus := job.spec.get("corpus"), Mapping):
            self.corpora.add(_corpus(corpus))
        self.prefix_sets |= dict.fromkeys(_named_sets(job.spec))

    def models(self) -> Iterator[tuple[str, str]]:
        described = [f"{model}; {', '.join(roles)}" for model, roles in self.roles.items()]
        if described:
            yield ("model" if len(described) == 1 else "models"), "\n".join(described)

    def jobs(self) -> Iterator[tuple[str, str]]:
        done = sum(state is JobState.DONE for state in self.states.values())
        yield "jobs", f"{done:,} done, {len(self.states) - done:,} not done"
        listed = list(self.adjusted.values())
        more = [f"and {len(listed) - _LISTED} more"] if len(listed) > _LISTED else []
        yield "jobs done otherwise than planned", "\n".join([*listed[:_LISTED], *more]) or "none"


def _model(model: Mapping[str, Any]) -> str:
    facts = [f"revision {model['revision']}" if model.get("revision") else "no revision"]
    facts += [str(model[key]) for key in ("dtype",) if model.get(key)]
    facts += [f"{key} {model[key]}" for key in ("weights", "tokenizer") if model.get(key)]
    return f"{model.get('name')}: {', '.join(facts)}"


def _corpus(corpus: Mapping[str, Any]) -> str:
    known = [f"{key} {corpus[key]}" for key in ("revision", "split") if corpus.get(key)]
    return ", ".join([str(corpus.get("name")), *known])


def _named_sets(spec: Spec) -> Iterator[str]:
    for place in ("prefixes", "texts"):
        named = spec.get(place)
        key = "set" if place == "prefixes" else "human"
        if isinstance(named, Mapping) and key in named:
            yield str(named[key])


def _prefix_sets(reader: Reader, seen: _Seen) -> Iterator[tuple[str, str]]:
    lines = []
    for named in seen.prefix_sets:
        if reader.has_prefix_set(named):
            found = reader.prefix_set(named)
            lines.append(
                f"{found.id}: {found.prefixes:,} prefixes, {found.corpus}, revision "
                f"{found.revision}, split {found.split}"
            )
    if lines:
        yield ("prefix set" if len(lines) == 1 else "prefix sets"), "\n".join(lines)


def _hardware(results: Results) -> str:
    """What the drivers ran on; runs of earlier versions recorded the architecture alone."""
    recorded = []
    for run in results.runs:
        processor, cores, machine = (run.versions.get(key) for key in _MACHINE)
        parts = [processor, f"{cores} cores" if cores else None, machine]
        recorded.append(", ".join(str(part) for part in parts if part))
    known = ", ".join(dict.fromkeys(text for text in recorded if text)) or "not recorded"
    return f"{known} (of the driver at the latest start)"


def _date(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
