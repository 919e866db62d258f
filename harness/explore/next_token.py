"""The paper's tables of next tokens, for any distribution: which methods accept which tokens.

The tokens are chosen as in the paper's appendix: the likeliest, and those on which a basis-aware method and
its plain form differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
import torch

import bat
from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.rules import Rule, Summary, ThresholdRule
from bat.temperature import resolve_temperature
from bat.thresholds import Verdict
from workers.models import LanguageModel

# Tokens per call of the solver, because each needs a copy of the whole distribution.
_CHUNK = 32
# Give up looking for a kind of difference after this many tokens.
_SEARCH = 256
# Critical thresholds above this are only reported as larger: they are slow to compute, and not useful.
CRITICAL_CAP = 0.5

# A verdict code is an index into this tuple, or _UNKNOWN.
_VERDICTS = (Verdict.ACCEPT, Verdict.REJECT, Verdict.UNDECIDED)
_ACCEPT, _REJECT, _UNDECIDED, _UNKNOWN = 0, 1, 2, -1

CodeArray = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Method:
    """A column of the table: a rule in this context."""

    rule: Rule
    threshold: float | None  # None for rules without one, such as typical
    accepted: int | None = None  # number of tokens in the whole vocabulary; None if not counted
    undecided: int = 0  # of the tokens counted
    temperature: bat.Temperature | None = None  # with its order; the threshold is of what the rule sees


@dataclass(frozen=True, slots=True)
class Row:
    """A token, and a verdict for each method."""

    rank: int  # 0 for the likeliest
    token: int
    probability: float
    verdicts: tuple[Verdict, ...]
    critical: tuple[float, float] | None = None  # an interval for its critical threshold, if requested


@dataclass(frozen=True, slots=True)
class NextTokens:
    """The table. Rows are in order of rank."""

    entropy: float  # nats
    methods: tuple[Method, ...]
    rows: tuple[Row, ...]


def verdict_words(row: Row, methods: Sequence[Method]) -> list[str]:
    """Return a word for each verdict: yes, basis (accepted although below the threshold), no or ?."""
    words = []
    for method, verdict in zip(methods, row.verdicts, strict=True):
        below = method.threshold is not None and row.probability < method.threshold
        accepted = "basis" if method.rule.basis_aware and below else "yes"
        words.append({"accept": accepted, "reject": "no"}.get(str(verdict), "?"))
    return words


def next_distribution(language_model: LanguageModel, token_ids: Sequence[int]) -> FloatArray:
    """Return the model's distribution after these tokens, [v]."""
    model = language_model.model
    ids = torch.tensor([list(token_ids)], device=model.device)
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    probs: FloatArray = bat.softmax(logits[:, -1])[0]
    return probs


def tabulate(
    probs: FloatArray,
    rules: Sequence[Rule],
    basis: bat.Basis | None = None,
    *,
    tokens: int = 20,
    everything: bool = False,
    critical: bool = False,
    temperature: float | bat.Temperature | None = None,
    progress: Callable[[int], None] | None = None,
) -> NextTokens:
    """Tabulate the verdicts of every rule on tokens of one distribution, [v].

    Half of the ``tokens`` rows are the likeliest tokens. The others are the likeliest on which a basis-aware
    rule and its plain form differ, if both are among the rules: half that only the basis-aware form rejects,
    half that only it accepts. The next likeliest tokens fill the table. With ``everything``, the rows are the
    ``tokens`` likeliest and every token that some rule accepts, and each method's tokens are counted.
    ``critical`` adds an interval for each token's critical threshold. Basis-aware rules and ``critical`` need
    the ``basis``. A ``temperature`` matters to the rules before which it comes: these see the flattened
    distribution, and so do their thresholds. ``progress`` is called with the number of rules that have been
    counted.
    """
    if tokens < 1:
        raise InvalidInputError(f"the number of tokens must be at least 1; got {tokens}.")
    if not rules:
        raise InvalidInputError("at least one method must be given; got none. Try eta=0.002.")
    judge = _Judge(probs, rules, basis, temperature)
    order = np.argsort(-probs, kind="stable")
    if everything:
        chosen = np.isin(np.arange(len(order)), order[:tokens])
        for index in range(len(rules)):
            judge.decide_all(index)
            chosen |= judge.codes[index] != _REJECT
            if progress is not None:
                progress(index + 1)
        shown = order[chosen[order]]
    else:
        shown = _choose(judge, order, tokens)
    codes = np.stack([judge.decide(index, shown) for index in range(len(rules))])  # [methods, tokens]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    intervals = judge.critical(shown) if critical else [None] * len(shown)
    rows = tuple(
        Row(
            int(rank[token]),
            int(token),
            float(probs[token]),
            tuple(_VERDICTS[code] for code in row),
            interval,
        )
        for token, row, interval in zip(shown, codes.T, intervals, strict=True)
    )
    return NextTokens(float(judge.summary.entropy[0]), tuple(judge.methods), rows)


class _Judge:
    """The verdicts of several rules on the tokens of one distribution, computed on demand."""

    def __init__(
        self,
        probs: FloatArray,
        rules: Sequence[Rule],
        basis: bat.Basis | None,
        temperature: float | bat.Temperature | None = None,
    ) -> None:
        self.summary = Summary(probs[None, :])
        self.methods: list[Method] = []
        self.codes: list[CodeArray] = []  # each method's verdict codes, [v]
        self._basis = basis
        for rule in rules:
            heat = resolve_temperature(temperature, rule)
            seen = self.summary
            if heat is not None and heat.is_first:
                seen = Summary(bat.softmax(-self.summary.surprisals / heat.value))
            kept = rule.keep(seen)[0]
            threshold = float(rule.thresholds(seen)[0]) if isinstance(rule, ThresholdRule) else None
            accepted = None if rule.basis_aware else int(kept.sum())
            self.methods.append(Method(rule, threshold, accepted, temperature=heat))
            rest = _UNKNOWN if rule.basis_aware else _REJECT
            self.codes.append(np.where(kept, _ACCEPT, rest).astype(np.int8))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of plain rules, each with the index of its basis-aware form."""
        names = [method.rule.name for method in self.methods]
        return [
            (plain, aware)
            for plain, name in enumerate(names)
            for aware, other in enumerate(names)
            if other == f"ba-{name}"
        ]

    def decide(self, method: int, tokens: IntArray) -> CodeArray:
        """Return a method's verdicts on tokens, computing those that are unknown."""
        codes = self.codes[method]
        for chunk, copies in self._chunks(tokens[codes[tokens] == _UNKNOWN]):
            decisions = bat.decide(self.basis, copies, chunk, self.methods[method].threshold or 0.0)
            codes[chunk] = [_VERDICTS.index(verdict) for verdict in decisions.verdicts]
        return codes[tokens]

    def decide_all(self, index: int) -> None:
        """Compute a method's verdicts on the whole vocabulary."""
        method, codes = self.methods[index], self.codes[index]
        if not method.rule.basis_aware:
            return
        members = bat.candidate_set(self.basis, self.summary.probs, method.threshold or 0.0)
        codes[:] = _REJECT
        codes[members.accepted] = _ACCEPT
        codes[members.undecided] = _UNDECIDED
        accepted, undecided = len(members.accepted), len(members.undecided)
        self.methods[index] = replace(method, accepted=accepted, undecided=undecided)

    def critical(self, tokens: IntArray) -> list[tuple[float, float]]:
        """Return an interval for each token's critical threshold."""
        intervals: list[tuple[float, float]] = []
        for chunk, copies in self._chunks(tokens):
            thresholds = bat.critical_thresholds(self.basis, copies, chunk, cap=CRITICAL_CAP)
            intervals += zip(thresholds.lower.tolist(), thresholds.upper.tolist(), strict=True)
        return intervals

    @property
    def basis(self) -> bat.Basis:
        if self._basis is None:
            raise InvalidInputError("basis-aware rules need the basis of the model; got none.")
        return self._basis

    def _chunks(self, tokens: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        for start in range(0, len(tokens), _CHUNK):
            chunk = tokens[start : start + _CHUNK]
            yield chunk, np.repeat(self.summary.probs, len(chunk), axis=0)


def _choose(judge: _Judge, order: IntArray, count: int) -> IntArray:
    """Return the tokens to show, most likely first."""
    likeliest, rest = np.split(order, [count - count // 2])
    rejected = _find_differences(judge, rest, _REJECT, count // 4)
    accepted = _find_differences(judge, rest, _ACCEPT, count // 2 - count // 4)
    chosen = {*likeliest.tolist(), *rejected, *accepted}
    others = [token for token in rest.tolist() if token not in chosen]
    chosen.update(others[: count - len(chosen)])
    return order[np.isin(order, list(chosen))]


def _find_differences(judge: _Judge, tokens: IntArray, verdict: int, count: int) -> list[int]:
    """Return tokens to which a basis-aware rule gives this verdict and its plain form the opposite.

    Pairs of rules take turns, so that none fills the table alone.
    """
    opposite = _ACCEPT if verdict == _REJECT else _REJECT
    by_pair: list[list[int]] = []
    for plain, aware in judge.pairs:
        possible = (judge.codes[plain] == opposite) & np.isin(judge.codes[aware], (verdict, _UNKNOWN))
        candidates = tokens[possible[tokens]][:_SEARCH]
        differing: list[int] = []
        for start in range(0, len(candidates), _CHUNK):
            chunk = candidates[start : start + _CHUNK]
            differing += chunk[judge.decide(aware, chunk) == verdict].tolist()
            if len(differing) >= count:
                break
        by_pair.append(differing)
    in_turn = [token for turn in zip_longest(*by_pair) for token in turn if token is not None]
    return list(dict.fromkeys(in_turn))[:count]
