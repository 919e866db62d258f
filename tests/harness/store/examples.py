"""Jobs and results to fill stores with, small and like real ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import update

from bat.acceptance import Acceptance
from bat.random import Key
from harness.jobs import (
    FeatureRows,
    GenerationRows,
    Job,
    JobKind,
    JobLabels,
    MeasurementRows,
    PrefixRange,
    PrefixRows,
    Rows,
)
from harness.store import Instance, InstanceKind, Lease, Resolution, Store
from harness.store.tables import JobRow, utc_now
from tests.harness.jobs import specs
from tests.harness.store.drivers import score
from workers.corpora.documents import DocumentCounts
from workers.generation import Generation, StopReason
from workers.measurement_record import Measurement, Thresholds
from workers.prefixes import Prefix, PrefixSet
from workers.traces import Trace

CONFIG = {"models": ["gpt2"], "seed": 0}
VERSIONS = {"bat-harness": "0.1", "torch": "2.13"}


def score_job(number: int, needs: tuple[str, ...] = (), model: str | None = None) -> Job:
    """A job whose specification means nothing: a queue does not look at it."""
    return Job(JobKind.SCORE, {"number": number, "model": model}, needs, JobLabels(model))


def add(store: Store, *jobs: Job, name: str = "demo", order: Any = 0) -> int:
    """Add jobs to a run of that name, and return its id."""
    run_id = store.add_run(name, CONFIG, VERSIONS)
    store.add_jobs(run_id, jobs, order)
    return run_id


def claim_one(store: Store, owner: str = "driver", lease_seconds: float = 600.0) -> Lease:
    (lease,) = store.claim(owner, 1, lease_seconds)
    return lease


def let_expire(store: Store, *leases: Lease) -> None:
    """Move the end of leases into the past, as if nobody had renewed them."""
    with store._database.writing() as connection:
        keys = [lease.job_key for lease in leases]
        connection.execute(update(JobRow).where(JobRow.key.in_(keys)).values(lease_expires_at=utc_now(-1)))


def make_measurement(count: int = 12, seed: int = 0, sizes: tuple[int, ...] = (0, 20)) -> Measurement:
    generator = np.random.default_rng(seed)
    probability = generator.random(count) ** 4 * 0.5 + 1e-9
    lower = probability * (1 + generator.random(count))
    numbers = generator.integers(0, 50_000, (9, count))
    numbers[0] = np.arange(count)[::-1]  # rows do not come in the order of their positions
    return Measurement(
        document=np.array([f"{seed:08x}{row // 4:08x}" for row in range(count)]),
        position=numbers[0],
        token=numbers[1],
        probability=probability,
        entropy=generator.random(count) * 6,
        maximum=np.maximum(generator.random(count), probability),
        rank=numbers[2],
        mass_above=generator.random(count),
        mass_nearer=generator.random(count),
        thresholds={
            size: Thresholds(
                lower=lower,
                upper=lower * (1 + 1e-3 * generator.random(count) * size),
                lower_rank=numbers[3],
                upper_rank=numbers[4],
                lower_mass=generator.random(count),
                upper_mass=generator.random(count),
                status=np.array(["closed", "unfinished", "above cap"])[np.arange(count) % 3],
                pivots=numbers[5],
                passes=numbers[6],
                seconds=generator.random(count),
            )
            for size in sizes
        },
    )


def make_trace(count: int, seed: int = 0) -> Trace:
    generator = np.random.default_rng(seed)
    rejections = generator.integers(0, 2, count).astype(np.int32)
    return Trace(
        token_ids=generator.integers(0, 50_000, count).astype(np.int32),
        probabilities=generator.random(count).astype(np.float32),
        thresholds=np.full(count, np.nan, np.float32),
        acceptance=np.full(count, Acceptance.THRESHOLD, np.uint8),
        rejections=rejections,
        undecided=np.zeros(count, np.int32),
        programs=rejections,
        pivots=rejections * 61,
        passes=rejections * 3,
        rejected_tokens=generator.integers(0, 50_000, int(rejections.sum())).astype(np.int32),
    )


def make_prefix_set(count: int = 4) -> PrefixSet:
    found = tuple(
        Prefix(f"{place:016x}", tuple(range(place, place + 5)), tuple(range(place * 2)))
        for place in range(count)
    )
    counts = DocumentCounts(read=count, kept=count)
    return PrefixSet(found, "news", "1", "validation", counts, too_short=2)


def make_prefix_rows(count: int = 4) -> PrefixRows:
    found = make_prefix_set(count)
    texts = [f"Opening {prefix.id}" for prefix in found.prefixes]
    return PrefixRows.of(found, texts, [f"{text} went on" for text in texts])


def make_generations(count: int = 4, seed: int = 0) -> list[Generation]:
    return [
        Generation(
            prefix_id=prefix.id,
            key=Key(seed, "demo", prefix.id, 0),
            text=f"text {seed} after {prefix.id}: “é”",
            stop_reason=list(StopReason)[place % 3],
            trace=make_trace(6 + place, seed + place),
            solver_seconds=0.25,
        )
        for place, prefix in enumerate(make_prefix_set(count).prefixes)
    ]


def sample_jobs() -> tuple[Job, ...]:
    """A job of each kind and a second generate job, the later ones needing the earlier ones."""
    measure = specs.measure().job
    prefixes = PrefixRange(make_prefix_set().human_fingerprint, 0, 4)
    plain, aware = specs.generate(prefixes=prefixes), specs.generate("ba-eta", 0.024, prefixes=prefixes)
    features = specs.featurize_generated(aware)
    score = specs.score_generated(aware, human=(), generated=(features.id,))
    # Stores take whatever order they are told, so that the texts wait for the measurement.
    texts = [dataclasses.replace(spec.job, needs=(measure.id,)) for spec in (plain, aware)]
    return measure, *texts, features.job, score.job


def sample_instances() -> list[Instance]:
    """What the sample jobs are for."""
    measure, plain, aware, features, score = sample_jobs()
    shared: dict[str, Any] = {"split": "test", "model": "gpt2"}
    prefix_set = make_prefix_set().human_fingerprint
    setting: dict[str, Any] = {**shared, "stage": "compare", "stage_position": 1, "prefix_set": prefix_set}
    return [
        Instance(
            name="measure: human text on gpt2",
            position=0,
            kind=InstanceKind.MEASURE,
            stage="measure",
            stage_position=0,
            jobs=(("measurement", measure.id),),
            **shared,
        ),
        Instance(
            name="compare: eta on gpt2",
            position=1,
            kind=InstanceKind.GENERATE,
            method="eta",
            rule="eta",
            parameter=0.002,
            seed=3,
            jobs=(("texts", plain.id),),
            **setting,
        ),
        Instance(
            name="compare: tight on gpt2",
            position=2,
            kind=InstanceKind.GENERATE,
            method="tight",
            rule="ba-eta",
            parameter=0.024,
            constraints=20,
            seed=3,
            resolution="methods[1]",
            jobs=(("texts", aware.id), ("features", features.id), ("scores", score.id)),
            **setting,
        ),
    ]


def result_of(lease: Lease, seed: int = 0) -> Rows:
    """A result that depends on the job alone, as those of workers do, but for the time taken."""
    own = int(lease.job_id[:6], 16) + seed
    match lease.kind:
        case JobKind.MEASURE:
            measured = make_measurement(seed=own)
            slower = {
                size: dataclasses.replace(rows, seconds=rows.seconds + lease.attempt)
                for size, rows in measured.thresholds.items()
            }
            return MeasurementRows(dataclasses.replace(measured, thresholds=slower))
        case JobKind.GENERATE:
            texts = [
                dataclasses.replace(text, solver_seconds=float(lease.attempt))
                for text in make_generations(seed=own)
            ]
            return GenerationRows.of(make_prefix_set().human_fingerprint, texts)
        case JobKind.FEATURIZE:
            return FeatureRows(np.random.default_rng(own).random((4, 3)).astype(np.float32))
        case JobKind.SCORE:
            return score((own % 1000) / 1000)


def fill(store: Store, name: str = "demo", at_once: int = 10, config: Mapping[str, Any] = CONFIG) -> int:
    """Run the sample jobs to their end in a store, and return the id of their run."""
    jobs = sample_jobs()
    run_id = store.add_run(name, config, VERSIONS)
    store.add_prefix_set(make_prefix_rows())
    store.add_plan(run_id, jobs, [0, 1, 1, 1, 1], sample_instances())
    while leases := store.claim("driver", at_once, 600.0, run_id, workers=["node:1"] * at_once):
        assert all(store.complete_many([(lease, result_of(lease)) for lease in leases]))
    asked = {"match": {"method": "eta", "parameter": 0.002}}
    store.add_resolution(
        run_id, Resolution("methods[1]", asked, "equal rejection of human text", 0.024, (jobs[0].id,))
    )
    return run_id
