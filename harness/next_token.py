"""The paper's tables of next tokens, for any distribution: which methods would accept which tokens.

A subset of the vocabulary is chosen as in the paper's appendix: the likeliest tokens, and those on which a
basis-aware method and its plain form differ, for these are what the method is about.
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
from bat.thresholds import Verdict
from workers.models import LanguageModel

# Rows of the distribution handed to the solver at a time: each is a copy of the whole distribution.
_CHUNK = 32
# How many tokens are asked about in search of one kind of difference before it counts as not there.
_SEARCH = 256
# Beyond this, a critical threshold is only said to be larger: nobody samples there, and it is slow to find.
CRITICAL_CAP = 0.5

# Verdicts on many tokens are places in this tuple, or unknown as yet.
_VERDICTS = (Verdict.ACCEPT, Verdict.REJECT, Verdict.UNDECIDED)
_ACCEPT, _REJECT, _UNDECIDED, _UNKNOWN = 0, 1, 2, -1

CodeArray = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Method:
    """A column: a rule in this context."""

    rule: Rule
    threshold: float | None  # None for a rule that has none, such as typical
    accepted: int | None = None  # tokens of the whole vocabulary; None where they were not counted
    undecided: int = 0  # of those counted


@dataclass(frozen=True, slots=True)
class Row:
    """A token, and a verdict for each method."""

    rank: int  # 0 for the likeliest
    token: int
    probability: float
    verdicts: tuple[Verdict, ...]
    critical: tuple[float, float] | None = None  # an interval for its critical threshold, where asked for


@dataclass(frozen=True, slots=True)
class NextTokens:
    """The table. Rows are in order of rank."""

    entropy: float  # nats
    methods: tuple[Method, ...]
    rows: tuple[Row, ...]


def verdict_words(row: Row, methods: Sequence[Method]) -> list[str]:
    """Return a word for each verdict: yes, basis (accepted although below the threshold), no, or ?"""
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
    progress: Callable[[int], None] | None = None,
) -> NextTokens:
    """Ask every rule about tokens of one distribution [v].

    Half of the ``tokens`` rows are the likeliest tokens. The others are the likeliest of those on which a
    basis-aware rule and its plain form differ, if both are among the rules: as many that it refuses alone as
    accepts alone, and where there are not enough, the next likeliest. With ``everything`` the rows are the
    ``tokens`` likeliest and every token that some rule accepts, and each method's tokens are counted.
    ``critical`` adds an interval for each token's critical threshold. Basis-aware rules, and ``critical``,
    need the ``basis``. ``progress`` is told for how many rules everything is known.
    """
    if tokens < 1:
        raise InvalidInputError(f"the number of tokens must be at least 1; got {tokens}.")
    if not rules:
        raise InvalidInputError("at least one method must be given; got none. Try eta=0.002.")
    judge = _Judge(probs, rules, basis)
    order = np.argsort(-probs, kind="stable")
    if everything:
        chosen = np.isin(np.arange(len(order)), order[:tokens])
        for place in range(len(rules)):
            judge.ask_all(place)
            chosen |= judge.codes[place] != _REJECT
            if progress is not None:
                progress(place + 1)
        shown = order[chosen[order]]
    else:
        shown = _choose(judge, order, tokens)
    codes = np.stack([judge.ask(place, shown) for place in range(len(rules))])  # [methods, tokens]
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
    """Verdicts on the tokens of one distribution, by rules that are asked side by side."""

    def __init__(self, probs: FloatArray, rules: Sequence[Rule], basis: bat.Basis | None) -> None:
        self.summary = Summary(probs[None, :])
        self.methods: list[Method] = []
        self.codes: list[CodeArray] = []  # what is known of each method's verdicts, [v]
        self._basis = basis
        for rule in rules:
            kept = rule.keep(self.summary)[0]
            threshold = float(rule.thresholds(self.summary)[0]) if isinstance(rule, ThresholdRule) else None
            self.methods.append(Method(rule, threshold, None if rule.basis_aware else int(kept.sum())))
            rest = _UNKNOWN if rule.basis_aware else _REJECT
            self.codes.append(np.where(kept, _ACCEPT, rest).astype(np.int8))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Places of plain rules, each with that of its basis-aware form."""
        names = [method.rule.name for method in self.methods]
        return [
            (plain, aware)
            for plain, name in enumerate(names)
            for aware, other in enumerate(names)
            if other == f"ba-{name}"
        ]

    def ask(self, place: int, tokens: IntArray) -> CodeArray:
        """Return a method's verdicts on tokens, finding those that are not known yet."""
        codes = self.codes[place]
        for chunk, copies in self._chunks(tokens[codes[tokens] == _UNKNOWN]):
            decisions = bat.decide(self.basis, copies, chunk, self.methods[place].threshold or 0.0)
            codes[chunk] = [_VERDICTS.index(verdict) for verdict in decisions.verdicts]
        return codes[tokens]

    def ask_all(self, place: int) -> None:
        """Find a method's verdicts on the whole vocabulary."""
        method, codes = self.methods[place], self.codes[place]
        if not method.rule.basis_aware:
            return
        members = bat.candidate_set(self.basis, self.summary.probs, method.threshold or 0.0)
        codes[:] = _REJECT
        codes[members.accepted] = _ACCEPT
        codes[members.undecided] = _UNDECIDED
        accepted, undecided = len(members.accepted), len(members.undecided)
        self.methods[place] = replace(method, accepted=accepted, undecided=undecided)

    def critical(self, tokens: IntArray) -> list[tuple[float, float]]:
        """Return an interval for each token's critical threshold."""
        found: list[tuple[float, float]] = []
        for chunk, copies in self._chunks(tokens):
            thresholds = bat.critical_thresholds(self.basis, copies, chunk, cap=CRITICAL_CAP)
            found += zip(thresholds.lower.tolist(), thresholds.upper.tolist(), strict=True)
        return found

    @property
    def basis(self) -> bat.Basis:
        if self._basis is None:
            raise InvalidInputError("basis-aware rules need the basis of the model; got none.")
        return self._basis

    def _chunks(self, tokens: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        for start in range(0, len(tokens), _CHUNK):
            chunk = tokens[start : start + _CHUNK]
            yield chunk, np.repeat(self.summary.probs, len(chunk), axis=0)


def _choose(judge: _Judge, order: IntArray, wanted: int) -> IntArray:
    """Return the tokens to show, most likely first."""
    likeliest, rest = np.split(order, [wanted - wanted // 2])
    refused = _find_differences(judge, rest, _REJECT, wanted // 4)
    accepted = _find_differences(judge, rest, _ACCEPT, wanted // 2 - wanted // 4)
    chosen = {*likeliest.tolist(), *refused, *accepted}
    others = [token for token in rest.tolist() if token not in chosen]
    chosen.update(others[: wanted - len(chosen)])
    return order[np.isin(order, list(chosen))]


def _find_differences(judge: _Judge, tokens: IntArray, verdict: int, count: int) -> list[int]:
    """Return tokens to which a basis-aware rule gives this verdict and its plain form the opposite.

    Each pair of rules gives its likeliest such tokens in turn, so that none fills the table alone.
    """
    opposite = _ACCEPT if verdict == _REJECT else _REJECT
    by_pair: list[list[int]] = []
    for plain, aware in judge.pairs:
        possible = (judge.codes[plain] == opposite) & np.isin(judge.codes[aware], (verdict, _UNKNOWN))
        candidates = tokens[possible[tokens]][:_SEARCH]
        own: list[int] = []
        for start in range(0, len(candidates), _CHUNK):
            chunk = candidates[start : start + _CHUNK]
            own += chunk[judge.ask(aware, chunk) == verdict].tolist()
            if len(own) >= count:
                break
        by_pair.append(own)
    in_turn = [token for turn in zip_longest(*by_pair) for token in turn if token is not None]
    return list(dict.fromkeys(in_turn))[:count]
