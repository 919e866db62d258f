"""Conformance tests for rules and solvers, the project's own and yours.

    from bat.testing import check_rule, check_solver

    def test_my_rule():
        check_rule(MyRule)

Each raises AssertionError with a sentence that says what does not hold, and for which parameter and
distribution. They take a second or two and need nothing but what ``bat`` needs.
"""

from __future__ import annotations

import inspect
import math
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.errors import InvalidInputError
from bat.program import Answer, Goal, Program, Solver, Status
from bat.rules import Rule, RuleForm, Scale, Summary, ThresholdRule, TokenFacts, get_rule

_NAME = re.compile(r"(?!ba-)[a-z0-9][a-z0-9.-]*")
# Ties, zeros, certain tokens, probabilities at the end of float64, and a token all by itself.
_NASTY = (
    (0.4, 0.3, 0.2, 0.1),
    (0.3, 0.3, 0.2, 0.2),
    (0.25, 0.25, 0.25, 0.25),
    (0.97, 0.01, 0.01, 0.01),
    (0.0, 1.0, 0.0),
    (1.0 - 1e-16, 1e-20, 5e-324, 0.0),
    (0.5, 0.5, 1e-20, 5e-324, 0.0),
    (0.12,) * 8 + (0.035, 0.005),
    (1.0,),
)
_SMALLEST_PARAMETER = 1e-300  # below, thresholds themselves underflow


def check_rule(rule: type[Rule], *, rounding: float = 1e-12, seed: int = 0) -> None:
    """Check everything that the harness relies on in a rule; see ``bat.rules.base`` for what that is.

    A parameter within ``rounding`` of a token's critical parameter, relative, is not tried: a formula and its
    inverse may round differently there. Pass 0 for a rule whose two directions are exact.
    """
    is_rule = inspect.isclass(rule) and issubclass(rule, Rule)
    assert is_rule, f"{rule!r} must be a subclass of bat.rules.Rule"
    missing = sorted(getattr(rule, "__abstractmethods__", ()))
    assert not missing, f"{rule.__name__} must define {', '.join(missing)}"
    _check_declarations(rule)
    forms = [RuleForm(rule), *([RuleForm(rule, basis_aware=True)] if rule.has_basis_aware_form else [])]
    margin = 0.0 if rule.scale is Scale.WHOLE else rounding
    for form in forms:
        _check_parameters(form)
        _check_round_trips(form)
        _check_batches(form, seed)
        if rule.takes_tensors:
            _check_tensors(form, seed)
        for probs in _distributions(seed):
            _check_forwards(form, probs)
            _check_backwards(form, probs, margin)


def check_solver(solver: Solver, *, tolerance: float = 1e-6, seed: int = 0) -> None:
    """Check that a solver proves intervals around the critical thresholds that the certified solver finds."""
    from bat.solvers.certified import CertifiedSolver

    assert solver.name, "a solver must have a name"
    generator = np.random.default_rng(seed)
    reference, goal = CertifiedSolver(), Goal(tolerance)
    for size, constraints in ((6, 1), (40, 3), (200, 8)):
        columns = np.column_stack((np.ones(size), generator.normal(size=(size, constraints))))
        rows = np.ascontiguousarray(np.linalg.qr(columns)[0].T * math.sqrt(size))
        rows[0] = 1.0
        probs = generator.dirichlet(np.full(size, 0.5))
        prepared = solver.prepare(rows, probs)
        for token in np.argsort(-probs)[:12:3].tolist():
            program = Program(rows, probs, token)
            exact = reference.solve(program, goal)
            for given in (prepared, None):
                answer = solver.solve(program, goal, given)
                _check_answer(answer, exact, program, tolerance, f"{solver.name}: token {token} of {size}")


def _check_answer(answer: Answer, exact: Answer, program: Program, tolerance: float, where: str) -> None:
    from bat import certificates

    assert answer.lower <= exact.upper * (1 + tolerance), (
        f"{where}: the lower bound {answer.lower} is too high"
    )
    assert answer.upper >= exact.lower * (1 - tolerance), (
        f"{where}: the upper bound {answer.upper} is too low"
    )
    if answer.status is Status.CLOSED:
        assert answer.upper - answer.lower <= tolerance * answer.upper, f"{where}: it says closed, but is not"
    proof = answer.certificate
    assert proof is not None, f"{where}: the goal asks for a certificate"
    lower = certificates.lower_bound(program, proof.direction)
    assert lower >= answer.lower * (1 - tolerance), f"{where}: the certificate proves no more than {lower}"
    if answer.upper < 1.0:
        upper = certificates.upper_bound(program, certificates.expand(program, proof))[0]
        assert upper <= answer.upper * (1 + tolerance), (
            f"{where}: the certificate proves no less than {upper}"
        )


def _distributions(seed: int) -> Iterator[FloatArray]:
    """Distributions [v]: nasty ones, ones with many ties, flat and peaked random ones."""
    for nasty in _NASTY:
        yield np.array(nasty)
    generator = np.random.default_rng(seed)
    for power in (1, 3, 12):
        counts = generator.integers(0, 6, size=12).astype(np.float64) ** power
        counts[0] = 1.0
        yield counts / counts.sum()
    for concentration in (5.0, 0.3, 0.02):
        yield generator.dirichlet(np.full(20, concentration))


def _check_declarations(rule: type[Rule]) -> None:
    name = rule.__name__
    for attribute in ("plain_name", *(() if rule.takes_no_parameter else ("example",))):
        assert hasattr(rule, attribute), f"{name} must have a class attribute {attribute}"
    assert _NAME.fullmatch(rule.plain_name), (
        f"plain_name must be lower case, as in top-a, and must not begin with ba-; got {rule.plain_name!r}"
    )
    assert rule.has_basis_aware_form <= issubclass(rule, ThresholdRule), (
        f"{name} has no threshold, so it must not have a basis-aware form"
    )
    if rule.takes_no_parameter:
        assert not rule.rises, f"{name} takes no parameter, so nothing rises"
    if rule.scale is Scale.WHOLE:
        assert not rule.rises, f"{name} counts in whole numbers, so it must reject more as the count falls"


def _check_parameters(form: RuleForm) -> None:
    invalid: list[object] = [math.nan, math.inf, -math.inf, "0.5", True]
    if form.takes_no_parameter:
        assert form.check_parameter(None) is None, f"{form} takes no parameter, so it must accept None"
        invalid.append(0.5)
    else:
        example = form.rule.example
        assert form.check_parameter(example) == example, f"{form} must accept its example, {example}"
        low, high = form.limits
        assert low < example < high, f"{form}: the example {example} must lie within limits, {form.limits}"
        grid = form.default_parameters()
        assert (np.diff(grid) > 0).all(), f"{form}: default_parameters must ascend"
        for value in grid.tolist():
            assert form.check_parameter(value) == value, f"{form} must accept {value} of default_parameters"
        # The end at which most is rejected stands for "never rejected" in critical parameters.
        invalid += [None, high if form.rises else low]
    for value in invalid:
        try:
            form.check_parameter(value)
        except InvalidInputError:
            continue
        raise AssertionError(f"{form} {form.requirement}, so {value!r} must raise InvalidInputError")


def _check_round_trips(form: RuleForm) -> None:
    rule = form(None if form.takes_no_parameter else form.rule.example)
    for copy in (pickle.loads(pickle.dumps(rule)), form(rule.parameter)):
        assert {copy} == {rule}, f"{rule} must equal its copy, and have its hash"
    assert pickle.loads(pickle.dumps(form)) == form == rule.form, f"{form} must equal its copy"
    module, _, path = form.plain_name.partition(":")
    if not path or ("<locals>" not in path and module != "__main__"):  # else nothing can find it by name
        assert get_rule(str(rule)) == rule, f"get_rule({str(rule)!r}) must give the rule back"


def _check_batches(form: RuleForm, seed: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.full(50, 0.2), size=6)
    before = probs.copy()
    rule = form(None if form.takes_no_parameter else form.rule.example)
    together, shared = rule.keep(probs), Summary(probs)
    assert together.dtype == np.bool_, f"{rule}: keep must give booleans; got {together.dtype}"
    assert together.shape == probs.shape, f"{rule}: keep must give [B, v]; got {list(together.shape)}"
    np.testing.assert_array_equal(rule.keep(shared), together, f"{rule}: keep must take a Summary")
    critical = form.critical_parameter(probs, probs[:, 3])
    for row in range(len(probs)):
        alone = probs[row : row + 1]
        np.testing.assert_array_equal(rule.keep(alone)[0], together[row], f"{rule}: rows must not depend")
        np.testing.assert_array_equal(form.critical_parameter(alone, alone[:, 3]), critical[row : row + 1])
    assert rule.keep(np.zeros((0, 5))).shape == (0, 5), f"{rule}: an empty batch must give an empty answer"
    np.testing.assert_array_equal(probs, before, f"{rule} must not change what it is given")


def _check_tensors(form: RuleForm, seed: int) -> None:
    """A rule that takes tensors says of them what it says of arrays, without touching their numbers."""
    import torch

    from bat.rules.tensors import TensorSummary

    arrays = Summary(np.random.default_rng(seed).dirichlet(np.full(50, 0.2), size=6))
    rule = form(None if form.takes_no_parameter else form.rule.example)
    for device in ("meta", "cpu"):  # tensors on meta have no numbers, as those of a GPU have none on the host
        rows = TensorSummary(*(torch.from_numpy(part).to(device) for part in (arrays.probs, arrays.entropy)))
        try:
            kept: Any = rule.keep(rows)
            thresholds: Any = rule.thresholds(rows) if isinstance(rule, ThresholdRule) else rows.entropy
        except (TypeError, RuntimeError, NotImplementedError) as error:
            raise AssertionError(
                f"{rule} declares takes_tensors, so it must compute with operators and rows.xp: {error}"
            ) from error
        for answer in (kept, thresholds):
            where = answer.device.type if isinstance(answer, torch.Tensor) else "an array"
            assert where == device, f"{rule} must leave tensors on their device; got {where}"
        if device == "cpu":
            np.testing.assert_array_equal(kept.numpy(), rule.keep(arrays), f"{rule}: keep of tensors")
            if isinstance(rule, ThresholdRule):
                message = f"{rule}: thresholds of tensors"
                np.testing.assert_allclose(
                    thresholds.numpy(), rule.thresholds(arrays), 1e-12, 0, True, message
                )


def _check_forwards(form: RuleForm, probs: FloatArray) -> None:
    """Keep something, keep the most likely token, and reject more in one direction of the parameter."""
    last: BoolArray | None = None
    for value in _grid(form):
        rule, where = form(value), f"{form(value)} on {probs.tolist()}"
        kept = rule.keep(probs[None])[0]
        if isinstance(rule, ThresholdRule):
            tau = float(rule.thresholds(probs[None])[0])
            assert 0.0 <= tau < 1.0, f"{where}: the threshold must lie in [0, 1); got {tau}"
            assert tau <= probs.max(), (
                f"{where}: the threshold must not exceed the largest probability; got {tau}"
            )
            assert kept[probs.argmax()], f"{where}: the most likely token must be kept"
            assert not (kept & (probs < tau)).any(), f"{where}: keep must reject what is below the threshold"
            if type(rule).keep is ThresholdRule.keep:
                np.testing.assert_array_equal(kept, probs >= tau)
        assert kept.any(), f"{where}: a token must be kept"
        if last is not None:
            grown = kept & ~last if form.rises else last & ~kept
            direction = "rises" if form.rises else "falls"
            assert not grown.any(), f"{where}: a token comes back as the parameter {direction}"
        last = kept


def _check_backwards(form: RuleForm, probs: FloatArray, rounding: float) -> None:
    """The inverse says of every token, at every parameter, what the rule says forwards."""
    levels, own = _levels(form, probs)
    batch = np.tile(probs, (len(levels), 1))
    token_probs = own if form.basis_aware else None
    critical = form.critical_parameter(batch, levels, token_probs)
    where = f"{form} on {probs.tolist()}"
    assert critical.shape == levels.shape, f"{where}: invert must give a number for each row"
    assert not np.isnan(critical).any(), f"{where}: a critical parameter must not be NaN"
    if form.scale is Scale.WHOLE:
        assert (critical == np.floor(critical)).all(), f"{where}: critical parameters must be whole numbers"
    facts = TokenFacts.of(Summary(batch), levels, token_probs, form.rule.extra_facts)
    stored = form.critical_parameter(facts, levels, token_probs)
    np.testing.assert_array_equal(stored, critical, f"{where}: stored facts must give the same answer")
    for value in _parameters_to_try(form, probs, critical):
        rule = form(value)
        if isinstance(rule, ThresholdRule):
            tau = rule.thresholds(probs[None])[0]
            expected = (own < tau) & ((levels <= tau) | (not form.basis_aware))
        else:
            kept = rule.keep(probs[None])[0]
            expected = np.array([not kept[np.flatnonzero(probs == level)].any() for level in levels])
        wrong = form.rejects(critical, value) != expected
        if value is not None and rounding > 0.0:
            wrong &= (np.abs(critical - value) > rounding * value) & (value > _SMALLEST_PARAMETER)
        assert not wrong.any(), (
            f"{where} at {value!r}: forwards and backwards disagree about levels {levels[wrong].tolist()}, "
            f"whose critical parameters are {critical[wrong].tolist()}"
        )


def _levels(form: RuleForm, probs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Levels to ask about, and the token's probability at each: tau* on, between and beyond probabilities."""
    if not form.basis_aware:
        return probs, probs
    others = [*probs, *np.minimum(probs * 1.1, 1.0), math.nextafter(1.0, 0.0), 1.0]
    pairs = sorted({(max(float(p), float(level)), float(p)) for p in probs for level in (p, *others)})
    levels, own = np.array(pairs).T
    return np.ascontiguousarray(levels), np.ascontiguousarray(own)


def _grid(form: RuleForm) -> list[float | None]:
    return [None] if form.takes_no_parameter else list(form.default_parameters()[::7])


def _parameters_to_try(form: RuleForm, probs: FloatArray, critical: FloatArray) -> list[float | None]:
    """A grid, every boundary, and what lies next to boundaries, as far as the rule takes it."""
    if form.takes_no_parameter:
        return [None]
    exact = np.unique([*critical, *probs, *np.cumsum(np.sort(probs)[::-1])])
    if form.scale is Scale.WHOLE:
        candidates = np.unique(np.concatenate([exact, exact + 1.0, np.arange(1.0, len(probs) + 3.0)]).round())
    else:
        near = [np.nextafter(exact, 0.0), np.nextafter(exact, np.inf), exact * (1 - 1e-9), exact * (1 + 1e-9)]
        candidates = np.concatenate([form.default_parameters()[::7], exact, *near])
    return [value for value in candidates.tolist() if form.rule.accept_parameter(value) is not None]
