"""bat-harness trace"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console
from harness.commands.runs import choose_runs

if TYPE_CHECKING:
    from harness.report.tracing import TracedCell

_IDS_SHOWN = 12  # digits of a job's id that are enough to find it


def trace(
    table: Annotated[str, typer.Argument(help="A table of the report, such as comparison.")],
    row: Annotated[str, typer.Argument(help="The label of a row, or its beginning.")],
    column: Annotated[str, typer.Argument(help="The heading of a column, or its beginning.")],
    runs: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN",
            show_default=False,
            help="Name or number of a run, once for each that the report is of; if not said, the one started "
            "last.",
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Follow a number of the report back to the jobs and rows that it comes from."""
    from harness.report.tracing import trace_cell
    from harness.store import open_reader

    with open_reader(db) as reader:
        found = trace_cell(reader, choose_runs(reader, runs or ()), table, row, column)
        address = reader.address
    if as_json:
        typer.echo(json.dumps(found.as_record(), indent=2))
    else:
        _print(found, address)


def _print(found: TracedCell, address: str) -> None:
    from harness.commands.tables import plain_table

    console = get_console()
    console.print(f"{found.table}, {found.row}, {found.column}: {found.text}", highlight=False)
    if found.how:
        console.print(found.how, highlight=False)
    table = plain_table()
    for heading in ("step", "job", "what it did"):
        table.add_column(heading, no_wrap=heading != "what it did")
    for step in found.steps:
        table.add_row(step.kind, step.job[:_IDS_SHOWN], step.words)
    console.print(table)
    for line in _queries(found, address):
        console.print(line, soft_wrap=True, highlight=False)


def _queries(found: TracedCell, address: str) -> list[str]:
    """Commands that show the rows of the first job of each kind that has a view."""
    lines = []
    for kind, view in (("score", "scores_view"), ("generate", "generations_view")):
        jobs = [step.job for step in found.steps if step.kind == kind]
        if jobs:
            lines.append(
                f"  bat-harness query \"SELECT * FROM {view} WHERE job = '{jobs[0]}'\" --db {address}"
            )
    return ["Rows behind it, of the first job of a kind:", *lines] if lines else []
