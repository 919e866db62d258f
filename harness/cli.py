"""The command line."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

app = typer.Typer(
    name="bat-harness",
    help="Basis-aware threshold sampling, measured.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake the project foresaw prints as one sentence and exits with 1."""
    try:
        app(arguments)
    except Exception as error:
        # Imported late, like everything that brings in torch: --help should not wait for it.
        from bat.errors import BatError

        if not isinstance(error, BatError):
            raise
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bat-harness {importlib.metadata.version('bat-harness')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def preview(
    tokens: Annotated[int, typer.Option(help="How many human next-tokens to measure.")] = 200,
    seed: Annotated[int, typer.Option(help="Which tokens of the corpus are drawn.")] = 0,
) -> None:
    """Match basis-aware rules to plain ones by the share of human text they reject, on the demo model."""
    from harness.preview import run_preview

    with Progress(
        TextColumn("{task.description:20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    ) as progress:

        def stage(title: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(title, total=total)
            return lambda done: progress.update(task, completed=done)

        rows = run_preview(tokens, seed, stage)

    # Without it, the matched parameters look far better known than so few tokens can make them.
    error = (0.1 * 0.9 / tokens) ** 0.5
    caption = (
        f"With {tokens} tokens a rate of 10% has a standard error of at least {error:.1%}, "
        "which can change a matched parameter several times over; --tokens measures more."
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
    Console().print(table)
