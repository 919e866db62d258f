"""How much work a plan is, and how long it would take.

Work is counted in units that take about equally long: tokens generated, human tokens read, texts read,
scores. A calibration does a little of each kind on this machine and counts seconds per unit.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import bat
from harness.config.schema import SweepConfig
from harness.driver.executor import Executor
from harness.driver.requests import continuations_request, model_request
from harness.jobs import Job, JobKind
from harness.planning.materials import Materials, ModelCard
from harness.planning.planner import Plan
from harness.planning.specs import LIKELIHOOD_TOKENS
from workers.generation import GenerationSettings
from workers.reading import DOCUMENTS_PER_BATCH
from workers.requests import FeaturizeRequest, GenerateRequest, MeasureRequest, ModelRequest

# What sampling needs on average, by the demo model at parameters that reject as much as the paper's choices.
PROGRAMS_PER_TOKEN = 0.25
UNIT_NAMES = {
    JobKind.MEASURE: "human tokens",
    JobKind.GENERATE: "tokens at most",
    JobKind.FEATURIZE: "texts",
    JobKind.SCORE: "scores",
}
_CALIBRATION_TOKENS = 8
_CALIBRATION_TEXTS = 8
_CALIBRATION_DOCUMENTS = 4
_CONTINUATIONS = ", continuations"


@dataclass(frozen=True)
class Work:
    """The jobs of one stage and kind for one model."""

    stage: str
    kind: JobKind
    model: str
    jobs: int
    done: int
    units: int  # of jobs that are not done
    programs: int  # linear programs, estimated for basis-aware generation
    seconds: float | None  # on one worker; None without a calibration


def count_work(
    config: SweepConfig, plan: Plan, done: set[str], rates: dict[tuple[JobKind, str], float]
) -> list[Work]:
    """Count a plan's work by stage, kind and model; `rates` are seconds per unit."""
    found: dict[tuple[int, JobKind, str, str], list[Job]] = {}
    for stage, job in plan.jobs:
        name = job.spec["model"]["name"] if "model" in job.spec else ""
        found.setdefault((stage, job.kind, name, _pace(job, name)), []).append(job)
    work = []
    for (stage, kind, model, _), jobs in found.items():
        left = [job for job in jobs if job.id not in done]
        units = sum(_units(config, job) for job in left)
        rate = rates.get((kind, _pace(jobs[0], model)))
        work.append(
            Work(
                stage=config.stages[stage].name,
                kind=kind,
                model=model,
                jobs=len(jobs),
                done=len(jobs) - len(left),
                units=units,
                programs=round(sum(_programs(config, job) for job in left)),
                seconds=None if rate is None else rate * units,
            )
        )
    return work


def calibrate(
    materials: Materials, plan: Plan, told: Callable[[str], None] = lambda _: None
) -> dict[tuple[JobKind, str], float]:
    """Do a little of each kind of work here; return seconds per unit by kind and model."""
    executor = Executor("auto")
    rates: dict[tuple[JobKind, str], float] = {}
    config = materials.config
    for model in config.models:
        card = materials.card(model)
        request, name = model_request(card), card.info.name
        kinds = {job.kind for _, job in plan.jobs if job.spec.get("model", {}).get("name") == name}
        if JobKind.GENERATE in kinds or plan.unresolved:
            told(f"generating with {name}")
            rates[JobKind.GENERATE, name] = _generation_rate(executor, materials, request)
        if JobKind.MEASURE in kinds:
            told(f"measuring with {name}")
            text = materials.human_text(card)
            documents = text.documents[:_CALIBRATION_DOCUMENTS]
            positions = {document.id: text.positions[document.id] for document in documents}
            asked = MeasureRequest(request, documents, positions, tuple(config.measurement.basis_sizes))
            tokens = sum(map(len, positions.values()))
            rates[JobKind.MEASURE, name] = _seconds(executor, asked) / tokens
        if any(_pace(job, name) != name for _, job in plan.jobs):
            told(f"reading human continuations with {name}")
            rates[JobKind.MEASURE, f"{name}{_CONTINUATIONS}"] = _continuation_rate(executor, materials, card)
    card = materials.card(config.features)
    told(f"reading with {card.info.name}")
    texts = _some_texts(materials)
    asked_features = FeaturizeRequest(
        model_request(card), texts, config.features.max_tokens, config.features.batch_size
    )
    rates[JobKind.FEATURIZE, card.info.name] = _seconds(executor, asked_features) / len(texts)
    return rates


def _pace(job: Job, model: str) -> str:
    """What jobs of one pace have in common: human continuations are short, and take no programs."""
    is_continuation = job.kind is JobKind.MEASURE and "prefixes" in job.spec
    return f"{model}{_CONTINUATIONS}" if is_continuation else model


def _continuation_rate(executor: Executor, materials: Materials, card: ModelCard) -> float:
    prefix_set = materials.prefix_set(card, _some_split(materials.config))
    asked = continuations_request(
        model_request(card),
        [(one.id, one.token_ids, one.continuation_ids) for one in prefix_set.prefixes[:_CALIBRATION_TEXTS]],
        LIKELIHOOD_TOKENS,
        DOCUMENTS_PER_BATCH,
    )
    return _seconds(executor, asked) / sum(map(len, asked.positions.values()))


def _generation_rate(executor: Executor, materials: Materials, request: ModelRequest) -> float:
    config = materials.config
    model = next(m for m in config.models if materials.card(m).request.name == request.name)
    found = materials.prefix_set(materials.card(model), _some_split(config))
    batch = found.prefixes[: config.generation.batch_size]
    settings = GenerationSettings(
        bat.get_rule("eta", 0.002), max_tokens=_CALIBRATION_TOKENS, batch_size=config.generation.batch_size
    )
    asked = GenerateRequest(request, batch, settings)
    executor.execute(replace(asked, prefixes=batch[:1]))  # load and compile
    return _seconds(executor, asked) / (len(batch) * _CALIBRATION_TOKENS)


def _some_texts(materials: Materials) -> tuple[str, ...]:
    config = materials.config
    rows = materials.prefix_rows(materials.card(config.models[0]), _some_split(config))
    return tuple(entry.text + entry.continuation for entry in rows.entries[:_CALIBRATION_TEXTS])


def _some_split(config: SweepConfig):  # type: ignore[no-untyped-def]
    splits = [stage.text_split for stage in config.stages if stage.kind == "generate"]
    return splits[0] if splits else config.measurement.split


def _seconds(executor: Executor, request: GenerateRequest | MeasureRequest | FeaturizeRequest) -> float:
    executor.load(request.model)
    began = time.perf_counter()
    executor.execute(request)
    return time.perf_counter() - began


def _units(config: SweepConfig, job: Job) -> int:
    spec = job.spec
    match job.kind:
        case JobKind.MEASURE if "prefixes" in spec:
            texts = int(spec["prefixes"]["stop"] - spec["prefixes"]["start"])
            return texts * int(spec["tokens_per_text"])
        case JobKind.MEASURE:
            return len(spec["documents"]) * int(spec["positions"]["per_document"])
        case JobKind.GENERATE:
            return int((spec["prefixes"]["stop"] - spec["prefixes"]["start"]) * spec["max_tokens"])
        case JobKind.FEATURIZE:
            return int(spec["texts"]["stop"] - spec["texts"]["start"])
        case JobKind.SCORE:
            return len(spec.get("mauve", {}).get("kmeans_seeds", ())) + len(spec["statistics"])


def _programs(config: SweepConfig, job: Job) -> float:
    if job.kind is JobKind.MEASURE:
        return float(_units(config, job) * len(job.spec.get("basis_sizes", ())))
    if job.kind is JobKind.GENERATE and job.spec.get("constraints"):
        return PROGRAMS_PER_TOKEN * _units(config, job)
    return 0.0


def totals(work: Iterable[Work]) -> dict[str, float]:
    """Sums over all work, for machines."""
    items = list(work)
    return {
        "jobs": sum(one.jobs for one in items),
        "done": sum(one.done for one in items),
        "programs": sum(one.programs for one in items),
        "seconds": sum(one.seconds or 0.0 for one in items),
        "uncalibrated": sum(one.seconds is None and one.jobs > one.done for one in items),
    }


def as_records(work: Iterable[Work]) -> list[dict[str, object]]:
    """Plain values, for machines."""
    return [dataclasses.asdict(one) for one in work]
