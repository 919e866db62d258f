"""A store with texts of three settings after eight prefixes, two shards of them, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bat.acceptance import Acceptance
from bat.errors import InvalidInputError
from bat.random import Key
from harness.config import Resolved, Setting, SweepConfig, parse_config
from harness.jobs import (
    CorpusIdentity,
    Generate,
    GenerationRows,
    JobKind,
    ModelIdentity,
    PrefixEntry,
    PrefixRange,
    PrefixRows,
)
from harness.planning.finished import stored_identity
from harness.report.results import Result, Results, Scored
from harness.store import Lease, Reader, Store, open_store
from tests.harness.jobs import specs
from workers.generation import Generation, StopReason
from workers.traces import Trace

PREFIX_SET = "f" * 64
PREFIXES = 8
SHARD = 4
VERSIONS = {"python": "3.11", "machine": "x86_64", "torch": "2.13"}
MODEL = ModelIdentity("fake:v=300,d=8", "abc", "float32", "w1", "t1")
READER_MODEL = ModelIdentity("reader", None, "float32", "w2", "t2")
SETTINGS = (
    Setting("eta", Resolved(0.01)),
    Setting("ba-eta", Resolved(0.05), 4),
    Setting("ba-epsilon", Resolved(0.02), 4),
)
# By token id. Every one of them means something to HTML or to Markdown.
TOKENS = (" the", " mayor", "<b>", " **x**", "\n", ")", " a&b", "]", "`", "", " [1](u)", "_s")
WAYS = (0, 1, 2, 3, 1, 1, 0, 2, 1, 0, 1, 0)


def make_trace() -> Trace:
    count = len(TOKENS)
    rejections = np.array([0, 2, 3, 0, 1, 0, 0, 0, 0, 1, 1, 0], np.int32)
    undecided = np.zeros(count, np.int32)
    undecided[2] = 1
    zeros = np.zeros(count, np.int32)
    return Trace(
        token_ids=np.arange(count, dtype=np.int32),
        probabilities=np.linspace(0.001, 0.5, count).astype(np.float32),
        thresholds=np.full(count, 0.6, np.float32),
        acceptance=np.array(WAYS, np.uint8),
        rejections=rejections,
        undecided=undecided,
        programs=zeros,
        pivots=zeros,
        passes=zeros,
        rejected_tokens=np.arange(int(rejections.sum()), dtype=np.int32),
    )


def plain_trace() -> Trace:
    made = make_trace()
    plain = np.full(len(TOKENS), Acceptance.THRESHOLD, np.uint8)
    nothing = np.zeros(len(TOKENS), np.int32)
    values = {name: getattr(made, name) for name in Trace.__slots__}
    return Trace(
        **{**values, "acceptance": plain, "rejections": nothing, "rejected_tokens": np.empty(0, np.int32)}
    )


def decode(model: str, context: Sequence[int], tokens: Sequence[int]) -> list[str]:
    if model != MODEL.name:
        raise InvalidInputError(f"there is no tokenizer of {model}.")
    assert len(context) == 5
    return [TOKENS[token] for token in tokens]


def config() -> SweepConfig:
    methods: list[dict[str, Any]] = [
        {"rule": one.rule, "parameter": getattr(one.parameter, "value", None)} for one in SETTINGS
    ]
    return parse_config(
        {
            "name": "sampled",
            "models": [{"name": MODEL.name, "label": "Small"}],
            "corpus": {"name": "news"},
            "prefixes": {"count": PREFIXES, "shard_size": SHARD},
            "methods": methods,
            "stages": [{"name": "compare", "split": "test"}],
        }
    )


def generate_job(setting: Setting, start: int, seed: int = 3) -> Generate:
    assert isinstance(setting.parameter, Resolved)
    return specs.generate(
        setting.rule,
        setting.parameter.value,
        model=MODEL,
        seed=seed,
        prefixes=PrefixRange(PREFIX_SET, start, start + SHARD),
        constraints=setting.constraints,
    )


def make_store(path: Path) -> Store:
    """A store whose jobs are done but for one of those that read texts."""
    store = open_store(f"sqlite:///{path}")
    run_id = store.add_run("sampled", stored_identity(config()), VERSIONS)
    entries = tuple(
        PrefixEntry(
            f"{place:016x}", tuple(range(place, place + 5)), f"Opening <{place}>", (1, 2), f" & on {place}"
        )
        for place in range(PREFIXES)
    )
    store.add_prefix_set(PrefixRows(PREFIX_SET, "p", "news", "r7", "test", {}, entries))
    jobs = [generate_job(setting, start) for setting in SETTINGS for start in range(0, PREFIXES, SHARD)]
    unread = specs.featurize_generated(jobs[0], model=READER_MODEL)
    corpus = CorpusIdentity("news", "r7", "validation")
    unmeasured = specs.measure(model=MODEL, corpus=corpus, documents=("d",))
    store.add_jobs(run_id, [spec.job for spec in (*jobs, unread, unmeasured)])
    for lease in store.claim("driver", 20, 600.0, run_id):
        if lease.kind is JobKind.GENERATE:
            assert store.complete(lease, _texts(lease))
    return store


def _texts(lease: Lease) -> GenerationRows:
    spec = lease.parse()
    assert isinstance(spec, Generate)
    trace = plain_trace() if spec.constraints is None else make_trace()
    return GenerationRows.of(
        PREFIX_SET,
        [
            Generation(
                prefix_id=f"{index:016x}",
                key=Key(spec.seed, "run", f"{index:016x}", 0),
                text=f"{''.join(TOKENS)} ({spec.rule} after {index})",
                stop_reason=StopReason.END if index % 2 else StopReason.LENGTH,
                trace=trace,
                solver_seconds=0.0,
            )
            for index in range(spec.prefixes.start, spec.prefixes.stop)
        ],
    )


def make_results(reader: Reader, **changes: Any) -> Results:
    """What the store has to show; `changes` are to each result."""
    values: dict[str, Any] = {
        "run": "sampled",
        "stage": "compare",
        "split": "test",
        "model": "Small",
        "model_name": MODEL.name,
        "resolution": None,
        "prefix_set": PREFIX_SET,
    }
    results = tuple(
        Result(
            **(values | changes),
            method=setting.rule,
            setting=setting,
            asked=setting,
            seeds=(
                Scored(
                    seed=3,
                    score_job="s",
                    featurize_jobs=(),
                    # The shards are not in their order.
                    generate_jobs=(generate_job(setting, SHARD).id, generate_job(setting, 0).id),
                    scores={},
                ),
            ),
        )
        for setting in SETTINGS
    )
    run = reader.get_run("sampled")
    return Results((run,), (config(),), results, (), (), unfinished=2)
