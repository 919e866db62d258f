"""The numbers and statements of the paper, with their sources.

Tables and figures have the numbers that LaTeX gives them. The text has no numbers for Figures 5 to 8 and 10,
so they are not here. The next tokens of the seven prompts are in paper_next_tokens.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.config.checks import get_reference
from harness.config.methods import Choice
from harness.config.schema import SweepConfig

PAPER = "Closing the Curious Case of Neural Text Degeneration"

SIZES = ("Small", "Medium", "Large", "XL")

_MODELS = {"gpt2": "Small", "gpt2-medium": "Medium", "gpt2-large": "Large", "gpt2-xl": "XL"}


@dataclass(frozen=True, slots=True)
class Printed:
    """A score as the paper prints it: a value and a subscript.

    The paper does not say what the subscript is; the error bars of its Figure 5 are standard errors of the
    mean, over a number of runs that it does not give either.
    """

    value: float
    subscript: float


@dataclass(frozen=True, slots=True)
class Preference:
    """The preferences of annotators, as shares of the pairs they were shown."""

    first: str
    second: str
    first_wins: float
    second_wins: float
    ties: float


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper in our words, and its source."""

    words: str
    where: str


# The table or figure of the paper that a part of a report reproduces.
SOURCES: Mapping[str, str] = {
    "acceptance": "Figures 1 and 4",
    "toy-model": "Figures 2 and 3",
    "comparison": "Figure 5",
    "eta-sweep": "Figure 6",
    "constraints": "Figure 7",
    "rejection": "Figure 8",
    "annotation": "Figure 9",
    "rank": "Figure 10",
    "lower-entropy": "Table 1",
    "human-evaluation": "Table 2",
    "selection": "Table 3",
    "rejection-example": "Table 4",
    "next-tokens": "Tables 5 to 11",
}

# Table 1: MAUVE times 100 of lower-entropy generation, by rule and size of GPT-2.
LOWER_ENTROPY: Mapping[str, Mapping[str, Printed]] = {
    "eta": {
        "Small": Printed(85.0, 1.4),
        "Medium": Printed(90.4, 0.1),
        "Large": Printed(86.0, 0.5),
        "XL": Printed(87.1, 1.2),
    },
    "ba-eta": {
        "Small": Printed(87.8, 1.0),
        "Medium": Printed(92.2, 0.6),
        "Large": Printed(88.4, 0.5),
        "XL": Printed(89.6, 0.4),
    },
}

# Table 2: "matched to x" is the BA-eta parameter that rejects as much human text as eta = x.
HUMAN_EVALUATION: tuple[Preference, ...] = (
    Preference("ba-eta matched to 0.002", "eta=0.002", 0.43, 0.38, 0.19),
    Preference("ba-eta matched to 0.024", "eta=0.024", 0.48, 0.47, 0.05),
    Preference("ba-eta matched to 0.024", "ba-eta matched to 0.001", 0.50, 0.42, 0.08),
)

# Table 3: the parameters tried on validation text, and those with the highest MAUVE.
SWEEPS: Mapping[str, tuple[float, ...]] = {
    "nucleus": (0.89, 0.9, 0.92, 0.95, 0.99),
    "epsilon": (0.0003, 0.0006, 0.0009, 0.001, 0.002),
    "eta": (0.0003, 0.0006, 0.0009, 0.002, 0.004),
}
CHOSEN_PARAMETERS: Mapping[str, Mapping[str, float]] = {
    "nucleus": {"Small": 0.92, "Medium": 0.89, "Large": 0.92, "XL": 0.95},
    "epsilon": {"Small": 0.0009, "Medium": 0.0003, "Large": 0.0009, "XL": 0.0003},
    "eta": {"Small": 0.0009, "Medium": 0.002, "Large": 0.0009, "XL": 0.002},
}

LARGEST_RATE_OF_BA_NUCLEUS = 0.28

STATEMENTS: Mapping[str, Statement] = {
    "comparison": Statement(
        "no method is best for every size of model; BA-eta is better than eta for the two larger sizes, "
        "and better than all others for GPT-2 Large",
        "section 5.1, Figure 5",
    ),
    "lower-entropy": Statement(
        "in lower-entropy generation BA-eta is better than eta for every size of model",
        "section 5.1, Table 1",
    ),
    "eta-sweep": Statement(
        "the more restrictive eta is, the more consistently BA-eta is better at the same rejection rate",
        "section 5.1, Figure 6: a figure without numbers in the text",
    ),
    "constraints": Statement(
        "MAUVE rises with the number of constraints, at the same rejection rate",
        "section 5.1, Figure 7: a figure without numbers in the text",
    ),
    "human-evaluation": Statement(
        "annotators narrowly prefer BA-eta to eta, and prefer lower entropy", "section 5.1, Table 2"
    ),
    "ba-nucleus": Statement("BA-nucleus is significantly worse in preliminary experiments", "section 5"),
    "ba-nucleus-rate": Statement(
        "BA-nucleus cannot reject more than about 28% of human text", "appendix D, Figure 8"
    ),
    "stricter-parameters": Statement(
        "at the same rejection rate basis-aware parameters are stricter than plain ones",
        "appendix D, Figure 8",
    ),
    "no-token": Statement(
        "for some prefixes and strict parameters BA-epsilon accepts no token", "section 5.2"
    ),
    "cost": Statement(
        "a program takes about a second and runs about once in ten tokens: 0.1 seconds per token", "section 4"
    ),
    "rank": Statement(
        "the log-probabilities of GPT-2 XL have rank 1600, its hidden size; truncated ones far exceed it",
        "appendix E, Figure 10",
    ),
}


RULES = ("eta", "ba-eta", "epsilon", "ba-epsilon", "nucleus", "ba-nucleus")


def mirrored_by(config: SweepConfig) -> bool:
    """Whether a sweep repeats an experiment of the paper, so that the paper's numbers belong beside its own.

    It matches a basis-aware rule of the paper to its plain form, or has only models and rules of the paper.
    """
    for method in config.methods:
        match = method.parameter.match if isinstance(method.parameter, Choice) else None
        reference = None if match is None else get_reference(config, match).rule
        if method.rule in RULES and method.rule == f"ba-{reference}":
            return True
    return all(find_size(model.name) for model in config.models) and all(
        method.rule in RULES for method in config.methods
    )


def source(part: str) -> str:
    """The table or figure of the paper that a part corresponds to, such as "Figure 5 of the paper"."""
    return f"{SOURCES[part]} of the paper"


def statement(name: str) -> str:
    """A statement of the paper as a note."""
    made = STATEMENTS[name]
    return f"The paper: {made.words} ({made.where})."


def find_size(model_name: str) -> str | None:
    """The paper's name for a model that it used: "Small" for gpt2, with or without its owner."""
    return _MODELS.get(model_name.removeprefix("openai-community/"))
