"""The same answers for any number of threads, and a pool that outlives failures, interrupts and forks."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import bat
from bat import blas_threads, certificates
from bat.arrays import FloatArray
from bat.blas_threads import single_threaded_blas
from bat.program import Goal, Program
from bat.solvers import certified
from bat.solvers._finish import finish
from bat.solvers.certified import CertifiedSolver
from bat.threads import map_in_threads, run_in_threads
from tests.bat.problems import random_model

ROWS = 24


def problem() -> tuple[bat.Basis, FloatArray, FloatArray]:
    """A basis, logits and distributions: ordinary rows, and the edges of what a row can be."""
    basis, logits = random_model(3, tokens=300, hidden=12, constraints=10, batch=ROWS, scale=0.8)
    logits[0] = -2000.0
    logits[0, 5] = 0.0  # all mass on one token
    logits[1, 7:] = -np.inf  # fewer tokens than constraints
    logits[2] = 0.0  # all equal
    logits[3, :150] = logits[3, 150:]
    logits[4, ::3] = -np.inf
    return basis, logits, bat.softmax(logits)


def bits(answers: bat.CriticalThresholds | bat.Decisions) -> list[object]:
    """Everything about each row but its seconds."""
    proofs = [
        None if c is None else (c.direction.tobytes(), c.tokens.tobytes(), c.fractions.tobytes())
        for c in answers.certificates
    ]
    effort = answers.effort.pivots.tolist(), answers.effort.passes.tolist()
    return list(zip(answers.lower.tolist(), answers.upper.tolist(), proofs, *effort, strict=True))


def test_answers_are_the_same_for_any_number_of_threads_and_any_batch() -> None:
    basis, logits, probs = problem()
    tokens = np.arange(ROWS) * 11 % 300
    numbers = bat.uniforms([bat.Key(0, "threads", row, 0) for row in range(ROWS)], 0, 4)
    rule = bat.get_rule("ba-eta=0.3")
    order = np.random.default_rng(0).permutation(ROWS)

    def ask(rows: np.ndarray, threads: int) -> list[object]:
        closed = bat.critical_thresholds(basis, probs[rows], tokens[rows], threads=threads)
        decided = bat.decide(basis, probs[rows], tokens[rows], 0.02, certificates=True, threads=threads)
        drawn = bat.sample(basis, logits[rows], rule, numbers[rows], max_tries=3, threads=threads)
        counts = drawn.programs, drawn.effort.pivots, drawn.effort.passes, drawn.undecided
        samples = zip(drawn.tokens, drawn.acceptance, drawn.rejected_tokens, *counts, strict=True)
        return list(zip(bits(closed), bits(decided), decided.verdicts, samples, strict=True))

    expected = ask(np.arange(ROWS), 1)
    assert len({row[2] for row in expected}) >= 2  # accepted and rejected alike
    for threads in (2, 5):
        assert ask(np.arange(ROWS), threads) == expected
    assert ask(order, 3) == [expected[row] for row in order]
    assert [ask(np.array([row]), 2)[0] for row in range(ROWS)] == expected


def test_a_batch_answers_what_single_programs_do() -> None:
    basis, _, probs = problem()
    tokens = np.arange(ROWS) * 7 % 300
    together = bat.critical_thresholds(basis, probs, tokens, threads=2)
    solver = CertifiedSolver()
    context = solver.prepare(basis.rows, probs[6])
    for row in range(ROWS):
        alone = solver.solve(Program(basis.rows, probs[row], int(tokens[row])), Goal(1e-6))
        assert (alone.lower, alone.upper, alone.status) == (
            together.lower[row],
            together.upper[row],
            together.status[row],
        )
        proof = together.certificates[row]
        assert alone.certificate is not None
        assert proof is not None
        np.testing.assert_array_equal(alone.certificate.fractions, proof.fractions)
    prepared = solver.solve(Program(basis.rows, probs[6], int(tokens[6])), Goal(1e-6), context)
    assert prepared.lower == together.lower[6]


def test_a_row_that_fails_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    basis, _, probs = problem()
    tokens = np.full(ROWS, 9)
    expected = bat.decide(basis, probs, tokens, 0.02, certificates=True, threads=2)
    failing = 12
    repaired = certificates.upper_bound

    def fail_on_one(program: Program, fractions: FloatArray) -> tuple[float, FloatArray]:
        if np.array_equal(program.probs, probs[failing]):
            raise np.linalg.LinAlgError("made to fail")
        return repaired(program, fractions)

    monkeypatch.setattr(certificates, "upper_bound", fail_on_one)
    assert expected.verdicts[failing] is not bat.Verdict.UNDECIDED
    answers = bat.decide(basis, probs, tokens, 0.02, certificates=True, threads=2)
    assert answers.verdicts[failing] is bat.Verdict.UNDECIDED
    assert (answers.lower[failing], answers.upper[failing]) == (probs[failing, 9], 1.0)
    others = [row for row in range(ROWS) if row != failing]
    assert [bits(answers)[row] for row in others] == [bits(expected)[row] for row in others]


def threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in blas_threads.libraries().info()}


def test_blas_has_one_thread_until_the_last_of_those_at_work_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    monkeypatch.setattr(
        certified, "finish", lambda *arguments: (seen.append(threads_of_blas()), finish(*arguments))[1]
    )
    basis, _, probs = problem()
    with threadpool_limits(2, user_api="blas"):
        CertifiedSolver().solve(Program(basis.rows, probs[5], 0), Goal())
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        seen.append(threads_of_blas())
        second.__exit__(None, None, None)
        run_in_threads(lambda: seen.append(threads_of_blas()), lambda: None, 1)
        assert threads_of_blas() == {2}
    assert seen == [{1}] * 3


def test_answers_do_not_depend_on_the_threads_of_blas() -> None:
    basis, logits = random_model(7, tokens=2000, hidden=250, constraints=250, batch=1, scale=0.1)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            answers.append(bits(bat.critical_thresholds(basis, bat.softmax(logits), [3])))
    assert answers[0] == answers[1]


def test_map_keeps_the_order_and_may_be_nested() -> None:
    def total(number: int) -> int:
        return sum(map_in_threads(lambda other: number * other, range(20), 4))

    assert map_in_threads(total, range(30), 4) == [number * 190 for number in range(30)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_is_raised_once_every_thread_has_stopped(error: type[BaseException]) -> None:
    caller = threading.get_ident()
    begun, running = threading.Barrier(3, timeout=30), []

    def work() -> None:
        running.append(1)
        begun.wait()  # all three are at work
        if threading.get_ident() == caller:
            raise error
        assert stopped.wait(timeout=30)  # a helper works on until it is told to stop
        running.pop()

    stopped = threading.Event()
    with pytest.raises(error):
        run_in_threads(work, stopped.set, 3)
    assert len(running) == 1  # the caller's; the helpers had ended
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda number: 1 // number, [1, 2, 0, 3], 3)
    assert map_in_threads(abs, [-1, -2, -3], 3) == [1, 2, 3]  # the pool is still there


def _decide_in_child(basis: bat.Basis, probs: FloatArray, queue: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    queue.put(bits(bat.decide(basis, probs, np.full(ROWS, 9), 0.02, threads=3)))


def test_a_forked_process_makes_its_own_threads() -> None:
    basis, _, probs = problem()
    expected = bits(bat.decide(basis, probs, np.full(ROWS, 9), 0.02, threads=3))  # the parent has helpers now
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_decide_in_child, args=(basis, probs, queue))
    with blas_threads._lock:  # as if another thread were just setting the number of threads
        child.start()
    try:
        assert queue.get(timeout=60) == expected
    finally:
        child.join(timeout=30)
        child.kill()
