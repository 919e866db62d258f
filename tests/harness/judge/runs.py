"""A run whose texts are made up: two settings after the same prefixes, a third in another stage."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bat.random import Key
from harness.config import parse_config
from harness.jobs import Generate, GenerationRows, PrefixEntry, PrefixRange, PrefixRows
from harness.planning.finished import stored_identity
from harness.store import Instance, InstanceKind, Lease, Store, open_store
from tests.harness.driver.sweeps import WORDS
from tests.harness.jobs import specs
from tests.harness.store.examples import make_trace
from workers.generation import Generation, StopReason

# A page that does not escape it runs it, and the test that opens the page finds out.
HTML = "<img src=x onerror=alert(1)><script>alert(2)</script> & <b>bold</b>"
TEST, VALIDATION = "a" * 64, "b" * 64
PREFIXES = 12
SAME = 2  # prefixes after which both settings write the same

_SETTINGS: tuple[tuple[str, str, float, int | None, str], ...] = (
    ("eta", "eta", 0.01, None, "compare"),
    ("ba-eta", "ba-eta", 0.05, 20, "compare"),
    ("nucleus", "nucleus", 0.9, None, "select"),
)


def judged_run(folder: Path) -> str:
    """The address of a database with one run, "demo", whose texts are written."""
    path = folder / "demo.db"
    path.write_bytes(_made())
    return f"sqlite:///{path}"


@functools.cache
def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "demo.db")
        with open_store(f"sqlite:///{path}") as store:
            _fill(store)
        return path.read_bytes()


def words_of(*seed: int, count: int = 24) -> str:
    """A text that is the same for the same numbers."""
    return " ".join(np.random.default_rng(list(seed)).choice(WORDS, count).tolist())


def _fill(store: Store) -> None:
    config = parse_config(
        {
            "name": "demo",
            "models": [{"name": "fake:v=300,d=8", "label": "Small"}],
            "corpus": {"name": "news"},
            "prefixes": {"count": PREFIXES},
            "methods": [{"rule": "eta", "parameter": 0.01}],
            "stages": [{"name": "compare", "split": "test"}],
        }
    )
    run_id = store.add_run("demo", stored_identity(config), {"torch": "2.13"})
    for name, split in ((TEST, "test"), (VALIDATION, "validation")):
        entries = tuple(
            PrefixEntry(
                f"{split}{n:04}", (1, 2, 3), f"Report {n}: {HTML} began", tuple(range(30)), f" {words_of(n)}"
            )
            for n in range(PREFIXES)
        )
        store.add_prefix_set(PrefixRows(name, "p", "news", "1", split, {}, entries))
    jobs = []
    for _, rule, parameter, constraints, stage in _SETTINGS:
        where = PrefixRange(TEST if stage == "compare" else VALIDATION, 0, PREFIXES)
        jobs.append(specs.generate(rule, parameter, prefixes=where, constraints=constraints))
    instances = [_instance(number, job.id) for number, job in enumerate(jobs)]
    store.add_plan(run_id, [job.job for job in jobs], [0] * len(jobs), instances)
    for lease in store.claim("driver", len(jobs), 600.0, run_id):
        assert store.complete(lease, _texts(lease))


def _instance(number: int, job: str) -> Instance:
    method, rule, parameter, constraints, stage = _SETTINGS[number]
    split, prefix_set = ("test", TEST) if stage == "compare" else ("validation", VALIDATION)
    values: dict[str, Any] = {"rule": rule, "parameter": parameter, "constraints": constraints}
    made = Instance(f"{stage}: {method}", number, InstanceKind.GENERATE, stage, 0, split, "Small", method)
    return replace(made, seed=3, prefix_set=prefix_set, jobs=(("texts", job),), **values)


def _texts(lease: Lease) -> GenerationRows:
    spec = lease.parse()
    assert isinstance(spec, Generate)
    split = "test" if spec.prefixes.set == TEST else "validation"
    number = [rule for _, rule, *_ in _SETTINGS].index(spec.rule)
    return GenerationRows.of(
        spec.prefixes.set,
        [
            Generation(
                prefix_id=f"{split}{n:04}",
                key=Key(3, "run", n, 0),
                text=f" {words_of(n, 7 if n < SAME else number + 1)} {HTML if n == SAME else ''}",
                stop_reason=StopReason.LENGTH,
                trace=make_trace(8, n),
                solver_seconds=0.0,
            )
            for n in range(PREFIXES)
        ],
    )
