"""Sampling: the distribution it has, what it reports, and that a row depends on nothing but itself."""

from __future__ import annotations

import numpy as np
import pytest

import bat
from bat._wheel import BLOCK, Wheel
from bat.program import Answer, Goal, Program
from bat.solvers.certified import CertifiedSolver
from tests.bat.problems import TOY_LOGITS, random_model, toy


def keys(count: int, run: str = "test") -> list[bat.Key]:
    return [bat.Key(seed=0, run=run, prefix=prefix, sample=0) for prefix in range(count)]


def draw(basis: bat.Basis, logits: np.ndarray, rule: str, count: int, **options: object) -> bat.Samples:
    """``count`` independent samples of one context."""
    numbers = bat.uniforms(keys(count), 0, 11)
    return bat.sample(basis, np.repeat(logits, count, axis=0), bat.get_rule(rule), numbers, **options)  # type: ignore[arg-type]


def chi_square(tokens: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Pearson's statistic over tokens expected at least five times, the rest pooled."""
    counts = np.bincount(tokens, minlength=expected.size)
    likely = expected * tokens.size >= 5
    observed = np.append(counts[likely], counts[~likely].sum())
    wanted = np.append(expected[likely], expected[~likely].sum()) * tokens.size
    keep = wanted > 0
    assert observed[~keep].sum() == 0
    return float(((observed - wanted)[keep] ** 2 / wanted[keep]).sum()), int(keep.sum()) - 1


# The statistic's distribution is chi-square up to its discreteness; a sound sampler fails each such
# test with probability 1e-6, and since the numbers are counter-based it either always does or never.
def assert_distributed(tokens: np.ndarray, expected: np.ndarray) -> None:
    from scipy.stats import chi2

    statistic, freedom = chi_square(tokens, expected)
    assert freedom >= 1
    assert statistic < chi2.isf(1e-6, freedom)


@pytest.mark.parametrize(
    "rule", ["ba-epsilon=0.05", "ba-eta=0.2", "ba-nucleus=0.7", "ba-top-k=4", "ba-min-p=0.3"]
)
def test_has_the_distribution_of_the_renormalised_candidate_set(rule: str) -> None:
    basis, logits = random_model(12, tokens=40, hidden=6, constraints=4, batch=1, scale=0.8)
    probs = bat.softmax(logits)
    tau = float(bat.get_rule(rule).thresholds(probs)[0])  # type: ignore[attr-defined]
    members = bat.candidate_set(basis, probs, tau)
    assert members.exact
    samples = draw(basis, logits, rule, 4000)
    assert set(samples.tokens) <= set(members.accepted)
    fell_back = samples.acceptance >= bat.Acceptance.GREEDY_FALLBACK
    assert fell_back.mean() < 0.01
    expected = np.where(members.mask(), probs[0], 0.0)
    assert_distributed(samples.tokens[~fell_back], expected / expected.sum())
    certified = samples.acceptance == bat.Acceptance.CERTIFIED
    assert certified.any()  # tokens below the threshold are really reached
    assert (samples.probs[certified] < tau).all()
    assert (samples.probs[samples.acceptance == bat.Acceptance.THRESHOLD] >= tau).all()


@pytest.mark.parametrize(
    "rule", ["ancestral", "nucleus=0.8", "top-k=5", "typical=0.6", "epsilon=0.03", "min-p=0.2"]
)
def test_plain_rules_have_the_distribution_of_their_kept_set(rule: str) -> None:
    basis, logits = random_model(5, tokens=30, hidden=6, constraints=2, batch=1, scale=1.0)
    probs = bat.softmax(logits)
    kept = bat.get_rule(rule).keep(probs)[0]
    samples = draw(basis, logits, rule, 4000)
    expected = np.where(kept, probs[0], 0.0)
    assert_distributed(samples.tokens, expected / expected.sum())
    assert (samples.programs == 0).all()


def test_greedy_takes_the_most_likely() -> None:
    basis, logits = random_model(5, batch=4)
    samples = bat.sample(basis, logits, bat.get_rule("greedy"), bat.uniforms(keys(4), 0, 11))
    assert samples.tokens.tolist() == logits.argmax(axis=1).tolist()


def test_without_constraints_basis_aware_is_plain() -> None:
    basis, logits = random_model(7, tokens=50, constraints=0, batch=1)
    plain = draw(basis, logits, "epsilon=0.03", 300)
    aware = draw(basis, logits, "ba-epsilon=0.03", 300)
    assert (plain.tokens == aware.tokens).mean() > 0.99  # only a fallback can differ
    same = aware.acceptance == bat.Acceptance.THRESHOLD
    assert (plain.tokens[same] == aware.tokens[same]).all()


def test_reports_what_was_rejected_on_the_way() -> None:
    basis, probs = toy()
    samples = draw(basis, TOY_LOGITS, "ba-epsilon=0.47", 400)
    rejected = samples.rejections > 0
    assert rejected.mean() == pytest.approx(
        probs[0, 0], abs=0.1
    )  # token 0 is drawn first a third of the time
    assert {tokens for tokens, hit in zip(samples.rejected_tokens, rejected, strict=True) if hit} == {(0,)}
    assert 0 not in samples.tokens
    assert (samples.programs[rejected] >= 1).all()
    assert (samples.effort.pivots[rejected] >= 1).all()
    untouched = (samples.tokens == 1) & ~rejected
    assert (samples.programs[untouched] == 0).all()
    assert (samples.undecided == 0).all()


def test_greedy_fallback_after_max_tries() -> None:
    # Two hundred equal tokens below the threshold, one just above it: ten tries mostly miss it.
    logits = np.zeros((1, 201))
    logits[0, 7] = 2.5
    basis = bat.Basis.from_matrix(np.random.default_rng(0).normal(size=(201, 2)), 0)
    tau = float(bat.softmax(logits)[0, 7])
    samples = draw(basis, logits, f"ba-epsilon={tau!r}", 200, max_tries=3)
    fell_back = samples.acceptance == bat.Acceptance.GREEDY_FALLBACK
    assert fell_back.mean() > 0.5
    assert (samples.tokens == 7).all()
    assert (samples.rejections[fell_back] == 3).all()
    assert all(len(set(tokens)) == len(tokens) for tokens in samples.rejected_tokens)  # without replacement


def test_exact_fallback_draws_from_the_candidate_set() -> None:
    basis, logits = random_model(12, tokens=400, hidden=8, constraints=6, batch=1, scale=0.35)
    probs = bat.softmax(logits)
    tau = float(np.sort(probs[0])[-3])
    members = bat.candidate_set(basis, probs, tau)
    samples = draw(basis, logits, f"ba-epsilon={tau!r}", 250, max_tries=1, fallback="exact")
    fell_back = samples.acceptance == bat.Acceptance.EXACT_FALLBACK
    assert fell_back.sum() > 50
    assert set(samples.tokens) <= set(members.accepted)
    expected = np.where(members.mask(), probs[0], 0.0)
    assert_distributed(samples.tokens[fell_back], expected / expected.sum())
    assert (samples.programs[fell_back] >= members.programs).all()


def test_a_row_depends_on_nothing_but_itself() -> None:
    basis, logits = random_model(21, tokens=80, hidden=8, constraints=6, batch=12)
    numbers = bat.uniforms(keys(12), 3, 11)
    rule = bat.get_rule("ba-eta=0.1")
    together = bat.sample(basis, logits, rule, numbers, threads=3)
    order = np.random.default_rng(0).permutation(12)
    shuffled = bat.sample(basis, logits[order], rule, numbers[order], threads=1)
    alone = [bat.sample(basis, logits[q : q + 1], rule, numbers[q : q + 1]).tokens[0] for q in range(12)]
    assert shuffled.tokens.tolist() == together.tokens[order].tolist()
    assert alone == together.tokens.tolist()


def test_only_rows_below_their_threshold_are_left_pending() -> None:
    basis, logits = random_model(21, tokens=80, hidden=8, constraints=6, batch=40)
    numbers = bat.uniforms(keys(40), 0, 11)
    probs = bat.softmax(logits)
    rule = bat.get_rule("ba-eta=0.1")
    proposals = bat.propose(logits, rule, numbers)
    taus = rule.thresholds(probs)  # type: ignore[attr-defined]
    np.testing.assert_allclose(proposals.thresholds, taus, rtol=1e-12)
    np.testing.assert_array_equal(proposals.probs, probs[np.arange(40), proposals.tokens])
    np.testing.assert_array_equal(proposals.pending, np.flatnonzero(proposals.probs < proposals.thresholds))
    assert 5 < proposals.pending.size < 35
    np.testing.assert_array_equal(proposals.distributions, probs[proposals.pending])
    np.testing.assert_array_equal(proposals.uniforms, numbers[proposals.pending])
    settled = bat.settle(basis, proposals)
    finished = np.setdiff1d(np.arange(40), proposals.pending)
    np.testing.assert_array_equal(settled.tokens[finished], proposals.tokens[finished])
    assert (settled.programs[proposals.pending] > 0).all()
    # The first draw is the same for every rule, so a plain one rejects the candidates that were left pending.
    plain = bat.propose(logits, bat.get_rule("eta=0.1"), numbers)
    assert plain.pending.size == 0
    assert plain.distributions.shape == (0, 80)
    first = [
        rejected[0] if rejected else token
        for token, rejected in zip(plain.tokens, plain.rejected_tokens, strict=True)
    ]
    assert first == proposals.tokens.tolist()


def test_rules_that_share_numbers_mostly_agree() -> None:
    basis, logits = random_model(21, tokens=80, hidden=8, constraints=6, batch=200)
    numbers = bat.uniforms(keys(200), 0, 11)
    plain = bat.sample(basis, logits, bat.get_rule("epsilon=0.01"), numbers)
    aware = bat.sample(basis, logits, bat.get_rule("ba-epsilon=0.02"), numbers)
    both = (plain.rejections == 0) & (aware.rejections == 0)
    assert both.mean() > 0.5
    assert (plain.tokens[both] == aware.tokens[both]).all()


def test_successive_draws_cover_the_support_once() -> None:
    probs = np.array([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    for start in np.linspace(0.0, np.nextafter(1.0, 0.0), 41):
        wheel = Wheel(probs, 3)
        seen = []
        for number in (start, 0.0, np.nextafter(1.0, 0.0)):
            token = wheel.draw(float(number))
            seen.append(token)
            wheel.remove(token)
        assert sorted(seen) == [1, 3, 4]
        assert wheel.draw(0.5) == -1  # nothing possible is left


def test_draws_without_replacement_invert_the_running_sums_of_what_is_left() -> None:
    generator = np.random.default_rng(3)
    probs = generator.dirichlet(np.full(3 * BLOCK + 17, 0.05))
    wheel = Wheel(probs, 40)
    left = probs.copy()
    for number in generator.random(40):
        sums = np.cumsum(left)
        expected = int(np.searchsorted(sums, number * sums[-1], side="right"))
        token = wheel.draw(float(number))
        assert token == expected  # no number here falls within rounding of an edge
        wheel.remove(token)
        left[token] = 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uniforms": np.full((1, 5), 0.5)}, "max_tries \\+ 1"),
        ({"uniforms": np.full((2, 11), 0.5)}, "row for each row"),
        ({"uniforms": np.full((1, 11), 1.0)}, r"\[0, 1\)"),
        ({"max_tries": 0}, "max_tries"),
        ({"fallback": "random"}, "fallback must be one of"),
        ({"logits": np.array([[np.nan, 0.0, 0.0]])}, "NaN"),
        ({"logits": np.array([[np.inf, 0.0, 0.0]])}, r"\+inf"),
        ({"logits": np.full((1, 3), -np.inf)}, "at least one token"),
        ({"logits": np.zeros((1, 4))}, "basis's 3 tokens"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    basis, _ = toy()
    arguments = {
        "basis": basis,
        "logits": TOY_LOGITS,
        "rule": bat.get_rule("ba-eta=0.1"),
        "uniforms": np.full((1, 11), 0.5),
        **change,
    }
    with pytest.raises(bat.InvalidInputError, match=message):
        bat.sample(**arguments)  # type: ignore[arg-type]


class Counting(CertifiedSolver):
    """A solver of somebody's own, which counts the programs it is given."""

    name = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.solved = 0

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        self.solved += 1
        return super().solve(program, goal, prepared)


def test_the_exact_fallback_asks_the_solver_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    basis = bat.Basis.from_matrix(generator.normal(size=(60, 20)), 6)
    logits = np.repeat(generator.normal(scale=2.0, size=(1, 60)), 40, axis=0)
    rule, numbers = bat.get_rule("ba-eta=0.2"), bat.uniforms(keys(40), 0, 2)
    options = {"max_tries": 1, "fallback": "exact", "threads": 1}
    expected = bat.sample(basis, logits, rule, numbers, **options)  # type: ignore[arg-type]
    fell_back = expected.acceptance == bat.Acceptance.EXACT_FALLBACK
    assert fell_back.sum() > 3
    assert expected.programs[fell_back].max() > 1  # the fallback has programs of its own to solve

    own = Counting()
    counted = bat.sample(basis, logits, rule, numbers, solver=own, **options)  # type: ignore[arg-type]
    assert counted.tokens.tolist() == expected.tokens.tolist()
    assert own.solved == counted.programs.sum()

    def used(*arguments: object) -> None:
        raise AssertionError("another solver was used")

    monkeypatch.setattr(CertifiedSolver, "solve", used)
    highs = bat.sample(basis, logits, rule, numbers, solver="highs", **options)  # type: ignore[arg-type]
    assert highs.tokens.tolist() == expected.tokens.tolist()
    assert highs.undecided.sum() == 0


def test_a_rule_must_be_a_rule() -> None:
    with pytest.raises(bat.InvalidInputError, match=r"got the string 'eta=0\.1'"):
        bat.sample(toy(), TOY_LOGITS, "eta=0.1", bat.uniforms(keys(1), 0, 11))  # type: ignore[arg-type]
