"""How time grows with the vocabulary and with the number of constraints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bat.program import Goal, Program
from bat.solvers import get_solver
from benchmarks.contexts import Contexts
from benchmarks.record import Figure, median_seconds, seconds_each

VOCABULARIES = (8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
CONSTRAINTS = (0, 5, 20, 50, 100, 200, 576)
TOKENS = 15
FULL_RANK_TOKENS = 5


def measure(contexts: Contexts, folder: Path) -> Iterator[Figure]:
    by_size: dict[int, float] = {}
    for size in VOCABULARIES:
        by_size[size] = _synthetic(size)
        yield Figure("growth with v, c = 20, synthetic", f"v = {size:,}", by_size[size] * 1e3, "ms")
    by_constraints: dict[int, float] = {}
    for constraints in CONSTRAINTS:
        times = _constrained(contexts, constraints)
        by_constraints[constraints] = float(np.median(times))
        full = constraints == 576
        yield Figure(
            "growth with c, v = 49,152",
            f"c = {constraints}" + (" (full rank)" if full else ""),
            by_constraints[constraints] * 1e3,
            "ms",
            f"slowest of {len(times)}: {max(times) * 1e3:.3g} ms",
            "<= 3 s" if full else "",
            by_constraints[constraints] <= 3.0 if full else None,
        )
    _plot(by_size, by_constraints, folder / "growth.png")


def _synthetic(size: int) -> float:
    """Heavy-tailed directions and a distribution they produce, as language models have."""
    rng = np.random.default_rng(size)
    columns = np.linalg.qr(rng.standard_t(5, size=(size, 20)))[0] * np.sqrt(size)
    rows = np.ascontiguousarray(np.vstack([np.ones(size), columns.T]))
    solver = get_solver("certified")
    asked = []
    for _ in range(TOKENS):
        logits = columns @ rng.normal(scale=0.6, size=20) + rng.normal(scale=1.5, size=size)
        probs = np.exp(logits - logits.max())
        probs /= probs.sum()
        asked.append(Program(rows, probs, int(rng.choice(size, p=probs))))
    solver.solve(asked[0], Goal())
    return median_seconds(lambda program: solver.solve(program, Goal()), asked)


def _constrained(contexts: Contexts, constraints: int) -> list[float]:
    rows = contexts.basis(constraints).rows
    solver = get_solver("certified")
    light = np.flatnonzero(contexts.own < 0.05)[: FULL_RANK_TOKENS if constraints > 200 else TOKENS]
    asked = [Program(rows, contexts.probs[q], int(contexts.tokens[q])) for q in light]
    solver.solve(asked[0], Goal(max_pivots=10))
    return seconds_each(lambda program: solver.solve(program, Goal()), asked)


def _plot(by_size: dict[int, float], by_constraints: dict[int, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.loglog(list(by_size), [1e3 * t for t in by_size.values()], "o-", color="#0072B2")
    left.set(xlabel="vocabulary v", ylabel="milliseconds a program", title="c = 20, synthetic")
    kept = {c: t for c, t in by_constraints.items() if c > 0}
    right.loglog(list(kept), [1e3 * t for t in kept.values()], "o-", color="#D55E00")
    right.set(xlabel="constraints c", ylabel="milliseconds a program", title="SmolLM2-135M, v = 49,152")
    for axes in (left, right):
        axes.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
