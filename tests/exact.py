"""Independent truth for the engine's tests: a checker, two exact solves, and hard problems.

Nothing here imports the code it judges. Three ways to the critical threshold, none in float64:

    check_interval                      recomputes both bounds from a certificate, in rationals
    exact_critical_threshold            enumerates the dual's vertices in rationals (v <= 9, r <= 4)
    high_precision_critical_threshold   a textbook simplex on the dual in 60-digit decimals (v to thousands)

Floats are dyadic rationals, so "exact" means exact for the very numbers the engine was given.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bat.arrays import FloatArray

Rational = list[Fraction]
ONE, ZERO = Fraction(1), Fraction(0)


class Problem(NamedTuple):
    """One program's data, in the order every function here takes it."""

    rows: FloatArray  # [r, v]
    probs: FloatArray  # [v]
    token: int


def toy_problem(token: int) -> Problem:
    """The paper's example of three tokens; its critical thresholds are 0.42505, 1 and 0.57495."""
    weight = np.array([0.55, 0.71, 0.29])
    probs = np.exp(2.55 * weight)
    rows = np.vstack((np.ones(3), weight / np.linalg.norm(weight) * np.sqrt(3)))
    return Problem(rows, probs / probs.sum(), token)


def random_problem(
    rng: np.random.Generator,
    *,
    tokens: int,
    directions: int,
    entropy: float = 1.0,
    smallest: float = 0.0,
    duplicates: int = 0,
    zeros: int = 0,
) -> Problem:
    """Heavy-tailed orthonormal directions and probabilities of the wanted entropy (nats, at most log v).

    Some tokens, among them the one asked about, get probabilities down to ``smallest``; ``duplicates``
    tokens share another's column (ties in every test of sign), ``zeros`` tokens have underflowed.
    """
    raw = rng.standard_t(4, size=(tokens, directions - 1))
    columns = np.linalg.qr(raw)[0] * np.sqrt(tokens) if tokens >= directions else raw
    rows = np.vstack((np.ones(tokens), columns.T))
    logits = columns.sum(axis=1) + 2 * rng.normal(size=tokens)
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        probs = np.exp(middle * (logits - logits.max()))
        probs /= probs.sum()
        spread = -float(np.sum(probs * np.log(np.maximum(probs, 1e-300))))
        low, high = (middle, high) if spread > entropy else (low, middle)
    probs = np.maximum(probs, 1e-12)
    token = int(rng.integers(tokens))
    others = np.setdiff1d(np.arange(tokens), [token])
    if smallest > 0.0:
        probs[token] = smallest * 10 ** rng.uniform(0, 3)
        light = rng.choice(others, size=tokens // 4, replace=False)
        probs[light] = smallest * 10 ** rng.uniform(0, 6, size=light.size)
        probs = np.maximum(probs, smallest)
    for copied in rng.choice(others, size=duplicates, replace=False):
        rows[:, copied] = rows[:, rng.integers(tokens)]
    probs[rng.choice(others, size=zeros, replace=False)] = 0.0
    return Problem(rows, probs / probs.sum(), token)


def check_interval(
    rows: FloatArray,
    probs: FloatArray,
    token: int,
    lower: float,
    upper: float,
    certificate: Any,
    *,
    slack: float = 1e-8,
    exact: bool = True,
) -> None:
    """Assert that ``certificate`` proves [lower, upper], in float64 and (unless told not to) in rationals.

    ``slack`` is relative. In rationals it forgives one thing: the fractions of a certificate are floats, so
    they miss the equations by an ulp, which is repaired exactly on a few heavy tokens and may move tau.
    """
    assert 0.0 <= lower <= upper <= 1.0, (lower, upper)
    y = certificate.direction
    inside = y @ rows  # [v]
    weight = np.where(np.arange(probs.size) == token, 0.0, probs)
    numerator = probs[token] * inside[token] - np.sum(weight * np.maximum(-inside, 0.0))
    proven = numerator / (numerator + np.sum(weight * np.maximum(inside, 0.0))) if numerator > 0.0 else 0.0
    noise = 1e-15 * np.sum(probs * (np.abs(y) @ np.abs(rows))) / np.sum(probs * inside)
    assert lower <= max(proven * (1 + slack) + noise, probs[token]), (lower, proven, noise)
    phi = np.where(inside < 0.0, 1.0, 0.0)
    phi[certificate.tokens], phi[token] = certificate.fractions, 1.0
    if upper < 1.0:
        tau = float(np.sum(probs * phi) / np.sum(probs))
        balance = rows @ (probs * (tau - phi))
        scale = np.abs(rows) @ (probs * (tau + np.abs(phi)))
        assert np.all(np.abs(balance) <= 1e-12 * scale), (balance, scale)
        assert phi.max() <= 1.0
        deficit = max(0.0, -float(phi[probs > 0.0].min()))
        assert (tau + deficit) / (1 + deficit) <= upper * (1 + slack), (tau, deficit, upper)
    if exact:
        a, p = _columns(rows), [Fraction(x) for x in probs.tolist()]
        direction = [Fraction(x) for x in y.tolist()]
        floor = Fraction(float(probs[token]))
        assert Fraction(lower) <= max(_proven(a, p, token, direction), floor) * (1 + Fraction(slack))
        assert upper == 1.0 or _feasible(a, p, token, direction, certificate) <= Fraction(upper) * (
            1 + Fraction(slack)
        )


def exact_critical_threshold(rows: FloatArray, probs: FloatArray, token: int) -> Fraction:
    """tau* by trying every vertex of the dual."""
    return exact_optimum(rows, probs, token)[0]


def exact_optimum(rows: FloatArray, probs: FloatArray, token: int) -> tuple[Fraction, Rational]:
    """tau* and a direction that proves it: the best of those orthogonal to r - 1 independent tokens."""
    used = [j for j in range(probs.size) if probs[j] > 0.0 or j == token]
    columns = _columns(rows)
    a = [columns[j] for j in used]
    p, i = [Fraction(float(probs[j])) for j in used], used.index(token)
    first = [ONE] + [ZERO] * (len(rows) - 1)
    if p[i] == 0:
        return ZERO, first
    # Rows that depend on others over the support say nothing new; without them the tokens span.
    keep = _pivots([[column[k] for column in a] for k in range(len(rows))])
    a = [[column[k] for k in keep] for column in a]
    others = [j for j in range(len(a)) if j != i]
    best, proof = p[i] / sum(p), [ONE] + [ZERO] * (len(keep) - 1)
    for subset in combinations(others, len(keep) - 1):
        direction = _orthogonal([a[j] for j in subset], len(keep))
        for sign in (1, -1) if direction is not None else ():
            found = _proven(a, p, i, [sign * x for x in direction or []])
            if found > best:
                best, proof = found, [sign * x for x in direction or []]
    whole = dict(zip(keep, proof, strict=True))
    return best, [whole.get(k, ZERO) for k in range(len(rows))]


def high_precision_critical_threshold(
    rows: FloatArray, probs: FloatArray, token: int, digits: int = 60
) -> Decimal:
    """tau* by a simplex on the dual in decimals; the other tokens must span the rows (else ValueError)."""
    merged: dict[tuple[float, ...], Decimal] = {}
    with localcontext() as context:
        context.prec = digits
        for j in np.flatnonzero(probs > 0.0):  # tokens that share a column act as one token
            if j != token:
                key = tuple(rows[:, j].tolist())
                merged[key] = merged.get(key, Decimal(0)) + Decimal(float(probs[j]))
        a = np.array([[Decimal(x) for x in column] for column in merged], dtype=object).T  # [r, n]
        p = np.array(list(merged.values()), dtype=object)
        own = np.array([Decimal(x) for x in rows[:, token].tolist()], dtype=object)
        own = own * Decimal(float(probs[token]))
        b = own + a @ p
        basis = _starting_basis(a.astype(float), p.astype(float))
        for _ in range(20 * len(p)):
            system = np.column_stack((b, a[:, basis]))  # [r, r]
            inverse = _inverse(system)
            z = inverse[0] @ a  # y has b.y = 1 and vanishes on the basis
            z[basis] = Decimal(0)
            full = z < 0
            solution = inverse @ (own + a[:, full] @ p[full])
            tau, phi = solution[0], -solution[1:] / p[basis]
            excess = np.maximum(-phi, phi - 1)
            worst = int(np.argmax(excess))
            if excess[worst] <= Decimal(10) ** (-digits // 2):
                return Decimal(tau)
            step = (1 if phi[worst] < 0 else -1) * (inverse[worst + 1] @ a)  # how every a_j.y moves
            step[np.delete(basis, worst)] = Decimal(0)
            slope = excess[worst] * p[basis[worst]]
            step[basis[worst]] = Decimal(0)
            moving = np.flatnonzero(((z < 0) & (step > 0)) | ((z >= 0) & (step < 0)))
            order = moving[np.argsort(-z[moving] / step[moving], kind="stable")]
            for entering in order:
                slope -= p[entering] * abs(step[entering])
                if slope <= 0:
                    break
            basis[worst] = entering
    raise ValueError("the reference simplex did not end; the problem is degenerate beyond merged duplicates")


def _columns(rows: FloatArray) -> list[Rational]:
    return [[Fraction(x) for x in column] for column in rows.T.tolist()]


def _dot(left: Rational, right: Rational) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True)), ZERO)


def _proven(a: list[Rational], p: Rational, token: int, y: Rational) -> Fraction:
    inside = [_dot(column, y) for column in a]
    numerator = p[token] * inside[token]
    positive = ZERO
    for j, value in enumerate(inside):
        if j != token:
            numerator += p[j] * min(value, ZERO)
            positive += p[j] * max(value, ZERO)
    return numerator / (numerator + positive) if numerator > 0 else ZERO


def _feasible(a: list[Rational], p: Rational, token: int, y: Rational, certificate: Any) -> Fraction:
    """The threshold that the certificate's fractions reach once they satisfy the equations exactly."""
    phi = [ONE if _dot(column, y) < 0 else ZERO for column in a]
    for j, value in zip(certificate.tokens.tolist(), certificate.fractions.tolist(), strict=True):
        phi[j] = Fraction(value)
    phi[token] = ONE
    used = [j for j in range(len(p)) if p[j] > 0]
    tau = sum((p[j] * phi[j] for j in used), ZERO) / sum(p)
    missing = [sum((p[j] * (tau - phi[j]) * a[j][k] for j in used), ZERO) for k in range(len(y))]
    # Tokens strictly between their bounds can give either way; then the heaviest, which hardly notice.
    movable = sorted((j for j in used if phi[j] < 1), key=lambda j: (phi[j] <= 0, -p[j] * (1 - phi[j])))
    heaviest = _pivots([a[j] for j in movable[: 4 * len(y)]])  # all of them only where these do not span
    basis = [movable[k] for k in (heaviest if len(heaviest) == len(y) else _pivots([a[j] for j in movable]))]
    amounts = _solve([a[j] for j in basis], missing)
    for j, amount in zip(basis, amounts, strict=True):
        phi[j] += amount / p[j]
    assert max(phi[j] for j in used) <= 1
    deficit = max(ZERO, -min(phi[j] for j in used))
    return (tau + deficit) / (1 + deficit)


def _reduced(columns: list[Rational]) -> tuple[list[Rational], list[int]]:
    """Reduced row echelon form of the matrix with these columns, and its pivot columns."""
    matrix = [list(row) for row in zip(*columns, strict=True)]
    pivots: list[int] = []
    for k in range(len(columns)):
        top = len(pivots)
        found = next((n for n in range(top, len(matrix)) if matrix[n][k] != 0), None)
        if found is None:
            continue
        matrix[top], matrix[found] = matrix[found], matrix[top]
        matrix[top] = [x / matrix[top][k] for x in matrix[top]]
        for n in range(len(matrix)):
            if n != top and matrix[n][k] != 0:
                factor = matrix[n][k]
                matrix[n] = [x - factor * t for x, t in zip(matrix[n], matrix[top], strict=True)]
        pivots.append(k)
        if len(pivots) == len(matrix):
            break
    return matrix, pivots


def _pivots(columns: list[Rational]) -> list[int]:
    return _reduced(columns)[1] if columns else []


def _solve(columns: list[Rational], target: Rational) -> Rational:
    matrix, pivots = _reduced([*columns, target])
    assert len(columns) not in pivots, "the certificate's residual cannot be repaired"
    return [matrix[n][-1] for n in range(len(columns))]


def _orthogonal(columns: list[Rational], size: int) -> Rational | None:
    """The direction orthogonal to all ``columns``, or None where it is not unique."""
    matrix, pivots = _reduced([list(row) for row in zip(*columns, strict=True)]) if columns else ([], [])
    if len(pivots) != size - 1:
        return None
    free = next(k for k in range(size) if k not in pivots)
    direction = [ZERO] * size
    direction[free] = ONE
    for n, k in enumerate(pivots):
        direction[k] = -matrix[n][free]
    return direction


def _inverse(matrix: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    size = matrix.shape[0]
    work = np.hstack((matrix, np.array([[Decimal(int(i == j)) for j in range(size)] for i in range(size)])))
    for k in range(size):
        top = k + int(np.argmax(np.abs(work[k:, k])))
        if work[top, k] == 0:
            raise ValueError("the other tokens do not span the kept directions; this reference needs them to")
        work[[k, top]] = work[[top, k]]
        work[k] = work[k] / work[k, k]
        others = np.arange(size) != k
        work[others] = work[others] - np.outer(work[others, k], work[k])
    return work[:, size:]


def _starting_basis(a: FloatArray, p: FloatArray) -> npt.NDArray[np.int64]:
    """r - 1 independent tokens, by weight."""
    rest, picked = a * p, []
    for _ in range(a.shape[0] - 1):
        best = int(np.argmax(np.linalg.norm(rest, axis=0)))
        unit = rest[:, best] / np.linalg.norm(rest[:, best])
        rest = rest - np.outer(unit, unit @ rest)
        rest[:, best] = 0.0
        picked.append(best)
    return np.array(picked)
