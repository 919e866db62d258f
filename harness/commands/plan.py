"""bat-harness plan"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from harness.commands import options
from harness.commands.console import get_console, plain_table, stages
from harness.words import counted, duration

if TYPE_CHECKING:
    from harness.config.expansion import MethodInstance
    from harness.planning.work import Work

_SETTINGS_SHOWN = 5


def plan(
    sweep: options.Sweep,
    db: options.Database = options.DEFAULT_DATABASE,
    overrides: options.Overrides = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Estimate the time by running a little of each kind of work here."),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(metavar="N", help="Number of workers to estimate for, each like this machine.", min=1),
    ] = 1,
    as_json: options.Json = False,
) -> None:
    """Show the jobs of a sweep, and how much work is left.

    Counts jobs, tokens, texts and linear programs. Runs no job and writes nothing.

    Examples:

        bat-harness plan configs/demo.yaml
        bat-harness plan configs/smoke.yaml --calibrate --workers 8
    """
    from harness.config import load_config
    from harness.planning.finished import stored_identity
    from harness.planning.materials import Materials
    from harness.planning.planner import make_plan
    from harness.planning.work import count_work, later_jobs, totals
    from harness.store import NoStoreError, open_reader

    config = load_config(sweep, overrides or ()).config
    materials = Materials(config)
    with stages(transient=True) as stage:
        planning = stage("Planning", 1)
        try:
            reader = open_reader(db)
        except NoStoreError:
            reader = None
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
        later = later_jobs(materials, made)
        planning(1)
        rates = {}
        if calibrate:
            from harness.planning.calibration import calibrate as measure_rates

            jobs = [job for _, job in (*made.jobs, *later) if job.id not in done]
            rates = measure_rates(materials, jobs, partial(stage, "Calibrating"))
    work = count_work(materials, made, later, done, rates)
    if as_json:
        record = {
            "work": [asdict(row) for row in work],
            "totals": totals(work),
            "unresolved": [str(instance.setting) for instance in made.awaiting],
            "refused": made.unresolvable,
        }
        typer.echo(json.dumps(record, indent=2))
        return
    console = get_console()
    console.print(_table(work, workers))
    for line in _notes(work, made.awaiting, workers, calibrated=calibrate):
        console.print(line, highlight=False)
    for name, reason in made.unresolvable.items():
        console.print(f"{name} cannot be resolved: {reason}", highlight=False, markup=False)


def _table(work: list[Work], workers: int) -> Table:
    with_times = any(row.seconds is not None for row in work)
    table = plain_table()
    for name in ("stage", "work", "model"):
        table.add_column(name)
    for name in ("jobs", "done", "later", "left, at most", "programs"):
        table.add_column(name, justify="right", no_wrap=True)
    if with_times:
        table.add_column("time", justify="right", no_wrap=True)
    previous = None
    for row in work:
        cells = [
            row.stage if row.stage != previous else "",
            f"{row.kind.value}, {row.detail}" if row.detail else row.kind.value,
            row.model,
            *(f"{count:,}" if count else "-" for count in (row.jobs, row.done, row.later)),
            f"{row.units:,} {row.unit_name}",
            f"{row.programs:,}" if row.programs else "-",
        ]
        if with_times:
            cells.append("" if row.seconds is None else duration(row.seconds / workers))
        table.add_row(*cells)
        previous = row.stage
    return table


def _notes(work: list[Work], awaiting: list[MethodInstance], workers: int, *, calibrated: bool) -> list[str]:
    jobs, done, later = (sum(getattr(row, name) for row in work) for name in ("jobs", "done", "later"))
    lines = [f"{counted(jobs, 'job')}, {done:,} of them done."]
    if calibrated:
        seconds = sum(row.seconds or 0.0 for row in work) / workers
        lines.append(f"About {duration(seconds)} on {counted(workers, 'worker')} like this machine.")
    else:
        lines.append("To estimate the time, add --calibrate.")
    if awaiting:
        settings = list(dict.fromkeys(str(instance.setting) for instance in awaiting))
        lines.append(f"{counted(later, 'job')} will be planned once results have resolved their parameters:")
        lines += [f"  {setting}" for setting in settings[:_SETTINGS_SHOWN]]
        rest = len(settings) - _SETTINGS_SHOWN
        if rest > 0:
            lines.append(f"  and {rest:,} more")
    return lines
