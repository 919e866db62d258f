"""bat-harness export"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console, stages
from harness.commands.runs import choose_run

if TYPE_CHECKING:
    from harness.export.run_files import ExportedFile


def export(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", show_default=False, help="A new or empty folder."),
    ],
    run: options.RunName = None,
    db: options.Database = options.DEFAULT_DATABASE,
    output_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="What tables are written as: parquet or csv.")
    ] = "parquet",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write everything a run found to files: a table for each kind of result, its sweep and its versions.

    Every token of every text has a row in the table of tokens. A sweep may go
    on meanwhile; the jobs that are done when the export begins are in it.
    """
    from harness.export.run_files import export_run
    from harness.export.tables import TABLES
    from harness.store import open_reader

    with open_reader(db) as reader, stages(transient=True) as stage:
        chosen = choose_run(reader, run)
        written = export_run(
            reader,
            chosen,
            output,
            format_name=output_format,
            force=force,
            report=stage(f"Exporting {chosen.name}", len(TABLES)),
        )
    if as_json:
        records = [
            {"file": str(one.path), "rows": one.rows, "bytes": one.path.stat().st_size} for one in written
        ]
        typer.echo(json.dumps({"run": chosen.id, "name": chosen.name, "files": records}, indent=2))
    else:
        _print(output, written)


def _print(folder: Path, written: list[ExportedFile]) -> None:
    from harness.commands.tables import plain_table

    table = plain_table()
    table.add_column("file", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("a row is")
    for one in written:
        rows = "" if one.rows is None else f"{one.rows:,}"
        table.add_row(one.path.name, rows, _size(one.path.stat().st_size), one.meaning)
    console = get_console()
    console.print(table)
    console.print(f"Written to {folder}", soft_wrap=True, highlight=False)


def _size(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"
