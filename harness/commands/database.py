"""bat-harness db"""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from harness.commands import exits, options
from harness.commands.console import get_console

app = typer.Typer(name="db", help="Look after the results database.", no_args_is_help=True)


@app.command()
def migrate(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Bring a database to the version of its tables that this bat-harness knows, creating it if need be.

    Stop all sweeps on it and keep a copy before. All is done in one
    transaction: after an error the database is as it was.
    """
    from harness.planning.older_runs import fill_in_instances
    from harness.store import migrate as bring_up_to_date
    from harness.store import open_store

    before, after = bring_up_to_date(db)
    with open_store(db, create=False) as store:
        for problem in fill_in_instances(store):
            typer.echo(problem, err=True)
    if as_json:
        typer.echo(json.dumps({"before": before, "after": after}))
    elif before is None:
        typer.echo(f"Created the tables, version {after}.")
    elif before == after:
        typer.echo(f"Nothing to do: the tables have version {after} already.")
    else:
        typer.echo(f"Brought the tables from version {before} to {after}.")


@app.command()
def version(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Show the version of a database's tables, and the one that this bat-harness knows.

    Exits with 1 where they differ.
    """
    from harness.database_checks import find_schema_version
    from harness.store import SCHEMA_VERSION
    from harness.store.addresses import parse_address, shown

    found, address = find_schema_version(db), shown(parse_address(db))
    if as_json:
        typer.echo(json.dumps({"database": address, "version": found, "known": SCHEMA_VERSION}))
    else:
        typer.echo(f"{address}: {'empty' if found is None else f'version {found}'}")
        typer.echo(f"This bat-harness: version {SCHEMA_VERSION}")
        if found != SCHEMA_VERSION:
            is_newer = found is not None and found > SCHEMA_VERSION
            advice = (
                "Install a newer bat-harness." if is_newer else f"Run: bat-harness db migrate --db {address}"
            )
            typer.echo(advice)
    if found != SCHEMA_VERSION:
        raise typer.Exit(exits.MISTAKE)


@app.command()
def check(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Check that a database is whole: its file, and that results and queue agree. Reads all of it.

    Exits with 1 where something is broken.
    """
    from rich.text import Text

    from harness.commands.tables import plain_table
    from harness.database_checks import check_database
    from harness.store import open_reader

    with open_reader(db) as reader:
        findings = check_database(reader)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        table = plain_table()
        table.add_column("")
        table.add_column("in a whole database")
        table.add_column("broken by", overflow="fold")
        for finding in findings:
            word = Text("broken", "bold red") if finding.broken else Text("holds", "green")
            example = f"{finding.broken:,}, such as {finding.example}" if finding.broken else ""
            table.add_row(word, finding.promise, Text(example))
        get_console().print(table)
    if any(finding.broken for finding in findings):
        raise typer.Exit(exits.MISTAKE)
