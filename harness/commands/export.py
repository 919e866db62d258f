"""bat-harness export"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console, plain_table, stages

if TYPE_CHECKING:
    from harness.export.run_files import ExportedFile


def export(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", show_default=False, help="Folder to write to, new or empty."
        ),
    ],
    run: options.RunName = None,
    db: options.Database = options.DEFAULT_DATABASE,
    output_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="File format of the tables: parquet or csv.")
    ] = "parquet",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Export all results of a run as Parquet or CSV files.

    Writes a table for each kind of result, the sweep, and the versions of the
    software. The table of tokens has a row for each generated token. A sweep may
    be running: jobs that are done when the export starts are included.

    Examples:

        bat-harness export --output results
        bat-harness export demo --output results-csv --format csv --force
    """
    from harness.api.runs import choose_run
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
            {"file": str(file.path), "rows": file.rows, "bytes": file.path.stat().st_size} for file in written
        ]
        typer.echo(json.dumps({"run": chosen.id, "name": chosen.name, "files": records}, indent=2))
    else:
        _print(output, written)


def _print(folder: Path, written: list[ExportedFile]) -> None:
    table = plain_table()
    table.add_column("file", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("contents")
    for file in written:
        rows = "" if file.rows is None else f"{file.rows:,}"
        table.add_row(file.path.name, rows, _size(file.path.stat().st_size), file.meaning)
    console = get_console()
    console.print(table)
    console.print(f"Written to {folder}", soft_wrap=True, highlight=False)


def _size(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"
