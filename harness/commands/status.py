"""bat-harness status"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from harness.commands import options
from harness.commands.console import ExitCode, get_console
from harness.commands.runs import list_ as list_runs

if TYPE_CHECKING:
    from harness.status.run_status import RunStatus
    from harness.store import Reader


def status(
    run: options.RunName = None,
    db: options.Database = options.DEFAULT_DATABASE,
    runs: Annotated[bool, typer.Option("--runs", help="List all runs, as `runs list` does.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How often --watch refreshes.")
    ] = 2.0,
    check: Annotated[bool, typer.Option("--check", help="Exit with code 3 if any job failed.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the progress of a run: jobs by stage, workers, rates, errors.

    A job is waiting, leased to a driver, done, failed after its last attempt, or
    blocked by a failed job. Status does not block a running sweep.

    Examples:

        bat-harness status --watch
        bat-harness status demo --check --json
    """
    from harness.api.runs import choose_run, get_status
    from harness.store import open_reader

    if runs:
        list_runs(db, as_json)
        return
    with open_reader(db) as reader:
        chosen = choose_run(reader, run)

        # The same run, even if a later one is started meanwhile.
        if watch:
            current = _watch(reader, chosen.id, interval, as_json=as_json)
        else:
            current = get_status(reader, chosen.id)
            _print(current, reader.address, as_json=as_json)
    if check and current.count("failed"):
        raise typer.Exit(ExitCode.UNFINISHED)


def _print(current: RunStatus, address: str, *, as_json: bool) -> None:
    from harness.commands.status_view import render

    if as_json:
        typer.echo(json.dumps(_record(current), indent=2))
    else:
        console = get_console()
        console.print(render(current, address, console.width))


def _watch(reader: Reader, run_id: int, interval: float, *, as_json: bool) -> RunStatus:
    """Show the status until Ctrl-C, the normal way to end it; return the last status.

    A database that is away for a while, such as a server that restarts, is waited for.
    """
    from rich.live import Live

    from harness.api.runs import get_status
    from harness.commands.status_view import render
    from harness.status.run_status import say
    from harness.store.patience import patient

    console = Console()
    lines = as_json or not console.is_terminal
    # Above the live display; beside lines, which programs may read, on standard error.
    note = partial(typer.echo, err=True) if lines else partial(console.print, style="dim")
    waiting = patient(reader, math.inf, note)

    def look() -> RunStatus:
        return get_status(waiting, run_id)

    current, address = look(), reader.address
    try:
        if lines:  # one each time
            while True:
                moment = time.strftime("%H:%M:%S")
                typer.echo(json.dumps(_record(current)) if as_json else f"{moment} {say(current)}")
                time.sleep(interval)
                current = look()
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(render(current, address, console.width), refresh=True)
                time.sleep(interval)
                current = look()
    except KeyboardInterrupt:
        return current


def _record(current: RunStatus) -> dict[str, Any]:
    from harness.status.run_status import say

    counts = ("done", "leased", "waiting", "blocked", "failed", "total")
    return {
        "run": current.run.id,
        "name": current.run.name,
        "started_at": current.run.started_at.isoformat(),
        "state": current.state.value,
        "verdict": say(current),
        "jobs": {state: current.count(state) for state in counts},
        "seconds_left": current.seconds_left,
        "seconds_left_is_least": current.seconds_left_is_least,
        "stages": [
            {"stage": stage.stage, "kind": stage.kind, **{state: getattr(stage, state) for state in counts}}
            for stage in current.stages
        ],
        "rates": [asdict(rate) for rate in current.rates],
        "rates_over_seconds": current.rates_over_seconds,
        "time_use": [{"kind": kind, **use.to_json()} for kind, use in current.time_use],
        "workers": [
            {**asdict(worker), "since": None if worker.since is None else worker.since.isoformat()}
            for worker in current.workers
        ],
        "drivers": [
            {
                **asdict(driver),
                "started_at": driver.started_at.isoformat(),
                "seen_at": driver.seen_at.isoformat(),
            }
            for driver in current.drivers
        ],
        "owners": [
            {
                **asdict(owner),
                "oldest_started_at": owner.oldest_started_at.isoformat(),
                "first_expires_at": owner.first_expires_at.isoformat(),
            }
            for owner in current.owners
        ],
        "errors": [asdict(group) for group in current.errors],
        "resolutions": [asdict(resolution) for resolution in current.resolutions],
        "open_parameters": list(current.open_parameters),
    }
