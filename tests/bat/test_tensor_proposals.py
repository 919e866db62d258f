"""Both implementations of ``propose``, the compiled one and the one in torch, propose the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

import bat
from bat import drafts, lanes
from bat.lanes import Lane
from bat.proposals import Proposals
from bat.rules import Rule, Summary, ThresholdRule, builtin_rule_names, get_rule_form
from bat.tensor_proposals import DRAWS, TensorDraft
from tests.bat.problems import random_model

CPU = torch.device("cpu")
MAX_TRIES = 10


def in_torch(
    logits: torch.Tensor,
    rule: Rule,
    uniforms: np.ndarray,
    max_tries: int = MAX_TRIES,
    temperature: bat.Temperature | None = None,
) -> Proposals:
    """What tensors of another device get; here the device is the CPU."""
    return TensorDraft(logits, rule, uniforms, max_tries, Lane(CPU), temperature).collect()


def compiled(
    logits: torch.Tensor,
    rule: Rule,
    uniforms: np.ndarray,
    max_tries: int = MAX_TRIES,
    temperature: bat.Temperature | None = None,
) -> Proposals:
    return bat.propose(logits, rule, uniforms, max_tries=max_tries, temperature=temperature)


IMPLEMENTATIONS = pytest.mark.parametrize("implementation", [compiled, in_torch])


def parameters(name: str) -> list[float | None]:
    """Parameters that reject little and much; both arms of eta's minimum."""
    form = get_rule_form(name)
    if form.takes_no_parameter:
        return [None]
    example = form.rule.example
    own = {
        "top-k": [1, 3, 40, 10**6],
        "nucleus": [0.3, example, 1.0],
        "typical": [0.2, example],
        "top-h": [0.2, example, 1.0],
        "top-n-sigma": [0.3, example, 4.0],
    }
    return own.get(form.plain_name, [1e-7, example, 0.3])


RULES = [get_rule_form(name)(parameter) for name in builtin_rule_names() for parameter in parameters(name)]


def _is_usual(rule: Rule) -> bool:
    """One setting of each rule that draws."""
    return rule.name != "greedy" and rule.parameter == getattr(type(rule), "example", None)


def logit_batches() -> dict[str, torch.Tensor]:
    """Logits [B, v]: vocabularies of whole blocks and of others, every float type, hostile rows."""
    generator = torch.Generator().manual_seed(7)

    def normal(batch: int, size: int, scale: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return (torch.randn(batch, size, generator=generator) * scale).to(dtype)

    forbidden = normal(6, 1300, 2.0)
    forbidden[:, 1::3] = -torch.inf
    forbidden[0, 1:] = -torch.inf  # one token is left
    return {
        "float32": normal(24, 3000, 2.5),
        "whole blocks": normal(8, 1024, 1.5),
        "float64": normal(6, 700, 3.0, torch.float64),
        "float16": normal(12, 2000, 2.0, torch.float16),
        "bfloat16, which has many ties": normal(12, 2000, 2.0, torch.bfloat16),
        "all equal": torch.zeros(6, 1000),
        "underflow": normal(8, 900, 400.0),
        "forbidden tokens": forbidden,
        "few tokens": normal(16, 5, 1.0),
        "one token": torch.zeros(3, 1),
    }


LOGITS = logit_batches()


def numbers(batch: int, max_tries: int = MAX_TRIES) -> np.ndarray:
    keys = [bat.Key(seed=3, run="conformance", prefix=row, sample=0) for row in range(batch)]
    return bat.uniforms(keys, 0, max_tries + 1)


# A draw differs where the number times the mass that is left lies within rounding, some 1e-15, of one of v
# running sums: for v = 50,000 that has a chance of 1e-10 a draw. A million draws had no such case. The tests
# allow for it, so none fails by luck.
ROUNDING = 1e-12


def at_an_edge(probs: np.ndarray, removed: tuple[int, ...], uniform: float) -> bool:
    """Whether a draw from what is left is decided by rounding."""
    left = probs.copy()
    left[list(removed)] = 0.0
    sums = np.cumsum(left)
    return bool(np.abs(sums / sums[-1] - uniform).min() < ROUNDING)


def assert_same(
    ours: Proposals,
    theirs: Proposals,
    logits: torch.Tensor,
    uniforms: np.ndarray,
    temperature: float = 1.0,
) -> None:
    np.testing.assert_allclose(ours.thresholds, theirs.thresholds, rtol=ROUNDING)
    exact = bat.softmax(logits.double() / temperature)
    for row in range(len(ours)):
        first, second = ours.rejected_tokens[row], theirs.rejected_tokens[row]
        if (ours.tokens[row], first) == (theirs.tokens[row], second):
            assert ours.probs[row] == pytest.approx(theirs.probs[row], rel=ROUNDING)
            continue
        tries = [(*first, ours.tokens[row]), (*second, theirs.tokens[row])]
        step = next(i for i, (a, b) in enumerate(zip(*tries, strict=False)) if a != b)
        assert at_an_edge(exact[row], tries[0][:step], uniforms[row, step]), (row, tries)
    assert ours.pending.tolist() == theirs.pending.tolist()
    assert ours.distributions.shape == theirs.distributions.shape
    np.testing.assert_allclose(ours.distributions, theirs.distributions, rtol=ROUNDING)
    assert ours.distributions.flags.c_contiguous
    np.testing.assert_array_equal(ours.uniforms, theirs.uniforms)
    np.testing.assert_array_equal(ours.uniforms, uniforms[ours.pending])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_both_implementations_propose_the_same(rule: Rule) -> None:
    for logits in LOGITS.values():
        uniforms = numbers(len(logits))
        assert_same(in_torch(logits, rule, uniforms), compiled(logits, rule, uniforms), logits, uniforms)


@pytest.mark.parametrize("rule", [rule for rule in RULES if _is_usual(rule)], ids=str)
def test_both_implementations_propose_the_same_at_a_temperature(rule: Rule) -> None:
    for value in (0.6, 1.7):
        for order in ("last",) if rule.basis_aware else ("first", "last"):
            heat = bat.Temperature(value, order)
            for logits in LOGITS.values():
                uniforms = numbers(len(logits))
                first, second = (
                    implementation(logits, rule, uniforms, temperature=heat)
                    for implementation in (in_torch, compiled)
                )
                assert_same(first, second, logits, uniforms, value)
                assert first.flattened is not None
                np.testing.assert_allclose(first.flattened, second.flattened, rtol=ROUNDING)
                own = bat.softmax(logits)[np.arange(len(logits)), first.tokens]
                np.testing.assert_allclose(first.probs, own, rtol=ROUNDING)  # the model's, in either order


@pytest.mark.parametrize("max_tries", [1, 2, DRAWS, 25])
def test_rows_whose_draws_on_the_device_all_fail_are_finished_by_the_host(max_tries: int) -> None:
    logits, rule = LOGITS["float32"], bat.get_rule("top-k", 1)  # which rejects nearly every candidate
    uniforms = numbers(len(logits), max_tries)
    ours = in_torch(logits, rule, uniforms, max_tries)
    assert_same(ours, compiled(logits, rule, uniforms, max_tries), logits, uniforms)
    assert max(map(len, ours.rejected_tokens)) == max_tries
    assert ours.pending.size == 0


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.basis_aware], ids=str)
def test_settling_either_gives_the_same_samples(rule: Rule) -> None:
    basis, logits = random_model(3, tokens=300, hidden=8, constraints=4, batch=24, scale=1.0)
    uniforms = numbers(24)
    first, second = (
        bat.settle(basis, implementation(torch.from_numpy(logits), rule, uniforms))
        for implementation in (in_torch, compiled)
    )
    for name in ("tokens", "acceptance", "rejections", "programs"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), name)
    assert first.rejected_tokens == second.rejected_tokens


@IMPLEMENTATIONS
def test_numbers_on_an_edge_belong_to_the_next_token(implementation: Callable[..., Proposals]) -> None:
    """Sums of quarters are exact, so here no implementation may differ."""
    logits = torch.zeros(4, 4)
    uniforms = np.repeat([[0.0], [0.25], [0.5], [np.nextafter(1.0, 0.0)]], 2, axis=1)
    proposals = implementation(logits, bat.get_rule("ancestral"), uniforms, 1)
    assert proposals.tokens.tolist() == [0, 1, 2, 3]
    assert proposals.probs.tolist() == [0.25] * 4


@IMPLEMENTATIONS
@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ((2, 5), torch.nan, "logits must not be NaN; got nan at row 2, column 5"),
        ((1, 0), torch.inf, r"logits must not be \+inf; got inf at row 1, column 0"),
        (3, -torch.inf, "row 3 is -inf everywhere"),
    ],
)
@pytest.mark.parametrize("rule", ["eta=0.002", "ba-nucleus=0.9", "typical=0.5", "greedy"])
def test_logits_that_are_no_numbers_are_errors(
    implementation: Callable[..., Proposals],
    entry: int | tuple[int, int],
    value: float,
    message: str,
    rule: str,
) -> None:
    logits = LOGITS["float32"].clone()
    logits[entry] = value
    with pytest.raises(bat.InvalidInputError, match=message):
        implementation(logits, bat.get_rule(rule), numbers(len(logits)))


@IMPLEMENTATIONS
def test_wrong_shapes_and_numbers_are_errors(implementation: Callable[..., Proposals]) -> None:
    rule = bat.get_rule("eta", 0.002)
    with pytest.raises(bat.InvalidInputError, match=r"must have shape|of shape \[batch, vocabulary\]"):
        implementation(torch.zeros(3), rule, numbers(3))
    with pytest.raises(bat.InvalidInputError, match="floating-point numbers"):
        implementation(torch.zeros(3, 4, dtype=torch.long), rule, numbers(3))
    with pytest.raises(bat.InvalidInputError, match="uniforms must have shape"):
        implementation(torch.zeros(3, 4), rule, numbers(2))


class TakesArrays(ThresholdRule):
    """A plug-in's rule that calls numpy."""

    plain_name = "takes-arrays"
    example = 0.1

    def thresholds(self, probs: object) -> np.ndarray:
        rows = Summary.of(probs)  # type: ignore[arg-type]
        assert isinstance(rows.probs, np.ndarray)
        return rows.capped(np.sqrt(rows.maximum) * 0.1)

    invert = classmethod(lambda cls, rows, levels, ties_kept: levels)  # type: ignore[assignment]


class OtherDevice(torch.Tensor):
    """A CPU tensor that says it is elsewhere."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("mps")


@pytest.mark.parametrize(
    ("rule", "float64", "sentence"),
    [
        (bat.get_rule("ba-eta", 0.03), False, "done on the host for device mps: it has no float64"),
        (TakesArrays(0.1), True, "done on the host for device mps: the rule .*TakesArrays takes arrays"),
    ],
)
def test_what_the_device_cannot_do_the_host_does_and_it_says_so_once(
    monkeypatch: pytest.MonkeyPatch, rule: Rule, float64: bool, sentence: str
) -> None:
    logits = LOGITS["float32"]
    elsewhere = logits.as_subclass(OtherDevice)
    monkeypatch.setattr(lanes, "has_float64", lambda device: float64)
    monkeypatch.setattr(lanes.Lane, "fetch", lambda lane, tensor: lanes._Later(logits))
    drafts._say_once.cache_clear()
    uniforms = numbers(len(logits))
    with pytest.warns(RuntimeWarning, match=sentence):
        proposals = bat.propose(elsewhere, rule, uniforms)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = bat.propose(elsewhere, rule, uniforms)
    expected = compiled(logits, rule, uniforms)
    for found in (proposals, again):
        assert found.tokens.tolist() == expected.tokens.tolist()


def test_a_device_without_float64_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(*args: object, **named: object) -> torch.Tensor:
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

    assert lanes.has_float64.__wrapped__(CPU)
    monkeypatch.setattr(lanes.torch, "zeros", zeros)
    assert not lanes.has_float64.__wrapped__(torch.device("mps"))
