"""The rank of a model's log-probabilities over many prefixes, before and after truncation.

Logits are hidden states times the output matrix, so the logits of any number of prefixes have a rank of at
most d, the hidden size. Log-probabilities are logits minus a number for each prefix (the logarithm of the sum
of their exponentials), which adds the direction in which all tokens are equal: their rank is d + 1, or d
if the output matrix already has that direction. Truncation removes this bound.

The logarithm of a rejected token's probability is minus infinity, with which a matrix has no rank. The paper
does not say what it uses instead; here it is the logarithm of ``FLOOR``. The number hardly matters: it scales
the parts in which kept and rejected tokens differ, and scaling does not change a rank.

The rank is the number of singular values that stand out from rounding. They are square roots of the
eigenvalues of the matrix times its transpose, in float64; a corner of that product is used for each smaller
number of prefixes. Squaring loses singular values below about 2e-8 of the largest. The float32 numbers of a
model are no more accurate: for SmolLM2-135M over 1,152 prefixes the 577th singular value is 5e-4
of the largest and the 578th, which is rounding, 1e-8. A QR decomposition, without squares, agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from bat.arrays import FloatArray, SingleArray
from bat.errors import InvalidInputError
from bat.rules import Rule, Summary
from harness.report.figures.rank import RankLine
from harness.report.figures.rank import rank as draw_ranks
from harness.report.parts import Picture
from workers.positions import MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS, TokenizedDocument, draw_positions
from workers.reading import read

if TYPE_CHECKING:
    from workers.models import LanguageModel

UNTRUNCATED = "untruncated"
# Replaces the probability of a rejected token: below every probability that usual rules keep.
FLOOR = 1e-12

# Many, because one pass over a document gives them all.
_PREFIXES_PER_DOCUMENT = 64
# Rounding errors of the last product are about one unit in each logit. They are independent, so they add up
# to far less than this many units of the largest singular value.
_ROUNDING_UNITS = 8.0
# Below it, rounding in float64 would count as rank.
_LEAST_TOLERANCE = 1e-7
# The size of the largest matrix, in float64, by default.
_MATRIX_BYTES = 2_000_000_000
_ROWS_AT_A_TIME = 64


@dataclass(frozen=True, slots=True)
class RankPoint:
    """The rank of the log-probabilities after a number of prefixes."""

    rule: str  # such as "eta=0.002", or UNTRUNCATED
    prefixes: int
    rank: int


def rank_against_prefixes(
    language_model: LanguageModel,
    documents: Sequence[TokenizedDocument],
    counts: Sequence[int],
    rules: Mapping[str, Rule],
    tolerance: float | None = None,
    *,
    floor: float = FLOOR,
    progress: Callable[[int], None] | None = None,
) -> list[RankPoint]:
    """Return ranks for each number of prefixes in ``counts``: without truncation, then for each rule.

    ``rules`` are by what lines call them.
    Prefixes are openings of human text; those of a smaller count are among those of a larger one.
    ``tolerance`` is the smallest singular value that counts, as a share of the largest; default: eight units
    of rounding of the model's numbers, which should be float32. ``progress`` is called with the number of
    matrices done, of 1 + rules.
    """
    ascending = _check(counts, list(rules.values()), tolerance, floor)
    logits = _read_logits(language_model, documents, ascending[-1])
    if tolerance is None:
        tolerance = _ROUNDING_UNITS * torch.finfo(getattr(torch, language_model.info.dtype)).eps
    points: list[RankPoint] = []
    named: list[tuple[str, Rule | None]] = [(UNTRUNCATED, None), *rules.items()]
    for done, (name, rule) in enumerate(named, start=1):
        ranks = ranks_of_first_rows(_log_probabilities(logits, rule, floor), ascending, tolerance)
        points += [RankPoint(name, count, rank) for count, rank in zip(ascending, ranks, strict=True)]
        if progress is not None:
            progress(done)
    return points


def rank_picture(
    language_model: LanguageModel,
    documents: Sequence[TokenizedDocument],
    rules: Mapping[str, Rule],
    progress: Callable[[int], None] | None = None,
) -> Picture:
    """Measure ranks on the usual numbers of prefixes, and draw them."""
    info = language_model.info
    counts = default_counts(info.hidden_size, info.vocabulary_size)
    points = rank_against_prefixes(language_model, documents, counts, rules, progress=progress)
    lines: dict[str, list[RankPoint]] = {}
    for point in points:
        lines.setdefault(point.rule, []).append(point)
    return draw_ranks(
        [
            RankLine(name, tuple(point.prefixes for point in own), tuple(point.rank for point in own))
            for name, own in lines.items()
        ],
        info.hidden_size,
    )


def default_counts(hidden_size: int, vocabulary_size: int, points: int = 8) -> list[int]:
    """Return even steps up to twice the hidden size, limited by memory for the matrix."""
    most = max(1, min(2 * hidden_size, _MATRIX_BYTES // (8 * vocabulary_size)))
    steps = np.linspace(most / points, most, points).round().astype(np.int64)
    return sorted({max(1, int(step)) for step in steps})


def ranks_of_first_rows(matrix: FloatArray, counts: Sequence[int], tolerance: float) -> list[int]:
    """Return the rank of the first n rows of a matrix [N, v] for each n in ``counts``.

    A singular value counts if it is larger than ``tolerance`` times the largest.
    """
    products = matrix @ matrix.T  # [N, N]
    ranks = []
    for count in counts:
        squares = np.linalg.eigvalsh(products[:count, :count])
        ranks.append(int(np.count_nonzero(squares > tolerance**2 * squares[-1])))
    return ranks


def _log_probabilities(logits: SingleArray, rule: Rule | None, floor: float) -> FloatArray:
    """Log-probabilities in float64, [N, v]; with a rule, those of the tokens it keeps, normalized."""
    logs = np.empty(logits.shape, dtype=np.float64)
    for start in range(0, len(logits), _ROWS_AT_A_TIME):
        rows = logits[start : start + _ROWS_AT_A_TIME].astype(np.float64)
        rows -= rows.max(axis=1, keepdims=True)
        rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
        if rule is not None:
            probs = np.exp(rows)
            kept = rule.keep(Summary(probs / probs.sum(axis=1, keepdims=True)))
            rows -= np.log((probs * kept).sum(axis=1, keepdims=True))
            rows[~kept] = np.log(floor)
        logs[start : start + _ROWS_AT_A_TIME] = rows
    return logs


def _read_logits(
    language_model: LanguageModel, documents: Sequence[TokenizedDocument], count: int
) -> SingleArray:
    """Return the logits after ``count`` prefixes, [count, v], in random order."""
    leading = max((document.leading for document in documents), default=0)
    longest = max(1, min(MAX_CONTEXT_TOKENS, language_model.info.context_length - leading))
    shortest = min(MIN_CONTEXT_TOKENS, longest)
    each = _prefixes_per_document(documents, count, shortest, longest)
    positions = draw_positions(documents, count, each, min_context=shortest, max_context=longest)
    # One document at a time: a batch would compute logits at the positions of all its documents.
    rows = [batch.logits for batch in read(language_model, documents, positions, batch_size=1)]
    # Documents are read from the shortest to the longest; shuffled, the first rows are like the others.
    return np.concatenate(rows)[np.random.default_rng(0).permutation(count)]


def _prefixes_per_document(
    documents: Sequence[TokenizedDocument], count: int, shortest: int, longest: int
) -> int:
    """The default number, or more if there are too few documents."""
    lengths = np.array([len(document.token_ids) - document.leading for document in documents], dtype=np.int64)
    available = np.clip(np.minimum(lengths - 1, longest) - shortest + 1, 0, None)
    each = _PREFIXES_PER_DOCUMENT
    while each < longest and np.minimum(available, each).sum() < count:
        each += 1
    return each


def _check(counts: Sequence[int], rules: Sequence[Rule], tolerance: float | None, floor: float) -> list[int]:
    if not counts or min(counts) < 1:
        raise InvalidInputError(
            f"counts must have at least one number of prefixes, each at least 1; got {list(counts)}."
        )
    if tolerance is not None and not _LEAST_TOLERANCE <= tolerance < 1.0:
        raise InvalidInputError(
            f"the tolerance must lie in [{_LEAST_TOLERANCE:g}, 1); got {tolerance!r}. Try 1e-6."
        )
    if not 0.0 < floor < 1.0:
        raise InvalidInputError(f"the floor must lie in (0, 1); got {floor!r}. Try {FLOOR:g}.")
    for rule in rules:
        if rule.basis_aware:
            raise InvalidInputError(
                f"ranks can only be computed for plain rules; got {rule}, which needs a linear program for "
                f"each token. Give {str(rule).removeprefix('ba-')}."
            )
    return sorted(set(counts))
