"""bat-harness trace"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console, plain_table

if TYPE_CHECKING:
    from harness.report.tracing import TracedCell

_ID_SHOWN = 12  # digits of a job id, enough to find the job


def trace(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the report, such as comparison.")],
    row: Annotated[str, typer.Argument(metavar="ROW", help="The label of a row, or its beginning.")],
    column: Annotated[
        str, typer.Argument(metavar="COLUMN", help="The heading of a column, or its beginning.")
    ],
    runs: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN",
            show_default=False,
            help="Name or number of a run in the report; default: the latest. Repeatable.",
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Trace a number of a report back to its jobs and rows.

    Prints how the number was computed, the jobs behind it, and queries that show
    their rows.

    Examples:

        bat-harness trace comparison eta=0.002 MAUVE
        bat-harness trace comparison eta=0.002 MAUVE --run demo --json
    """
    from harness.api.judging import judged_parts
    from harness.api.runs import choose_runs
    from harness.report.parts import Table
    from harness.report.tracing import trace_cell
    from harness.store import open_reader

    with open_reader(db) as reader:
        chosen = choose_runs(reader, runs)
        judged = [part for part in judged_parts(reader, chosen) if isinstance(part, Table)]
        cell = trace_cell(reader, chosen, table, row, column, judged)
        address = reader.address
    if as_json:
        typer.echo(json.dumps(cell.as_record(), indent=2))
    else:
        _print(cell, address)


def _print(cell: TracedCell, address: str) -> None:
    console = get_console()
    console.print(f"{cell.table}, {cell.row}, {cell.column}: {cell.text}", highlight=False)
    if cell.how:
        console.print(cell.how, highlight=False)
    table = plain_table()
    for heading in ("step", "job", "what it did"):
        table.add_column(heading, no_wrap=heading != "what it did")
    for step in cell.steps:
        table.add_row(step.kind, step.job[:_ID_SHOWN], step.words)
    console.print(table)
    for line in _queries(cell, address):
        console.print(line, soft_wrap=True, highlight=False)


def _queries(cell: TracedCell, address: str) -> list[str]:
    """Commands that show the rows of the first score job and the first generate job."""
    lines = []
    for kind, view in (("score", "scores_view"), ("generate", "generations_view")):
        jobs = [step.job for step in cell.steps if step.kind == kind]
        if jobs:
            lines.append(
                f"  bat-harness query \"SELECT * FROM {view} WHERE job = '{jobs[0]}'\" --db {address}"
            )
    return ["Show the rows of the first job of each kind:", *lines] if lines else []
