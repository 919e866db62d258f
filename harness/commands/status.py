"""bat-harness status"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from harness.commands import exits, options
from harness.commands.console import get_console
from harness.commands.runs import choose_run

if TYPE_CHECKING:
    from harness.status.run_status import RunStatus
    from harness.store import Reader


def status(
    run: options.RunName = None,
    db: options.Database = options.DEFAULT_DATABASE,
    runs: Annotated[bool, typer.Option("--runs", help="List the runs there are.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long --watch waits before it looks again.")
    ] = 2.0,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 if any job was set aside.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show how a run stands: jobs by stage, who works, how fast, what went wrong.

    Looking never holds up a sweep. A job is waiting, leased to a driver, done,
    failed (set aside after its last attempt), or blocked: waiting for one that
    failed.
    """
    from harness.status.run_status import gather
    from harness.store import open_reader

    with open_reader(db) as reader:
        if runs:
            _list_runs(reader, as_json=as_json)
            return
        chosen = choose_run(reader, run)

        def look() -> RunStatus:
            return gather(reader, reader.get_run(chosen.id))  # it may have been started again

        found = _watch(look, interval, reader.address, as_json=as_json) if watch else look()
        if not watch:
            _print(found, reader.address, as_json=as_json)
    if check and found.count("failed"):
        raise typer.Exit(exits.UNFINISHED)


def _print(found: RunStatus, address: str, *, as_json: bool) -> None:
    from harness.commands.status_view import render

    if as_json:
        typer.echo(json.dumps(_record(found), indent=2))
    else:
        console = get_console()
        console.print(render(found, address, console.width))


def _watch(look: Callable[[], RunStatus], interval: float, address: str, *, as_json: bool) -> RunStatus:
    """Show the status until Ctrl-C, which is how watching ends and no mistake; return what was seen last."""
    from rich.live import Live

    from harness.commands.status_view import render
    from harness.status.verdict import say

    found = look()
    console = Console()
    try:
        if as_json or not console.is_terminal:  # a file gets a line each time
            while True:
                moment = time.strftime("%H:%M:%S")
                typer.echo(json.dumps(_record(found)) if as_json else f"{moment} {say(found)}")
                time.sleep(interval)
                found = look()
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(render(found, address, console.width), refresh=True)
                time.sleep(interval)
                found = look()
    except KeyboardInterrupt:
        return found


def _list_runs(reader: Reader, *, as_json: bool) -> None:
    from harness.commands.status_view import runs_table
    from harness.status.run_status import list_runs

    found = list_runs(reader)
    if as_json:
        records = [
            {
                "id": one.run.id,
                "name": one.run.name,
                "created_at": one.run.created_at.isoformat(),
                "started_at": one.run.started_at.isoformat(),
                **{state: getattr(one, state) for state in ("done", "leased", "waiting", "failed", "total")},
            }
            for one in found
        ]
        typer.echo(json.dumps(records, indent=2))
    elif found:
        get_console().print(runs_table(found))
    else:
        typer.echo(f"{reader.address} has no run yet.")


def _record(found: RunStatus) -> dict[str, Any]:
    from harness.status.verdict import say

    counts = ("done", "leased", "waiting", "blocked", "failed", "total")
    return {
        "run": found.run.id,
        "name": found.run.name,
        "started_at": found.run.started_at.isoformat(),
        "state": found.state.value,
        "verdict": say(found),
        "jobs": {state: found.count(state) for state in counts},
        "seconds_left": found.seconds_left,
        "seconds_left_is_least": found.seconds_left_is_least,
        "stages": [
            {"stage": one.stage, "kind": one.kind, **{state: getattr(one, state) for state in counts}}
            for one in found.stages
        ],
        "rates": [asdict(rate) for rate in found.rates],
        "rates_over_seconds": found.rates_over_seconds,
        "workers": [
            {**asdict(one), "since": None if one.since is None else one.since.isoformat()}
            for one in found.workers
        ],
        "drivers": [
            {
                **asdict(driver),
                "started_at": driver.started_at.isoformat(),
                "seen_at": driver.seen_at.isoformat(),
            }
            for driver in found.drivers
        ],
        "owners": [
            {
                **asdict(owner),
                "oldest_started_at": owner.oldest_started_at.isoformat(),
                "first_expires_at": owner.first_expires_at.isoformat(),
            }
            for owner in found.owners
        ],
        "errors": [asdict(group) for group in found.errors],
        "resolutions": [asdict(one) for one in found.resolutions],
        "open_parameters": list(found.open_parameters),
    }
