"""bat-harness report"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console, program_name, stages

if TYPE_CHECKING:
    from rich.console import Console

    from harness.report.parts import Missing, Report, Table

_MISSING_SHOWN = 4


def report(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", show_default=False, help="Folder to write to, new or empty."
        ),
    ],
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            show_default=False,
            help="Names or numbers of runs on the same text; default: the latest run.",
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    with_model: Annotated[
        bool,
        typer.Option(
            "--with-model",
            help="Load the run's first model to add tables of next tokens and the rank of its outputs. Takes "
            "a minute or two.",
        ),
    ] = False,
    device: options.Device = "auto",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write tables and figures as HTML, Markdown, LaTeX and CSV.

    Also prints the comparison of methods. Parts without data are left out and
    listed with the command that would produce them. A sweep may be running: what
    is scored so far is reported.

    Examples:

        bat-harness report --output report
        bat-harness report demo --output demo-report --with-model --force
    """
    from harness.api.reports import write_report

    with stages(transient=True) as stage:
        written = write_report(
            db, output, runs, with_model=with_model, device=device, force=force, progress=stage
        )
    made = written.report
    if as_json:
        record = {
            "runs": [run.id for run in written.runs],
            "page": str(written.page),
            "files": [str(path) for path in written.files],
            "missing": [missing.what for missing in made.missing],
        }
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    _print_summary(console, made)
    files = len(written.files)
    console.print(f"Report: {written.page} ({files} files)", soft_wrap=True, highlight=False)
    console.print(f"Database: {written.database}", soft_wrap=True, highlight=False)
    for line in _next_commands([str(run.id) for run in written.runs], written.database, made):
        console.print(line, soft_wrap=True, highlight=False)


def _print_summary(console: Console, made: Report) -> None:
    from harness.commands.report_view import print_table

    for name in ("comparison", "differences", "imported"):
        table = _find_table(made, name)
        if table is not None:
            print_table(console, table)
            console.print()
    if made.missing:
        _print_missing(console, made.missing)


def _print_missing(console: Console, missing: Sequence[Missing]) -> None:
    from harness.words import counted

    shown = ", ".join(part.what for part in missing[:_MISSING_SHOWN])
    more = len(missing) - _MISSING_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    parts = counted(len(missing), "part")
    console.print(f"Left out for lack of data: {parts} ({shown}{rest}). The page says how to produce them.\n")


def _find_table(made: Report, name: str) -> Table | None:
    from harness.report.parts import Table

    for section in made.sections:
        for part in section.parts:
            if isinstance(part, Table) and part.name == name:
                return part
    return None


def _next_commands(runs: Sequence[str], address: str, made: Report) -> list[str]:
    """Three commands to try next."""
    choice = " ".join(f"--run {run}" for run in runs)
    lines = ["Try next:"]
    comparison = _find_table(made, "comparison")
    if comparison is not None:
        row, column = comparison.rows[0].label, comparison.columns[1]
        lines.append(f"  {program_name()} trace comparison '{row}' '{column}' {choice} --db {address}")
    lines += [
        f"  {program_name()} query --name texts --limit 6 --db {address}",
        f"  {program_name()} sample --prompt 'The mayor said' --method ba-eta=0.02 --explain",
    ]
    return lines
