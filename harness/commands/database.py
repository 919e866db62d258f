"""bat-harness db"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import ExitCode, get_console, plain_table, stages

if TYPE_CHECKING:
    from harness.api.merging import MergeOutcome

_SHOWN = 5  # jobs and parameters that differ


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


def merge(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", show_default=False, help="The database to read: a URL or file.")
    ],
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Bring the runs and results of a database into another one (--db).

    Each may be SQLite or PostgreSQL. The source is not changed; the target is
    created if it does not exist. Results that are in both are kept once. If two
    results of a job differ, the target's is kept, and the exit code is 1. If it is
    interrupted, repeat it to complete it.

    Examples:

        bat-harness db merge cluster.db --db results.db
        bat-harness db merge results.db --db postgresql://me@server/results
    """
    from harness.api.merging import merge_databases

    with stages(transient=True) as stage:
        outcome = merge_databases(source, db, progress=stage)
    if as_json:
        typer.echo(json.dumps(outcome.as_record(), indent=2))
    else:
        for line in _merged(outcome):
            typer.echo(line)
    if outcome.counts.differing or outcome.counts.unequal_parameters:
        raise typer.Exit(ExitCode.MISTAKE)


def _merged(outcome: MergeOutcome) -> list[str]:
    from harness.words import counted

    counts = outcome.counts
    lines = [
        f"{outcome.source} is merged into {outcome.target}: {counted(counts.runs, 'new run')}, "
        f"{counted(counts.jobs, 'new job')}, {counted(counts.results, 'new result')}; "
        f"{counted(counts.present, 'result')} in both."
    ]
    if counts.studies or counts.answers:
        studies = counted(counts.studies, "new study", "new studies")
        lines.append(f"Human evaluation: {studies}, {counted(counts.answers, 'new answer')}.")
    if counts.leased:
        lines.append(
            f"{counted(counts.leased, 'job')} left to the drivers that work on them in the target. Repeat "
            "the command later if they are not done there."
        )
    if counts.differing:
        jobs = counted(len(counts.differing), "job")
        shown = ", ".join(job_id[:12] for job_id in counts.differing[:_SHOWN])
        lines.append(f"{jobs} with different results; those of {outcome.target} are kept: {shown}")
    for parameter in counts.unequal_parameters[:_SHOWN]:
        lines.append(f"Resolved to different values, of which the target's is kept: {parameter}")
    return lines


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
