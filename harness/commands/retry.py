"""bat-harness retry"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console

if TYPE_CHECKING:
    from harness.api.runs import RetryOutcome

_KINDS = ("measure", "generate", "featurize", "score")


def retry(
    run: options.RunName = None,
    db: options.Database = options.DEFAULT_DATABASE,
    kind: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Only jobs of this kind: {', '.join(_KINDS)}.")
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(
            "--job",
            metavar="ID",
            show_default=False,
            help="Only the job with this id; its beginning is enough. Repeatable.",
        ),
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only jobs whose last error contains this text.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be retried, and change nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Retry failed jobs: all of a run, or those that match every filter.

    The jobs go back to the queue with all their attempts. A running sweep picks
    them up; otherwise run the same run command again.

    Examples:

        bat-harness retry --dry-run
        bat-harness retry demo --kind generate --error "out of memory"
    """
    from harness.api.runs import retry_failed

    outcome = retry_failed(db, run, kind=kind, jobs=job or (), error=error, dry_run=dry_run)
    if as_json:
        record = {"run": outcome.run.id, "name": outcome.run.name, "retried": outcome.retried}
        record |= {"failed": len(outcome.failed), "jobs": [failure.job_id for failure in outcome.selected]}
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    for line in _sentences(outcome, dry_run=dry_run):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _sentences(outcome: RetryOutcome, *, dry_run: bool) -> list[str]:
    from harness.status.failures import group_errors
    from harness.words import counted

    name, failed, selected = outcome.run.name, outcome.failed, outcome.selected
    if not failed:
        return [f"Nothing to retry: no job of run {name!r} failed."]
    if not selected:
        return [
            f"Nothing to retry: none of the {counted(len(failed), 'failed job')} of run {name!r} matches."
        ]
    kinds = Counter(failure.kind.value for failure in selected)
    listed = ", ".join(f"{kind} {number:,}" for kind, number in kinds.items())
    if dry_run:
        errors = [f"  {group.count:,} x {group.error}" for group in group_errors(selected)]
        first = f"{counted(len(selected), 'failed job')} of run {name!r} would be retried ({listed}):"
        return [first, *errors]
    left = len(failed) - len(selected)
    others = f" Other failed jobs: {left:,}." if left else ""
    return [
        f"{counted(outcome.retried, 'job')} of run {name!r} will be retried ({listed}).{others}",
        f"If the sweep is not running, resume it with: bat-harness run SWEEP --db {outcome.database}",
    ]
