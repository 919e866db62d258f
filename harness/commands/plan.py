"""bat-harness plan"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from harness.commands import options
from harness.commands.console import get_console, plain_table, stages
from harness.words import counted, duration

if TYPE_CHECKING:
    from harness.api.sweeps import SweepPlan
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
    from harness.api.sweeps import load_sweep, plan_sweep

    config = load_sweep(sweep, overrides or ())
    with stages(transient=True) as stage:
        made = plan_sweep(config, db, calibrate=calibrate, progress=stage)
    if as_json:
        typer.echo(json.dumps(made.as_record(), indent=2))
        return
    console = get_console()
    console.print(_table(made.work, workers))
    for line in made.changes:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in _notes(made, workers):
        console.print(line, highlight=False)
    for name, reason in made.unresolvable.items():
        console.print(f"{name} cannot be resolved: {reason}", highlight=False, markup=False)


def _table(work: Sequence[Work], workers: int) -> Table:
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


def _notes(made: SweepPlan, workers: int) -> list[str]:
    lines = [f"{counted(made.jobs, 'job')}, {made.done:,} of them done."]
    if made.seconds is None:
        lines.append("To estimate the time, add --calibrate.")
    else:
        time = duration(made.seconds / workers)
        lines.append(f"About {time} on {counted(workers, 'worker')} like this machine.")
    if made.unresolved:
        settings = list(dict.fromkeys(made.unresolved))
        lines.append(
            f"{counted(made.later, 'job')} will be planned once results have resolved their parameters:"
        )
        lines += [f"  {setting}" for setting in settings[:_SETTINGS_SHOWN]]
        rest = len(settings) - _SETTINGS_SHOWN
        if rest > 0:
            lines.append(f"  and {rest:,} more")
    return lines
