"""Next tokens after the paper's prompts, for any model: seven tables, and one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from bat.rules import Rule
from harness.explore.next_token import next_distribution, tabulate, verdict_words
from harness.explore.prompts import encode_prompt, token_text, visible
from harness.report.figures.acceptance import Panel, acceptance
from harness.report.paper_next_tokens import METHODS, NEXT_TOKENS
from harness.report.parts import Cell, Picture, Row, Table
from harness.report.with_model.prompts import PROMPTS, Prompt

if TYPE_CHECKING:
    from workers.models import LanguageModel

# Few enough for seven panels on a page; tables and figure show the same tokens.
TOKENS = 14

_NOTE = (
    '"yes": accepted for its probability. "basis": accepted below the method\'s threshold, because every '
    "distribution that the output matrix cannot distinguish from the model's, within the bounds of the "
    'rule, gives this token a positive probability. "no": rejected. "?": undecided within the solver limits. '
    "␣ is a space."
)


def next_token_parts(
    language_model: LanguageModel,
    methods: Mapping[str, Rule],
    constraints: int = 20,
    progress: Callable[[int], None] | None = None,
) -> list[Table | Picture]:
    """Return a table for each of the paper's prompts, and one figure.

    ``methods`` are rules by what columns call them. ``constraints`` are those of the basis-aware ones;
    ``progress`` gets the number done.
    """
    if not methods:
        raise InvalidInputError("next tokens must have at least one method; got none. Try eta=0.002.")
    rules, titles = list(methods.values()), tuple(methods)
    aware = any(rule.basis_aware for rule in rules)
    basis = language_model.basis(constraints) if aware else None
    tables: list[Table] = []
    panels: list[Panel] = []
    for number, prompt in enumerate(PROMPTS, start=1):
        ids = encode_prompt(language_model, prompt.text)
        next_tokens = tabulate(next_distribution(language_model, ids), rules, basis, tokens=TOKENS)
        texts = tuple(
            visible(token_text(language_model.tokenizer, ids, row.token)) for row in next_tokens.rows
        )
        panel = Panel(prompt.text, next_tokens, texts, titles)
        panels.append(panel)
        tables.append(_table(number, prompt, panel, language_model.info.name))
        if progress is not None:
            progress(number)
    return [*tables, acceptance(panels)]


def _table(number: int, prompt: Prompt, panel: Panel, model: str) -> Table:
    tokens = panel.tokens
    return Table(
        name=f"next-tokens-{number}",
        title=f"Next tokens after “{prompt.title}”",
        caption=f"Some of the next tokens according to {model}: the most likely, and the most likely of "
        "those on which basis-aware methods and their plain forms differ, and whether each is accepted. The "
        f"distribution has an entropy of {tokens.entropy:.2f} nats.",
        columns=("Rank", "Prob", "Token", *panel.titles),
        rows=tuple(
            Row(
                str(row.rank),
                (
                    Cell(f"{row.probability:.1e}", row.probability),
                    Cell(text),
                    *(Cell(word) for word in verdict_words(row, tokens.methods)),
                ),
            )
            for row, text in zip(tokens.rows, panel.texts, strict=True)
        ),
        notes=(_thresholds(panel), _NOTE),
        paper=prompt.paper,
        folded=True,
    )


def _thresholds(panel: Panel) -> str:
    """Give the probability from which each method accepts every token."""
    methods = panel.tokens.methods
    levels = ["none" if method.threshold is None else f"{method.threshold:.2g}" for method in methods]
    parts = [f"{level} for {title}" for level, title in zip(levels, panel.titles, strict=True)]
    return f"Probability from which every token is accepted: {', '.join(parts)}."


def paper_table(number: int) -> Table:
    """The paper's table for the prompt of that number, from 1; its model has other tokens."""
    prompt = PROMPTS[number - 1]
    [printed] = [table for table in NEXT_TOKENS if table.prompt == prompt.text]
    return Table(
        name=f"next-tokens-{number}-paper",
        title=f"The paper's next tokens after “{prompt.title}”",
        caption="From GPT-2, as printed in the paper, which does not give the parameters.",
        columns=("Rank", "Prob", "Token", *METHODS),
        rows=tuple(
            Row(
                str(row.rank),
                (
                    Cell(f"{row.probability:.1e}", row.probability),
                    Cell(visible(row.token)),
                    *(Cell("yes" if accepted else "no") for accepted in row.accepted),
                ),
            )
            for row in printed.tokens
        ),
        paper=prompt.paper,
        folded=True,
    )
