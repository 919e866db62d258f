"""Results made by hand: a sweep, and scores of its settings that a function decides."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from harness.config import SweepConfig, parse_config
from harness.config.expansion import MethodInstance, Resolved, Setting, expand, measurements
from harness.report.results import Cost, HumanScores, Measured, Result, Results, Scored
from harness.report.tables import Sources
from harness.scoring.scores import StoredScore
from harness.store import Resolution, Run
from workers.measurement_record import Measurement

RESAMPLES = 50
BLOCKS = 20
STATISTICS = {
    "perplexity": 20.0,
    "seq-rep-4": 0.01,
    "looping": 0.002,
    "distinct-2": 0.6,
    "zipf": 1.1,
    "self-bleu": 0.3,
    "length": 40.0,
    "ended": 0.1,
    "accepted-threshold": 0.95,
    "accepted-certificate": 0.04,
    "accepted-greedy-fallback": 0.01,
    "accepted-exact-fallback": 0.0,
    "rejections": 0.05,
    "undecided": 0.001,
    "programs": 0.2,
    "pivots": 30.0,
    "passes": 8.0,
}
WHOLE = ("distinct-2", "zipf")  # corpus-level: blocks left out only


def stored(
    name: str,
    value: float | None,
    job_id: str = "s",
    resampled: Sequence[float | None] | None = None,
    left_out: Sequence[float | None] | None = None,
    values: Sequence[float] | None = None,
    resampling: tuple[int, int] = (50, 0),
) -> StoredScore:
    """A score with as much of its detail as is given."""
    detail: dict[str, Any] = {}
    for key, given in (("resampled", resampled), ("left_out", left_out), ("values", values)):
        if given is not None:
            detail[key] = list(given)
    return StoredScore(job_id, name, value, None, None, detail, resampling)


def spread_score(name: str, value: float, job_id: str, *, of_text: bool = True) -> StoredScore:
    """A score with values under resamplings and without blocks near it, the same for the same job."""
    random = np.random.default_rng([zlib.crc32(f"{name} {job_id}".encode())])
    scale = 0.01 * abs(value) + 1e-6
    return stored(
        name,
        value,
        job_id,
        resampled=(value + scale * random.normal(size=RESAMPLES)).tolist() if of_text else None,
        left_out=(value + 0.2 * scale * random.normal(size=BLOCKS)).tolist(),
        values=(value + 0.2 * scale * np.linspace(-1, 1, 5)).tolist() if name == "mauve" else None,
    )


def sweep(**changes: Any) -> SweepConfig:
    """The demonstration in small, unless changed."""
    return parse_config(
        {
            "name": "made",
            "models": [{"name": "fake:v=300,d=8", "label": "fake"}],
            "corpus": {"name": "news"},
            "prefixes": {"count": 1000},
            "methods": [
                {"rule": "eta", "parameter": 0.002},
                {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}},
                {"rule": "nucleus", "parameter": 0.9},
            ],
            "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare", "split": "test"}],
            **changes,
        }
    )


def job_of(setting: Setting, model: str, split: str, seed: int) -> str:
    """The id of the score job of a setting: as in earnest, whatever stage or run asks for it."""
    return f"score-{model}-{split}-{setting}-{seed}"


def make_results(
    *configs: SweepConfig,
    mauve: Callable[[MethodInstance, Setting], float | None] = lambda instance, setting: 0.9,
    resolve: Callable[[MethodInstance], float] = lambda instance: 0.02,
    statistics: Mapping[str, float] = STATISTICS,
    human: bool = True,
    measured: bool = True,
) -> Results:
    """Everything that the sweeps would leave behind; settings whose MAUVE is None are not scored."""
    chosen = configs or (sweep(),)
    made: list[Result] = []
    readers: dict[tuple[str, str], HumanScores] = {}
    for number, config in enumerate(chosen, 1):
        grouped: dict[tuple[str, str, str, Setting], list[MethodInstance]] = {}
        for instance in expand(config):
            key = (instance.stage, instance.model, instance.method, instance.setting)
            grouped.setdefault(key, []).append(instance)
        for instances in grouped.values():
            found = _result(config, instances, mauve, resolve, statistics)
            if found is not None:
                found = replace(found, run_id=number, of_several_runs=len(chosen) > 1)
                made.append(found)
                place = (found.model, found.prefix_set)
                readers.setdefault(place, _human(*place, statistics))
    measurable = [one for config in chosen for one in measurements(config)] if measured else []
    return Results(
        runs=tuple(_run(number, config) for number, config in enumerate(chosen, 1)),
        configs=chosen,
        results=tuple(made),
        human=tuple(readers.values()) if human else (),
        measured=tuple(dict.fromkeys(Measured(one.model, (20,), (f"m-{one.model}",)) for one in measurable)),
        unfinished=0,
    )


def make_sources(results: Results, measurement: Measurement | None = None, *, paper: bool = True) -> Sources:
    """Sources whose measurements are one that is made up, and whose programs took a second."""
    facts = made_measurement() if measurement is None else measurement
    return Sources(results, lambda measured: facts, lambda result: Cost(1000, 1.0), paper)


def made_measurement(count: int = 400, documents: int = 50, seed: int = 0) -> Measurement:
    """Facts of made-up tokens at a basis size of 20: as random as they may be, all intervals closed."""
    random = np.random.default_rng(seed)
    probability = random.random(count) ** 4
    critical = np.minimum(probability * (1 + 3 * random.random(count)), 1.0)
    mass = np.where(random.random(count) < 0.7, random.random(count), 0.0)  # the likeliest have none above
    whole = np.zeros(count, dtype=np.int64)
    further = np.random.default_rng(seed + 1)
    share = np.where(mass > 0.0, further.random(count), 0.0)
    return Measurement.from_columns(
        {
            "document": np.array([f"d{n}" for n in random.integers(documents, size=count)]),
            "position": np.arange(count),
            "token": whole,
            "probability": probability,
            "entropy": 3.0 * random.random(count),
            "maximum": np.maximum(probability, random.random(count)),
            "rank": random.integers(0, 50, size=count),
            "mass_above": mass,
            "mass_nearer": random.random(count),
            "deviation": 1.0 + further.random(count),
            "collision": 0.5 * further.random(count),
            "entropy_share": share,
            "lower_entropy_share_20": share / 2,
            "upper_entropy_share_20": share / 2,
            "lower_20": critical,
            "upper_20": critical,
            "lower_rank_20": whole,
            "upper_rank_20": whole,
            "lower_mass_20": mass / 2,
            "upper_mass_20": mass / 2,
            "status_20": np.full(count, "closed"),
            "pivots_20": whole,
            "passes_20": whole,
            "seconds_20": np.zeros(count),
        }
    )


def _result(
    config: SweepConfig,
    instances: Sequence[MethodInstance],
    mauve: Callable[[MethodInstance, Setting], float | None],
    resolve: Callable[[MethodInstance], float],
    statistics: Mapping[str, float],
) -> Result | None:
    first = instances[0]
    setting, resolution = first.setting, None
    if not isinstance(setting.parameter, Resolved):
        value = resolve(first)
        setting = setting.at(value)
        how = "rejects 11.00% of human text, eta=0.002 12.50% (95%: 0.01 to 0.03)"
        detail = {"low": 0.01, "high": 0.03, "rate": 0.11, "reference": "eta=0.002", "reference_rate": 0.125}
        resolution = Resolution("made", first.setting.as_dict(), how, value, (f"m-{first.model}",), detail)
    seeds = []
    for instance in instances:
        score = mauve(instance, setting)
        if score is None:
            return None
        job = job_of(setting, first.model, first.split, instance.seed)
        scores = {"mauve": spread_score("mauve", score, job)}
        for name, number in statistics.items():
            scores[name] = spread_score(name, number, job, of_text=name not in WHOLE)
        seeds.append(Scored(instance.seed, job, (f"f-{job}",), (f"g-{job}",), scores))
    return Result(
        run=config.name,
        stage=first.stage,
        split=first.split,
        model=first.model,
        model_name=config.get_model(first.model).name,
        method=first.method,
        setting=setting,
        asked=first.setting,
        resolution=resolution,
        prefix_set=f"prefixes-{first.split}",
        prefixes=config.prefixes.count,
        seeds=tuple(seeds),
    )


def _human(model: str, prefix_set: str, statistics: Mapping[str, float]) -> HumanScores:
    job = f"human-{model}-{prefix_set}"
    known = [name for name in statistics if name in ("perplexity", "seq-rep-4", *WHOLE)]
    scores = {
        name: spread_score(name, 1.5 * statistics[name], job, of_text=name not in WHOLE) for name in known
    }
    return HumanScores(model, prefix_set, job, scores)


def _run(number: int, config: SweepConfig) -> Run:
    moment = datetime(2026, 1, number, tzinfo=UTC)
    return Run(number, config.name, {}, {}, moment, moment)
