"""How `bat-harness status` draws a run, in a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.commands.console import plain_table
from harness.jobs import sha256_of
from harness.status.run_list import RunSummary
from harness.status.run_status import RunState, RunStatus, StageCounts, say
from harness.store import LeaseOwner, Resolution, Run
from harness.words import counted, duration, moment

_WIDE = 100  # columns of a terminal that has room for bars
_LINES = 5  # errors and parameters shown; a query shows the others
_WORKERS = 16
_DIGITS = 8  # of hashes: enough to tell the runs of a database apart

_STYLES = {
    RunState.RUNNING: "bold cyan",
    RunState.DONE: "bold green",
    RunState.FAILED: "bold red",
}
_INCOMPLETE = "bold yellow"


def render(status: RunStatus, address: str, width: int) -> Group:
    """Draw a status for a console of that width."""
    run = status.run
    started = (datetime.now(UTC) - run.started_at).total_seconds()
    title = Text.assemble(
        (run.name, "bold"),
        (f", run {run.id} of {address}\nstarted {moment(run.started_at)}, {duration(started)} ago", "dim"),
    )
    style = "bold red" if status.count("failed") else _STYLES.get(status.state, _INCOMPLETE)
    # Most important first: what is too tall for the screen is cut off at the bottom.
    parts: list[RenderableType] = [title, Text(say(status), style)]
    if status.stages:
        parts += ["", _stages(status, with_bars=width >= _WIDE)]
    if status.errors:
        parts += ["", _errors(status)]
    if status.rates:
        parts += ["", _rates(status)]
    if status.time_use:
        parts += ["", _time_use(status)]
    if status.workers:
        parts += ["", _workers(status)]
    if status.owners:
        parts += ["", _owners(status.owners)]
    if status.resolutions:
        parts += ["", _parameters(status)]
    return Group(*parts)


def runs_table(runs: Sequence[RunSummary]) -> Table:
    """Draw a list of runs, with what tells those of one name apart."""
    table = plain_table()
    table.add_column("run", justify="right", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("started", no_wrap=True)
    table.add_column("done", justify="right", no_wrap=True)
    table.add_column("failed", justify="right", no_wrap=True)
    table.add_column("config", no_wrap=True)
    table.add_column("files", no_wrap=True)
    table.add_column("tags", overflow="fold")
    for summary in runs:
        run = summary.run
        table.add_row(
            str(run.id),
            run.name,
            Text(summary.state.value, _STYLES.get(summary.state, _INCOMPLETE)),
            moment(run.started_at),
            f"{summary.done:,} of {summary.total:,}",
            _number(summary.failed, "failed"),
            run.configuration_hash[:_DIGITS],
            _short_revision(run) or Text("-", "dim"),
            ", ".join(run.tags),
        )
    return table


def _short_revision(run: Run) -> str:
    """The content of the local files of a run, in a few digits: one digest for all of them."""
    revisions = [entry.revision.removeprefix("sha256:") for entry in run.inputs]
    if len(revisions) > 1:
        return sha256_of(revisions)[:_DIGITS]
    return revisions[0][:_DIGITS] if revisions else ""


def _stages(status: RunStatus, *, with_bars: bool) -> Table:
    table = plain_table()
    with_names = any(counts.stage is not None for counts in status.stages)
    if with_names:
        table.add_column("stage", overflow="ellipsis", no_wrap=True)
    table.add_column("jobs", no_wrap=True)
    if with_bars:
        table.add_column("", width=16)
    for state in ("done", "leased", "waiting", "blocked", "failed"):
        table.add_column(state, justify="right", no_wrap=True)
    previous = None
    for counts in status.stages:
        name = [counts.stage or "" if counts.stage != previous else ""] if with_names else []
        bar = [ProgressBar(counts.total, counts.done, width=16)] if with_bars else []
        table.add_row(*name, counts.kind.value, *bar, *_cells(counts))
        previous = counts.stage
    return table


def _cells(counts: StageCounts) -> list[Text]:
    done = Text(f"{counts.done:,} of {counts.total:,}", "green" if counts.done == counts.total else "")
    others = ("leased", "waiting", "blocked", "failed")
    return [done, *(_number(getattr(counts, state), state) for state in others)]


def _number(count: int, state: str) -> Text:
    style = {"leased": "cyan", "blocked": "yellow", "failed": "bold red"}.get(state, "")
    return Text(f"{count:,}", style) if count else Text("-", "dim")


def _rates(status: RunStatus) -> Table:
    table = plain_table()
    table.add_column("recent", no_wrap=True)
    table.add_column("model")
    table.add_column("jobs per minute", justify="right", no_wrap=True)
    table.add_column("seconds from claim", justify="right", no_wrap=True)
    for rate in status.rates:
        table.add_row(
            str(rate.group),
            rate.group.model or "",
            f"{60 * rate.jobs_per_second:,.1f}",
            f"{rate.seconds_per_attempt:,.2f}",
        )
    return table


def _time_use(status: RunStatus) -> Table:
    """What the workers' time went into: whether models, and the GPUs they are on, wait for cores."""
    table = plain_table()
    table.add_column("time of workers", no_wrap=True)
    for name in ("model runs", "proposing", "model waits", "settling", "in flight"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, use in status.time_use:
        whole = max(use.forward + use.propose + use.waiting, 1e-9)
        shares = (use.forward / whole, use.propose / whole, use.waiting_share)
        settling = duration(use.settle)  # beside the model or not, so no share
        table.add_row(kind.value, *(f"{share:.0%}" for share in shares), settling, f"{use.batches_in_flight}")
    return table


def _workers(status: RunStatus) -> Table:
    now = datetime.now(UTC)
    table = plain_table()
    table.add_column("worker", overflow="fold")
    table.add_column("job", no_wrap=True)
    for name in ("for", "queued", "done", "per minute", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    # Failing workers first, then busy ones, otherwise by name.
    workers = sorted(status.workers, key=lambda worker: (-worker.failed, worker.kind is None))
    for worker in workers[:_WORKERS]:
        kind, taken = ("-", "-") if worker.kind is None else (worker.kind.value, _age(now, worker.since))
        pace = 60 * worker.done / status.rates_over_seconds
        numbers = [_number(worker.behind, "leased"), _number(worker.done, "done")]
        table.add_row(worker.worker, kind, taken, *numbers, f"{pace:,.1f}", _number(worker.failed, "failed"))
    rest = len(workers) - _WORKERS
    if rest > 0:
        # Below the table, because it would wrap at every word in the first column.
        table.caption, table.caption_justify = f"and {rest:,} more: {_query(status, 'workers')}", "left"
    return table


def _age(now: datetime, moment: datetime | None) -> str:
    return "-" if moment is None else duration((now - moment).total_seconds())


def _owners(owners: Sequence[LeaseOwner]) -> Table:
    now = datetime.now(UTC)
    table = plain_table()
    table.add_column("driver", overflow="fold")
    table.add_column("leases", justify="right", no_wrap=True)
    table.add_column("oldest", justify="right", no_wrap=True)
    table.add_column("first expires", justify="right", no_wrap=True)
    for owner in owners:
        left = (owner.first_expires_at - now).total_seconds()
        ends = Text("expired", "yellow") if owner.expired else Text(f"in {duration(left)}")
        oldest = _age(now, owner.oldest_started_at)
        table.add_row(owner.owner, f"{owner.leases:,}", oldest, ends)
    return table


def _errors(status: RunStatus) -> Table:
    table = plain_table()
    table.add_column("failed", justify="right", no_wrap=True)
    table.add_column("jobs", no_wrap=True)
    table.add_column("error", overflow="fold")
    for group in status.errors[:_LINES]:
        kinds = "\n".join(kind.value for kind in group.kinds)
        table.add_row(Text(f"{group.count:,}", "bold red"), kinds, Text(group.error))
    rest = len(status.errors) - _LINES
    if rest > 0:
        more = f"and {counted(rest, 'other error')}: {_query(status, 'failures')}"
        table.add_row("", "", Text(more, "dim"))
    return table


def _parameters(status: RunStatus) -> Table:
    resolutions: Sequence[Resolution] = status.resolutions
    table = plain_table()
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("resolved parameter")
    for resolution in resolutions[-_LINES:]:
        value = resolution.value
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        table.add_row(shown, Text.assemble(resolution.parameter, (f"\n{resolution.how}", "dim")))
    rest = len(resolutions) - _LINES
    if rest > 0:
        table.add_row("", Text(f"and {rest:,} earlier: {_query(status, 'resolutions')}", "dim"))
    return table


def _query(status: RunStatus, name: str) -> str:
    return f"bat-harness query --name {name} --run {status.run.label}"
