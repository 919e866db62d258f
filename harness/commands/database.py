"""bat-harness db"""

from __future__ import annotations

import json

import typer

from harness.commands import options
from harness.commands.console import ExitCode, get_console, plain_table


def migrate(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Upgrade a database to this version's schema, or create it.

    Stop all sweeps that use the database and back it up first. The migration is
    one transaction: after an error the database is unchanged.

    Examples:

        bat-harness db migrate --db results.db
        bat-harness db migrate --db postgresql://me@server/results
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
        typer.echo(f"Created the tables, schema version {after}.")
    elif before == after:
        typer.echo(f"Nothing to do: the schema version is already {after}.")
    else:
        typer.echo(f"Migrated the schema from version {before} to {after}.")


def version(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Show the schema version of a database, and the one this bat-harness needs.

    The exit code is 1 if they differ.

    Examples:

        bat-harness db version
        bat-harness db version --db results.db --json
    """
    from harness.store import SCHEMA_VERSION
    from harness.store.addresses import parse_address, shown
    from harness.store.checks import find_schema_version

    stored, address = find_schema_version(db), shown(parse_address(db))
    if as_json:
        typer.echo(json.dumps({"database": address, "version": stored, "known": SCHEMA_VERSION}))
    else:
        typer.echo(f"{address}: {'empty' if stored is None else f'version {stored}'}")
        typer.echo(f"This bat-harness: version {SCHEMA_VERSION}")
        if stored != SCHEMA_VERSION:
            is_newer = stored is not None and stored > SCHEMA_VERSION
            advice = (
                "Install a newer bat-harness." if is_newer else f"Run: bat-harness db migrate --db {address}"
            )
            typer.echo(advice)
    if stored != SCHEMA_VERSION:
        raise typer.Exit(ExitCode.MISTAKE)


def check(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """Check a database: its file, its references, and that jobs and results agree.

    Reads the whole database. The exit code is 1 if a check fails.

    Examples:

        bat-harness db check
        bat-harness db check --db results.db --json
    """
    from rich.text import Text

    from harness.store import open_reader
    from harness.store.checks import check_database

    with open_reader(db) as reader:
        findings = check_database(reader)
    if as_json:
        records = [
            {"promise": finding.invariant, "broken": finding.violations, "example": finding.example}
            for finding in findings
        ]
        typer.echo(json.dumps(records, indent=2))
    else:
        table = plain_table()
        table.add_column("")
        table.add_column("check")
        table.add_column("violations", overflow="fold")
        for finding in findings:
            result = Text("failed", "bold red") if finding.violations else Text("ok", "green")
            example = f"{finding.violations:,}, such as {finding.example}" if finding.violations else ""
            table.add_row(result, finding.invariant, Text(example))
        get_console().print(table)
    if any(finding.violations for finding in findings):
        raise typer.Exit(ExitCode.MISTAKE)
