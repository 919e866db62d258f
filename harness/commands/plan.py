"""bat-harness plan"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from harness.commands import options
from harness.commands.console import get_console, stages

if TYPE_CHECKING:
    from harness.config.expansion import MethodInstance
    from harness.planning.estimate import Work

_OPEN_SHOWN = 5


def plan(
    sweep: options.Sweep,
    db: options.Database = options.DEFAULT_DATABASE,
    overrides: options.Overrides = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Do a little of each kind of work, to estimate the time of all."),
    ] = False,
    workers: Annotated[
        int, typer.Option(help="How many workers like this machine the estimate is for.", min=1)
    ] = 1,
    as_json: options.Json = False,
) -> None:
    """Show what a sweep would do: jobs, tokens, programs, time. Nothing is run and nothing is written."""
    from harness.config import load_config
    from harness.planning.estimate import as_records, count_work, totals
    from harness.planning.estimate import calibrate as measure_rates
    from harness.planning.finished import stored_identity
    from harness.planning.materials import Materials
    from harness.planning.planner import make_plan
    from harness.store import StoreError, open_reader

    config = load_config(sweep, overrides or ()).config
    materials = Materials(config)
    with stages(transient=True) as stage:
        planning = stage("Planning", 1)
        try:
            reader = open_reader(db)
        except StoreError:
            reader = None  # there is no database yet
        if reader is None:
            made = make_plan(config, materials)
            done: set[str] = set()
        else:
            with reader:
                run = reader.find_run(config.name)
                same = run is not None and run.config == stored_identity(config)
                known = reader.resolutions(run.id) if run is not None and same else []
                made = make_plan(config, materials, reader, known)
                done = reader.done_ids([job.id for _, job in made.jobs])
        planning(1)
        rates = {}
        if calibrate:
            calibrating = stage("Calibrating", 1)
            rates = measure_rates(materials, made)
            calibrating(1)
    work = count_work(config, made, done, rates)
    if as_json:
        open_settings = [str(one.setting) for one in made.unresolved]
        record = {"work": as_records(work), "totals": totals(work), "unresolved": open_settings}
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    console.print(_table(work, workers))
    for line in _notes(work, made.unresolved, workers, calibrated=bool(rates)):
        console.print(line, highlight=False)


def _table(work: list[Work], workers: int) -> Table:
    from harness.planning.estimate import UNIT_NAMES

    table = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for name in ("stage", "kind", "model"):
        table.add_column(name)
    for name in ("jobs", "done", "left to do", "programs", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in work:
        table.add_row(
            one.stage,
            one.kind.value,
            one.model,
            f"{one.jobs:,}",
            f"{one.done:,}",
            f"{one.units:,} {UNIT_NAMES[one.kind]}",
            f"{one.programs:,}" if one.programs else "",
            "" if one.seconds is None else _duration(one.seconds / workers),
        )
    return table


def _notes(
    work: list[Work], unresolved: list[MethodInstance], workers: int, *, calibrated: bool
) -> list[str]:
    jobs, done = sum(one.jobs for one in work), sum(one.done for one in work)
    lines = [f"{jobs:,} jobs, {done:,} of them done."]
    if calibrated:
        seconds = sum(one.seconds or 0.0 for one in work) / workers
        plural = "s" if workers > 1 else ""
        lines.append(
            f"About {_duration(seconds)} on {workers} worker{plural} like this machine, scores aside."
        )
    else:
        lines.append("--calibrate estimates the time.")
    if unresolved:
        shown = "; ".join(dict.fromkeys(str(one.setting) for one in unresolved[:_OPEN_SHOWN]))
        lines.append(
            f"{len(unresolved)} more settings follow when results have decided their parameters: {shown}"
            + (" ..." if len(unresolved) > _OPEN_SHOWN else ".")
        )
    return lines


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
