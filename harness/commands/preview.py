"""bat-harness preview"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.commands import options
from harness.commands.console import say_if_compiling, stages

if TYPE_CHECKING:
    from harness.explore.preview import PreviewRow


def preview(
    tokens: Annotated[int, typer.Option(metavar="N", help="How many tokens of human text to measure.")] = 200,
    seed: options.Seed = 0,
) -> None:
    """Match basis-aware rules to plain ones by rejection rate.

    Measures human text with the demo model, and finds the parameter at which each
    basis-aware rule rejects as much of it as the plain rule does.

    Examples:

        bat-harness preview
        bat-harness preview --tokens 2000
    """
    from bat.compiled import EntryPoint

    say_if_compiling(EntryPoint.BATCH)
    from harness.explore.preview import run_preview  # imports torch

    with stages() as stage:
        rows = run_preview(tokens, seed, stage)
    Console().print(_table(rows, tokens))


def _table(rows: list[PreviewRow], tokens: int) -> Table:
    # Without the caption, readers would trust the matched parameters more than so few tokens allow.
    error = (0.1 * 0.9 / tokens) ** 0.5
    caption = (
        f"With {tokens} tokens, a rate of 10% has a standard error of at least {error:.1%}, "
        "which can change a matched parameter several-fold. Measure more with --tokens."
    )
    table = Table(title=f"Human-text rejection rates, demo model, {tokens} tokens", caption=caption)
    for column in ("rule", "parameter", "rejected", "basis-aware", "parameter", "rejected"):
        table.add_column(column, justify="left" if column in ("rule", "basis-aware") else "right")
    for row in rows:
        table.add_row(
            row.rule,
            f"{row.parameter:g}",
            f"{row.rejection_rate:.1%}",
            f"ba-{row.rule}",
            f"{row.matched_parameter:.2g}",
            f"{row.matched_rejection_rate:.1%}",
        )
    return table
