"""A first look at basis-aware sampling: which parameters reject as much human text as the plain rules do.

One pass of the model and one program per human token give each token's critical threshold, and with it the
parameter from which each rule rejects it. Rejection rates at every parameter follow by counting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.rules import Summary, get_rule_class
from bat.thresholds import critical_thresholds
from bat.validation import softmax
from workers.assets import cache_folder, load_demo_model
from workers.human_text import human_next_tokens, read_news_articles

Array = npt.NDArray[np.float64]
# Told the name and the size of a long step as it begins, returns what to call with the amount done so far.
Stage = Callable[[str, int], Callable[[int], None]]

# What the paper chose on validation text for its four model sizes (its table of parameter sweeps).
PAPER_CHOICES: dict[str, tuple[float, ...]] = {
    "eta": (0.0009, 0.002),
    "epsilon": (0.0003, 0.0009),
    "nucleus": (0.89, 0.92, 0.95),
}

_POSITIONS_PER_DOCUMENT = 4
# Rows of probabilities held in float64 at once.
_ROWS_PER_BATCH = 16


@dataclass(frozen=True)
class PreviewRow:
    """A plain rule at a parameter, and its basis-aware form at the parameter that rejects as much."""

    rule: str
    parameter: float
    rejection_rate: float
    matched_parameter: float
    matched_rejection_rate: float


@dataclass(frozen=True)
class CriticalParameters:
    """Per token, the parameter at which a rule begins to reject it, plain and basis-aware."""

    plain: Array  # [count]
    basis_aware: Array  # [count]


def run_preview(count: int, seed: int, stage: Stage) -> list[PreviewRow]:
    """Measure `count` human tokens under the demo model, and match each basis-aware rule to its plain one."""
    if count < 1:
        raise InvalidInputError(f"the number of tokens must be at least 1; got {count}")
    loaded = stage("Loading the model", 1)
    model, tokenizer = load_demo_model()
    basis = Basis.from_matrix(model.get_output_embeddings().weight, cache_dir=cache_folder())
    loaded(1)
    logits, tokens = human_next_tokens(
        model,
        tokenizer,
        read_news_articles(),
        count=count,
        per_document=_POSITIONS_PER_DOCUMENT,
        seed=seed,
        progress=stage("Reading human text", count),
    )
    critical = critical_parameters(basis, logits, tokens, stage("Solving programs", count))
    return [
        match(rule, parameter, critical[rule])
        for rule, parameters in PAPER_CHOICES.items()
        for parameter in parameters
    ]


def critical_parameters(
    basis: Basis,
    logits: npt.NDArray[np.float32],
    tokens: npt.NDArray[np.int64],
    progress: Callable[[int], None],
) -> dict[str, CriticalParameters]:
    """Return, by rule, the critical parameters of every token."""
    plain: dict[str, list[Array]] = {rule: [] for rule in PAPER_CHOICES}
    basis_aware: dict[str, list[Array]] = {rule: [] for rule in PAPER_CHOICES}
    for start in range(0, len(tokens), _ROWS_PER_BATCH):
        rows = slice(start, start + _ROWS_PER_BATCH)
        probs = softmax(logits[rows])  # [rows, v]
        own = np.take_along_axis(probs, tokens[rows, None], axis=1)[:, 0]  # [rows]
        # The upper end: a token counts as rejected only where that is certain.
        threshold = critical_thresholds(basis, probs, tokens[rows]).upper
        summary = Summary.of(probs)  # sorted once for all rules
        for rule in PAPER_CHOICES:
            plain[rule].append(get_rule_class(rule).critical_parameter(summary, own))
            basis_aware[rule].append(get_rule_class(f"ba-{rule}").critical_parameter(summary, threshold, own))
        progress(min(start + _ROWS_PER_BATCH, len(tokens)))
    return {
        rule: CriticalParameters(np.concatenate(plain[rule]), np.concatenate(basis_aware[rule]))
        for rule in PAPER_CHOICES
    }


def match(rule: str, parameter: float, critical: CriticalParameters) -> PreviewRow:
    """Find the basis-aware parameter whose rejection rate comes nearest to the plain rule's."""
    rate = float(np.mean(get_rule_class(rule).rejects(critical.plain, parameter)))
    # The rate changes only at critical parameters, so a whole interval between two of them has the nearest
    # one. Its middle is reported; its ends belong to single tokens.
    inside = critical.basis_aware[(critical.basis_aware > 0.0) & (critical.basis_aware < 1.0)]
    ends = np.unique(np.concatenate([[0.0], inside, [1.0]]))
    candidates = (ends[:-1] + ends[1:]) / 2
    rates = get_rule_class(f"ba-{rule}").rejects(critical.basis_aware, candidates[:, None]).mean(axis=1)
    nearest = int(np.argmin(np.abs(rates - rate)))
    return PreviewRow(rule, parameter, rate, float(candidates[nearest]), float(rates[nearest]))
