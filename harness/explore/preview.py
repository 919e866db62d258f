"""Match basis-aware rules to plain ones: which parameters reject the same share of human text.

One pass of the model and one program per human token give each token's critical threshold, and with it the
parameter from which each rule rejects it. The rejection rate at any parameter follows by counting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bat.errors import InvalidInputError
from bat.rules import get_rule
from workers import models
from workers.corpora import open_corpus
from workers.measurement import measure
from workers.measurement_record import Measurement
from workers.positions import draw_from_corpus
from workers.rejection import matching_parameter

# Called when a long step begins, with its title and total; returns a function to call with the amount done.
Stage = Callable[[str, int], Callable[[int], None]]

# The parameters the paper chose on validation text for its four model sizes (table of parameter sweeps).
PAPER_CHOICES: dict[str, tuple[float, ...]] = {
    "eta": (0.0009, 0.002),
    "epsilon": (0.0003, 0.0009),
    "nucleus": (0.89, 0.92, 0.95),
}

_MODEL = "smollm2-135m"
_CORPUS = "news"


@dataclass(frozen=True)
class PreviewRow:
    """A plain rule, and its basis-aware form at the parameter with the nearest rejection rate."""

    rule: str
    parameter: float
    rejection_rate: float
    matched_parameter: float
    matched_rejection_rate: float


def run_preview(count: int, seed: int, stage: Stage) -> list[PreviewRow]:
    """Measure `count` tokens of human text with the demo model, and match each basis-aware rule."""
    if count < 1:
        raise InvalidInputError(f"the number of tokens must be at least 1; got {count}.")
    loaded = stage("Loading the model", 1)
    language_model = models.load(_MODEL)
    corpus = open_corpus(_CORPUS, split="all")
    documents, positions = draw_from_corpus(corpus, language_model.tokenizer, count, seed=seed)
    loaded(1)
    measurement = measure(
        language_model, documents, positions=positions, progress=stage("Reading human text", count)
    )
    return match_all(measurement)


def match_all(measurement: Measurement) -> list[PreviewRow]:
    """Match the basis-aware form of each of the paper's choices."""
    rows = []
    for name, parameters in PAPER_CHOICES.items():
        for parameter in parameters:
            # With so few tokens intervals are wide, and the table has no room: its caption warns instead.
            match = matching_parameter(measurement, get_rule(name, parameter), f"ba-{name}", replicates=0)
            rows.append(
                PreviewRow(
                    name, parameter, match.reference_rate.value, match.parameter.value, match.rate.value
                )
            )
    return rows
