"""The picture that `bat-harness status` draws, made to fit a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.commands.tables import plain_table
from harness.status.run_status import RunState, RunStatus, RunSummary, StageCounts
from harness.status.verdict import say
from harness.store import LeaseOwner, Resolution
from harness.words import counted, duration, moment

_WIDE = 100  # columns of a terminal with room for bars
_LINES = 5  # errors, and parameters; the others are a query away
_WORKERS = 16

_STYLES = {
    RunState.RUNNING: "bold cyan",
    RunState.DONE: "bold green",
    RunState.FAILED: "bold red",
}
_UNHAPPY = "bold yellow"


def render(status: RunStatus, address: str, width: int) -> Group:
    """Draw a status for a console of that width."""
    run = status.run
    started = (datetime.now(UTC) - run.started_at).total_seconds()
    title = Text.assemble(
        (run.name, "bold"),
        (f", run {run.id} of {address}\nstarted {moment(run.started_at)}, {duration(started)} ago", "dim"),
    )
    style = "bold red" if status.count("failed") else _STYLES.get(status.state, _UNHAPPY)
    # What matters most comes first: a picture too tall for the screen is cut at its foot.
    parts: list[RenderableType] = [title, Text(say(status), style)]
    if status.stages:
        parts += ["", _stages(status, with_bars=width >= _WIDE)]
    if status.errors:
        parts += ["", _errors(status)]
    if status.rates:
        parts += ["", _rates(status)]
    if status.workers:
        parts += ["", _workers(status)]
    if status.owners:
        parts += ["", _owners(status.owners)]
    if status.resolutions:
        parts += ["", _parameters(status.resolutions)]
    return Group(*parts)


def runs_table(runs: Sequence[RunSummary]) -> Table:
    """Draw a list of runs."""
    table = plain_table()
    for name in ("run", "name", "started"):
        table.add_column(name, justify="right" if name == "run" else "left")
    for name in ("done", "leased", "waiting", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in runs:
        numbers = [_number(getattr(one, state), state) for state in ("leased", "waiting", "failed")]
        started = moment(one.run.started_at)
        table.add_row(str(one.run.id), one.run.name, started, f"{one.done:,} of {one.total:,}", *numbers)
    return table


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
        named = [counts.stage or "" if counts.stage != previous else ""] if with_names else []
        bar = [ProgressBar(counts.total, counts.done, width=16)] if with_bars else []
        table.add_row(*named, counts.kind.value, *bar, *_cells(counts))
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
    table.add_column("lately", no_wrap=True)
    table.add_column("jobs a minute", justify="right", no_wrap=True)
    table.add_column("seconds a job", justify="right", no_wrap=True)
    for rate in status.rates:
        table.add_row(
            rate.kind.value, f"{60 * rate.jobs_per_second:,.1f}", f"{rate.seconds_per_attempt:,.2f}"
        )
    return table


def _workers(status: RunStatus) -> Table:
    now = datetime.now(UTC)
    table = plain_table()
    table.add_column("worker", overflow="fold")
    table.add_column("is at", no_wrap=True)
    for name in ("for", "behind it", "done lately", "a minute", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    # Those that fail first, then those at work; else they are in the order of their names.
    found = sorted(status.workers, key=lambda one: (-one.failed, one.kind is None))
    for one in found[:_WORKERS]:
        at, taken = ("-", "-") if one.kind is None else (one.kind.value, _age(now, one.since))
        pace = 60 * one.done / status.rates_over_seconds
        numbers = [_number(one.behind, "leased"), _number(one.done, "done")]
        table.add_row(one.worker, at, taken, *numbers, f"{pace:,.1f}", _number(one.failed, "failed"))
    rest = len(found) - _WORKERS
    if rest > 0:
        # Below the table: in its first column it would be broken into a line for each word.
        table.caption, table.caption_justify = f"and {rest:,} more: bat-harness query --name workers", "left"
    return table


def _age(now: datetime, moment: datetime | None) -> str:
    return "-" if moment is None else duration((now - moment).total_seconds())


def _owners(owners: Sequence[LeaseOwner]) -> Table:
    now = datetime.now(UTC)
    table = plain_table()
    table.add_column("driver", overflow="fold")
    table.add_column("leases", justify="right", no_wrap=True)
    table.add_column("oldest", justify="right", no_wrap=True)
    table.add_column("first to run out", justify="right", no_wrap=True)
    for owner in owners:
        left = (owner.first_expires_at - now).total_seconds()
        ends = Text("has run out", "yellow") if owner.expired else Text(f"in {duration(left)}")
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
        more = f"and {counted(rest, 'other error')}: bat-harness query --name failures"
        table.add_row("", "", Text(more, "dim"))
    return table


def _parameters(resolutions: Sequence[Resolution]) -> Table:
    table = plain_table()
    table.add_column("found", justify="right", no_wrap=True)
    table.add_column("parameter of")
    for one in resolutions[-_LINES:]:
        value = f"{one.value:.6g}" if isinstance(one.value, float) else str(one.value)
        table.add_row(value, Text.assemble(one.parameter, (f"\n{one.how}", "dim")))
    rest = len(resolutions) - _LINES
    if rest > 0:
        table.add_row("", Text(f"and {rest:,} before: bat-harness query --name resolutions", "dim"))
    return table
