"""bat-harness runs"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from harness.commands import options
from harness.commands.console import ExitCode, get_console, plain_table, stages
from harness.words import counted

if TYPE_CHECKING:
    from harness.api.managing import RunHash

Run = Annotated[
    str, typer.Argument(metavar="RUN", show_default=False, help="Name or number of a run, or NAME#NUMBER.")
]
Tags = Annotated[list[str], typer.Argument(metavar="TAG", show_default=False, help="One tag or several.")]


def list_(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """List the runs of a database, with what tells them apart.

    The latest run is first. Runs of one name differ in their configuration, or in
    the content of the local files they read: each column has the first digits of a
    hash of it.

    Examples:

        bat-harness runs list
        bat-harness runs list --db results.db --json
    """
    from harness.api.runs import list_runs
    from harness.commands.status_view import runs_table
    from harness.store import open_reader

    with open_reader(db) as reader:
        summaries, address = list_runs(reader), reader.address
    if as_json:
        typer.echo(json.dumps([summary.as_record() for summary in summaries], indent=2))
    elif summaries:
        get_console().print(runs_table(summaries))
    else:
        typer.echo(f"{address} has no run yet.")


def rename(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The new name.")],
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Rename a run.

    To resume it, change the name in its sweep, too. Started under its old name, the
    sweep is a new run, which shares all jobs.

    Examples:

        bat-harness runs rename demo first-try
        bat-harness runs rename demo#2 demo-longer
    """
    from harness.api.managing import rename_run

    before = rename_run(db, run, name)
    if as_json:
        typer.echo(json.dumps({"run": before.id, "before": before.name, "name": name}))
    else:
        typer.echo(f"{before.label} is now {name}#{before.id}.")


def tag(
    run: Run, tags: Tags, db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False
) -> None:
    """Add tags to a run.

    Tags are shown by `runs list`, and are in the table run_tags and in runs_view.

    Examples:

        bat-harness runs tag demo baseline
        bat-harness runs tag demo#2 paper final
    """
    from harness.api.managing import tag_run

    _print_tags(tag_run(db, run, tags), as_json=as_json)


def untag(
    run: Run, tags: Tags, db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False
) -> None:
    """Remove tags from a run.

    Examples:

        bat-harness runs untag demo baseline
        bat-harness runs untag demo#2 paper final
    """
    from harness.api.managing import untag_run

    _print_tags(untag_run(db, run, tags), as_json=as_json)


def _print_tags(run: Any, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"run": run.id, "name": run.name, "tags": list(run.tags)}))
    else:
        typer.echo(f"{run.label}: {', '.join(run.tags) or 'no tags'}")


def delete(
    run: Run,
    db: options.Database = options.DEFAULT_DATABASE,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, for scripts.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted, and change nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Delete a run, and the results that no other run uses.

    Shows what will be deleted, and asks. Sweeps of other runs may be running. If it
    is interrupted, repeat it to delete the rest.

    Examples:

        bat-harness runs delete demo#2
        bat-harness runs delete demo --yes
    """
    from bat.errors import InvalidInputError
    from harness.api.managing import count_deletion, delete_run

    planned = count_deletion(db, run)
    record = {"run": planned.run.id, "name": planned.run.name, **asdict(planned.deletion)}
    if not as_json:
        typer.echo(str(planned))
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise InvalidInputError(
                f"deleting {planned.run.label} needs an answer, but there is no terminal to ask. Add --yes, "
                "or --dry-run to change nothing."
            )
        if not typer.confirm("Delete it?", err=True):
            typer.echo("Nothing was deleted.")
            return
    if not dry_run:
        with stages(transient=True) as stage:
            delete_run(db, planned.run.id, progress=stage("Deleting", planned.deletion.jobs))
    if as_json:
        typer.echo(json.dumps({**record, "deleted": not dry_run}))
    elif not dry_run:
        typer.echo("Deleted.")


def diff(
    first: Run,
    second: Run,
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Show in what two runs differ.

    Compares their configurations, the content of the local files they read, and the
    versions of the libraries at their latest start.

    Examples:

        bat-harness runs diff demo#1 demo#2
        bat-harness runs diff smoke demo --json
    """
    from harness.api.managing import diff_runs
    from harness.api.runs import choose_run
    from harness.store import open_reader

    with open_reader(db) as reader:
        labels = [choose_run(reader, name).label for name in (first, second)]
        differences = diff_runs(reader, first, second)
    if as_json:
        typer.echo(json.dumps([asdict(difference) for difference in differences], indent=2))
    elif differences:
        table = plain_table()
        for heading in ("", *labels):
            table.add_column(heading, overflow="fold")
        for difference in differences:
            table.add_row(difference.key, _shown(difference.first), _shown(difference.second))
        get_console().print(table)
    else:
        typer.echo(f"{labels[0]} and {labels[1]} do not differ.")


def hash_(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            show_default=False,
            help="Name or number of a run, or NAME#NUMBER; default: the latest run.",
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    jobs: Annotated[
        bool, typer.Option("--jobs", help="Print the hash and the id of each job that is done instead.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Compare with a file that --jobs wrote; exit with 1 if a job differs or none is listed.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print a hash of all results of a run, to compare with that of a rerun.

    Equal results have equal hashes, in any database and for any number of workers.
    Between different processors rounding may differ, and with it the hash. With
    --jobs, a part of a run can be compared: jobs have the same id everywhere.

    Examples:

        bat-harness runs hash demo
        bat-harness runs hash demo --jobs
        bat-harness runs hash demo --db rerun.db --check hashes.txt
    """
    from harness.api.managing import hash_run, read_hashes

    if jobs and check is not None:
        raise typer.BadParameter("--jobs prints hashes and --check compares them; give one of the two.")
    expected = None if check is None else read_hashes(check)
    with stages(transient=True) as stage:
        hashed = hash_run(db, run, progress=stage)
    if check is not None and expected is not None:
        _print_check(hashed, expected, check, as_json=as_json)
    elif as_json:
        record: dict[str, Any] = {"run": hashed.run.id, "name": hashed.run.name, "sha256": hashed.sha256}
        record |= {"done": len(hashed.by_job), "jobs": hashed.jobs}
        typer.echo(json.dumps({**record, "by_job": dict(hashed.by_job)} if jobs else record))
    elif jobs:
        for job_id, sha256 in hashed.by_job.items():
            typer.echo(f"{sha256}  {job_id}")
    else:
        done = f"{len(hashed.by_job):,} of {hashed.jobs:,} jobs done"
        typer.echo(f"{hashed.sha256}  {hashed.run.label}, {done}")


def _print_check(hashed: RunHash, expected: Mapping[str, str], file: Path, *, as_json: bool) -> None:
    result = hashed.check(expected)
    same = result.shared - len(result.different)
    listed = f"{file}, which lists {counted(len(expected), 'job')}"
    if as_json:
        record = {"run": hashed.run.id, "name": hashed.run.name, "listed": len(expected), **asdict(result)}
        typer.echo(json.dumps(record))
    elif result.shared:
        others = f" {counted(result.others, 'finished job')} of this run not listed." if result.others else ""
        typer.echo(f"{hashed.run.label}: {same:,} of {result.shared:,} jobs agree with {listed}.{others}")
        for job in result.different:
            typer.echo(f"differs: {job}")
    else:
        done = counted(len(hashed.by_job), "finished job")
        typer.echo(f"{hashed.run.label}: nothing to compare; of {done}, none is in {listed}.", err=True)
    if result.different or not result.shared:
        raise typer.Exit(ExitCode.MISTAKE)


def _shown(value: Any) -> Text:
    if value is None:
        return Text("-", "dim")
    return Text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
