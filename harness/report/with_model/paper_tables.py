"""The paper's own tables of next tokens, to show beside those of a run's model."""

from __future__ import annotations

from harness.explore.prompts import visible
from harness.report.paper_next_tokens import METHODS, NEXT_TOKENS
from harness.report.parts import Cell, Row, Table
from harness.report.with_model.prompts import PROMPTS


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
    )
