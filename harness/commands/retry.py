"""bat-harness retry"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console

if TYPE_CHECKING:
    from harness.status.failures import FailedJobError

_KINDS = ("measure", "generate", "featurize", "score")
_SHORTEST_ID = 6  # least number of digits for --job
_BATCH = 500  # jobs per transaction, so that a running sweep never waits for long


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
    from harness.status.failures import find_failed
    from harness.store import open_reader, open_store

    _check_kind(kind)
    with open_reader(db) as reader:
        chosen = options.choose_run(reader, run)
        failed = find_failed(reader, chosen.id)
        address = reader.address
    matching = [
        failure
        for failure in _select(failed, job, chosen.name)
        if kind in (None, failure.kind.value) and (error is None or error in failure.error)
    ]
    count = len(matching)
    if matching and not dry_run:
        ids = [failure.job_id for failure in matching]
        with open_store(db, create=False) as store:
            count = sum(
                store.retry_failed(chosen.id, job_ids=ids[start : start + _BATCH])
                for start in range(0, len(ids), _BATCH)
            )
    if as_json:
        record = {"run": chosen.id, "name": chosen.name, "retried": 0 if dry_run else count}
        record |= {"failed": len(failed), "jobs": [failure.job_id for failure in matching]}
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    for line in _sentences(chosen.name, address, failed, matching, count, dry_run=dry_run):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _sentences(
    name: str,
    address: str,
    failed: Sequence[FailedJobError],
    matching: Sequence[FailedJobError],
    count: int,
    *,
    dry_run: bool,
) -> list[str]:
    from harness.status.failures import group_errors
    from harness.words import counted

    if not failed:
        return [f"Nothing to retry: no job of run {name!r} failed."]
    if not matching:
        return [
            f"Nothing to retry: none of the {counted(len(failed), 'failed job')} of run {name!r} matches."
        ]
    kinds = Counter(failure.kind.value for failure in matching)
    listed = ", ".join(f"{kind} {number:,}" for kind, number in kinds.items())
    if dry_run:
        errors = [f"  {group.count:,} x {group.error}" for group in group_errors(matching)]
        first = f"{counted(count, 'failed job')} of run {name!r} would be retried ({listed}):"
        return [first, *errors]
    left = len(failed) - len(matching)
    others = f" Other failed jobs: {left:,}." if left else ""
    return [
        f"{counted(count, 'job')} of run {name!r} will be retried ({listed}).{others}",
        f"If the sweep is not running, resume it with: bat-harness run SWEEP --db {address}",
    ]


def _select(failed: Sequence[FailedJobError], ids: list[str] | None, name: str) -> list[FailedJobError]:
    """The failed jobs with these ids, or all."""
    from bat.errors import InvalidInputError

    if not ids:
        return list(failed)
    selected: dict[str, FailedJobError] = {}
    for beginning in ids:
        if len(beginning) < _SHORTEST_ID:
            raise InvalidInputError(
                f"--job must have at least {_SHORTEST_ID} digits of a job id; got {beginning!r}."
            )
        matches = [failure for failure in failed if failure.job_id.startswith(beginning)]
        if not matches:
            raise InvalidInputError(
                f"no failed job of run {name!r} has an id that begins with {beginning!r}. "
                "See: bat-harness query --name failures"
            )
        if len(matches) > 1:
            raise InvalidInputError(
                f"{len(matches)} failed jobs of run {name!r} have ids that begin with {beginning!r}. "
                "Give more digits."
            )
        selected[matches[0].job_id] = matches[0]
    return list(selected.values())


def _check_kind(kind: str | None) -> None:
    from bat.errors import InvalidInputError
    from bat.suggestions import did_you_mean

    if kind is None or kind in _KINDS:
        return
    raise InvalidInputError(
        f"--kind must be one of {', '.join(_KINDS)}; got {kind!r}.{did_you_mean(kind, _KINDS)}"
    )
