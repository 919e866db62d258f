"""Single programs: our solver against two general ones, and decisions against intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import bat
from bat.program import Goal, Program, Solver, Status
from bat.solvers import get_solver
from bat.solvers.highs import HighsSolver
from benchmarks.contexts import Contexts
from benchmarks.record import Figure, best_in_turns, median_seconds, seconds_each

# Human tokens for the general solvers, evenly spread by rank of probability.
HIGHS_TOKENS = 15
CBC_TOKENS = 15
OUR_REPEATS = 5  # more than for the others, because milliseconds are noisier than seconds
THRESHOLDS = (0.003, 0.02)
BATCH = 64
THREAD_REPEATS = 7


def programs(contexts: Contexts, count: int | None = None) -> list[Program]:
    """The programs of human tokens, or ``count`` of them, from the least to the most likely."""
    rows = contexts.basis(20).rows
    order = np.argsort(contexts.own, kind="stable")
    chosen = order if count is None else order[np.linspace(0, len(order) - 1, count + 2).astype(int)[1:-1]]
    return [Program(rows, contexts.probs[q], int(contexts.tokens[q])) for q in chosen]


def measure(contexts: Contexts) -> Iterator[Figure]:
    certified = get_solver("certified")
    all_programs = programs(contexts)
    certified.solve(all_programs[0], Goal())  # compile
    times = seconds_each(lambda p: certified.solve(p, Goal()), all_programs)
    median = float(np.median(times))
    group = "one program, v = 49,152, c = 20"
    yield Figure(
        group, "certified, tolerance 1e-6", median * 1e3, "ms", f"{len(times)} human tokens", "aim 3 ms"
    )
    yield Figure(group, "certified, 95th percentile", float(np.quantile(times, 0.95)) * 1e3, "ms")
    closed = sum(certified.solve(p, Goal()).status is Status.CLOSED for p in all_programs)
    yield Figure(group, "intervals closed", closed, "tokens", f"of {len(times)}", "all", closed == len(times))

    for name, count, target in (("highs", HIGHS_TOKENS, 100.0), ("cbc", CBC_TOKENS, 1000.0)):
        yield from _against(get_solver(name), certified, programs(contexts, count), target, group)
    yield from _raw(programs(contexts, HIGHS_TOKENS), certified, group)
    yield from _decisions(contexts, certified)
    yield from _threads(contexts)


def _against(
    solver: Solver, certified: Solver, chosen: list[Program], target: float, group: str
) -> Iterator[Figure]:
    goal = Goal(time_limit_seconds=300.0)
    their_times, our_times = [], []
    for program in chosen:  # in turns, so that a slow phase of the machine affects both
        their_times += seconds_each(lambda p: solver.solve(p, goal), [program])
        our_times += seconds_each(lambda p: certified.solve(p, goal), [program] * OUR_REPEATS)
    theirs, ours = float(np.median(their_times)), float(np.median(our_times))
    yield Figure(group, f"{solver.name}, full program", theirs, "s", f"median of {len(chosen)} tokens")
    ratio = theirs / ours
    yield Figure(
        group, f"{solver.name} / certified", ratio, "x", "same tokens", f">= {target:g}x", ratio >= target
    )


def _raw(chosen: list[Program], certified: Solver, group: str) -> Iterator[Figure]:
    """The program exactly as in the paper, and the error of its optimal value."""
    solver = HighsSolver(raw=True)
    errors = []
    for program in chosen:
        truth = certified.solve(program, Goal())
        claimed = solver.claimed_threshold(program, Goal(time_limit_seconds=300.0))
        errors.append(max(truth.lower - claimed, claimed - truth.upper, 0.0) / truth.upper)
    wrong = sum(error > 1e-3 for error in errors)
    note = f"of {len(errors)}; worst {max(errors):.3g} times the true value"
    yield Figure(group, "highs in raw probabilities: off by over 0.1%", wrong, "tokens", note)


def _decisions(contexts: Contexts, certified: Solver) -> Iterator[Figure]:
    for tau in THRESHOLDS:
        below = [p for p in programs(contexts) if 0.0 < p.probs[p.token] < tau]
        deciding = Goal(1e-9, threshold=tau, prove=False)
        decide = median_seconds(lambda p, goal=deciding: certified.solve(p, goal), below)
        close = median_seconds(lambda p: certified.solve(p, Goal()), below)
        group = "decide"
        yield Figure(group, f"threshold {tau}", decide * 1e3, "ms", f"{len(below)} human tokens below it")
        yield Figure(
            group, f"interval / decide at {tau}", close / decide, "x", "", ">= 2x", close >= 2 * decide
        )


def _threads(contexts: Contexts) -> Iterator[Figure]:
    """A batch on one thread and on two, in turns: what a step of generation asks of the host."""
    basis = contexts.basis(20)
    order = np.argsort(contexts.own, kind="stable")
    below = [q for q in order if 0.0 < contexts.own[q] < max(THRESHOLDS)][:BATCH]
    logits = np.log(np.maximum(contexts.probs[:BATCH], 1e-300)).astype(np.float32)
    numbers = bat.uniforms([bat.Key(0, "benchmark", q, 0) for q in range(len(logits))], 0, 11)
    hardest, asked = (contexts.probs[q] for q in (order[:BATCH], below))
    eta, aware = bat.get_rule("eta", 0.002), bat.get_rule("ba-eta", 0.06)
    works: dict[str, Callable[[int], object]] = {
        "intervals": lambda n: bat.critical_thresholds(
            basis, hardest, contexts.tokens[order[:BATCH]], threads=n
        ),
        "decisions": lambda n: bat.decide(basis, asked, contexts.tokens[below], max(THRESHOLDS), threads=n),
        "eta": lambda n: bat.sample(basis, logits, eta, numbers, threads=n),
        "ba-eta": lambda n: bat.sample(basis, logits, aware, numbers, threads=n),
    }
    for name, work in works.items():
        work(2)  # compile
        one, two = best_in_turns([lambda work=work: work(1), lambda work=work: work(2)], THREAD_REPEATS)
        group = f"{name}, batch of {BATCH}"
        yield Figure(group, "one thread", one * 1e3, "ms")
        ratio = two / one
        yield Figure(group, "two threads / one", ratio, "x the time", "", "<= 0.6x", ratio <= 0.6)
