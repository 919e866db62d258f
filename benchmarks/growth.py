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
    """Median time with heavy-tailed directions and their distributions, as language models have them."""
    rng = np.random.default_rng(size)
    columns = np.linalg.qr(rng.standard_t(5, size=(size, 20)))[0] * np.sqrt(size)
    rows = np.ascontiguousarray(np.vstack([np.ones(size), columns.T]))
    solver = get_solver("certified")
    programs: list[Program] = []
    while len(programs) < TOKENS:
        logits = columns @ rng.normal(scale=0.6, size=20) + rng.normal(scale=1.5, size=size)
        probs = np.exp(logits - logits.max())
        probs /= probs.sum()
        token = int(rng.choice(size, p=probs))
        if probs[token] < 0.05:  # as below: likelier tokens rarely need a program
            programs.append(Program(rows, probs, token))
    solver.solve(programs[0], Goal())  # compile
    return median_seconds(lambda program: solver.solve(program, Goal()), programs)


def _constrained(contexts: Contexts, constraints: int) -> list[float]:
    rows = contexts.basis(constraints).rows
    solver = get_solver("certified")
    unlikely = np.flatnonzero(contexts.own < 0.05)[: FULL_RANK_TOKENS if constraints > 200 else TOKENS]
    programs = [Program(rows, contexts.probs[q], int(contexts.tokens[q])) for q in unlikely]
    solver.solve(programs[0], Goal(max_pivots=10))  # compile
    return seconds_each(lambda program: solver.solve(program, Goal()), programs)


def _plot(by_size: dict[int, float], by_constraints: dict[int, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    kept = {c: t for c, t in by_constraints.items() if c > 0}
    for axes, points, colour, labels in (
        (left, by_size, "#0072B2", [f"{size // 1024}k" for size in by_size]),
        (right, kept, "#D55E00", [str(c) for c in kept]),
    ):
        axes.loglog(list(points), [1e3 * t for t in points.values()], "o-", color=colour)
        axes.set_xticks(list(points), labels)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(bottom=0.5)
        axes.grid(visible=True, alpha=0.3)
        axes.set_ylabel("milliseconds per program")
    left.set(xlabel="vocabulary v", title="c = 20, synthetic")
    right.set(xlabel="constraints c", title="SmolLM2-135M, v = 49,152")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
