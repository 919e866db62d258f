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
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            show_default=False,
            help="Names or numbers of runs on the same text; default: those in --compare, or the latest run.",
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write to, new or empty.")
    ] = Path("report"),
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Report all runs that can be compared with the latest one, with a leaderboard of their "
            "settings. The others are listed.",
        ),
    ] = False,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="A:B",
            show_default=False,
            help="Compare two settings or runs. A side is a method or setting (eta, 'eta=0.002'), one of a "
            "run (run1/eta), or a whole run. Repeatable.",
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Show the paper's numbers, and list its parts that are missing, even if the sweep repeats "
            "none of its experiments.",
        ),
    ] = False,
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

    --compare takes differences: paired where both sides continue the same
    prefixes, otherwise not paired, and the report says so.

    Examples:

        bat-harness report
        bat-harness report demo --output demo-report --with-model --force
        bat-harness report demo --compare ba-eta:eta
        bat-harness report --compare run1/eta:run2/eta
        bat-harness report run1 run2 --compare run1:run2
        bat-harness report --all --output leaderboard
    """
    from harness.api.reports import write_report

    with stages(transient=True) as stage:
        written = write_report(
            db,
            output,
            _chosen(runs, every=every),
            compare=compare or (),
            paper=paper,
            with_model=with_model,
            device=device,
            force=force,
            progress=stage,
        )
    made = written.report
    if as_json:
        record = {
            "runs": [run.id for run in written.runs],
            "page": str(written.page),
            "files": [str(path) for path in written.files],
            "missing": [missing.what for missing in made.missing],
            "left_out": list(written.left_out),
        }
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    for sentence in written.left_out:
        console.print(sentence, soft_wrap=True, highlight=False)
    _print_summary(console, made, leaderboard=every or len(written.runs) > 1)
    files = len(written.files)
    console.print(f"Report: {written.page} ({files} files)", soft_wrap=True, highlight=False)
    console.print(f"Database: {written.database}", soft_wrap=True, highlight=False)
    for line in _next_commands([str(run.id) for run in written.runs], written.database, made):
        console.print(line, soft_wrap=True, highlight=False)


def _chosen(runs: list[str] | None, *, every: bool) -> list[str] | str | None:
    from bat.errors import InvalidInputError
    from harness.api.runs import ALL

    if every and runs:
        raise InvalidInputError(
            f"--all takes every run; got {', '.join(runs)} as well. Leave out either --all or the runs."
        )
    return ALL if every else runs


def _print_summary(console: Console, made: Report, *, leaderboard: bool) -> None:
    from harness.commands.report_view import print_table

    for table in _tables(made):
        begins = ("compare", "leaderboard") if leaderboard else ("compare",)
        if table.name in (
            "comparison",
            "differences",
            "imported",
            "human-evaluation",
        ) or table.name.startswith(begins):
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


def _tables(made: Report) -> list[Table]:
    from harness.report.parts import Table

    return [part for section in made.sections for part in section.parts if isinstance(part, Table)]


def _next_commands(runs: Sequence[str], address: str, made: Report) -> list[str]:
    """Three commands to try next."""
    choice = " ".join(f"--run {run}" for run in runs)
    lines = ["Try next:"]
    comparison = next((table for table in _tables(made) if table.name == "comparison"), None)
    if comparison is not None:
        row, column = comparison.rows[0].label, comparison.columns[1]
        lines.append(f"  {program_name()} trace comparison '{row}' '{column}' {choice} --db {address}")
    lines += [
        f"  {program_name()} query --name texts --limit 6 --db {address}",
        f"  {program_name()} sample --prompt 'The mayor said' --method ba-eta=0.02 --explain",
    ]
    return lines
