"""bat-harness retry"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console
from harness.commands.runs import choose_run

if TYPE_CHECKING:
    from harness.status.failures import FailedJobError

_KINDS = ("measure", "generate", "featurize", "score")
_SHORTEST_ID = 6  # digits of a job's id that are worth looking for
_AT_ONCE = 500  # jobs of one transaction, so that a sweep that runs never waits for long


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
            help="Only this job, by its id or the beginning of it; may be given several times.",
        ),
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only jobs whose last error contains this text.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: options.Json = False,
) -> None:
    """Let jobs that were set aside be tried again, all of a run or those that fit every filter given.

    They wait in the queue with all their attempts before them: a sweep that
    runs takes them up, otherwise the same run command again does.
    """
    from harness.status.failures import find_failed
    from harness.store import open_reader, open_store

    _check_kind(kind)
    with open_reader(db) as reader:
        chosen = choose_run(reader, run)
        failed = find_failed(reader, chosen.id)
        address = reader.address
    fitting = [
        one
        for one in _select(failed, job, chosen.name)
        if kind in (None, one.kind.value) and (error is None or error in one.error)
    ]
    count = len(fitting)
    if fitting and not dry_run:
        ids = [one.job_id for one in fitting]
        with open_store(db, create=False) as store:
            count = sum(
                store.retry_failed(chosen.id, job_ids=ids[start : start + _AT_ONCE])
                for start in range(0, len(ids), _AT_ONCE)
            )
    if as_json:
        record = {"run": chosen.id, "name": chosen.name, "retried": 0 if dry_run else count}
        record |= {"failed": len(failed), "jobs": [one.job_id for one in fitting]}
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    for line in _sentences(chosen.name, address, failed, fitting, count, dry_run=dry_run):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _sentences(
    name: str,
    address: str,
    failed: Sequence[FailedJobError],
    fitting: Sequence[FailedJobError],
    count: int,
    *,
    dry_run: bool,
) -> list[str]:
    from harness.status.failures import group_errors
    from harness.words import counted

    if not failed:
        return [f"Nothing to retry: no job of run {name!r} was set aside."]
    if not fitting:
        return [f"Nothing to retry: none of the {counted(len(failed), 'failed job')} of run {name!r} fits."]
    kinds = Counter(one.kind.value for one in fitting)
    listed = ", ".join(f"{kind} {number:,}" for kind, number in kinds.items())
    if dry_run:
        errors = [f"  {group.count:,} x {group.error}" for group in group_errors(fitting)]
        first = f"{counted(count, 'failed job')} of run {name!r} would be tried again ({listed}):"
        return [first, *errors]
    left = len(failed) - len(fitting)
    others = f" Still set aside: {left:,}." if left else ""
    return [
        f"{counted(count, 'job')} of run {name!r} will be tried again ({listed}).{others}",
        f"If no sweep runs now: bat-harness run SWEEP --db {address}",
    ]


def _select(failed: Sequence[FailedJobError], wanted: list[str] | None, name: str) -> list[FailedJobError]:
    """The failed jobs that are asked for by id, or all."""
    from bat.errors import InvalidInputError

    if not wanted:
        return list(failed)
    found: dict[str, FailedJobError] = {}
    for beginning in wanted:
        if len(beginning) < _SHORTEST_ID:
            raise InvalidInputError(
                f"--job needs at least {_SHORTEST_ID} digits of a job's id; got {beginning!r}."
            )
        fits = [one for one in failed if one.job_id.startswith(beginning)]
        if not fits:
            raise InvalidInputError(
                f"no failed job of run {name!r} has an id that begins with {beginning!r}. "
                "See: bat-harness query --name failures"
            )
        if len(fits) > 1:
            raise InvalidInputError(
                f"{len(fits)} failed jobs of run {name!r} have ids that begin with {beginning!r}. "
                "Write more of it."
            )
        found[fits[0].job_id] = fits[0]
    return list(found.values())


def _check_kind(kind: str | None) -> None:
    import difflib

    from bat.errors import InvalidInputError

    if kind is None or kind in _KINDS:
        return
    near = difflib.get_close_matches(kind, _KINDS, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidInputError(f"--kind must be one of {', '.join(_KINDS)}; got {kind!r}.{guess}")
