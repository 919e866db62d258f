"""bat-harness run"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.commands import options
from harness.commands.console import Bars, ExitCode, Lines, growing_bars, program_name

if TYPE_CHECKING:
    from harness.api.running import RunOutcome
    from harness.config import SweepConfig
    from harness.store import Progress

_ERRORS_SHOWN = 3


def run(
    sweep: options.Sweep,
    db: options.Database = options.DEFAULT_DATABASE,
    overrides: options.Overrides = None,
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Ray to use: local starts one here, auto joins one running on this machine, "
            "ray://HOST:10001 connects to a cluster.",
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of workers; default: as many as fit.", min=1),
    ] = None,
    ship_code: Annotated[
        bool, typer.Option("--ship-code", help="Send this project's code to the cluster.")
    ] = False,
    replan: Annotated[
        bool,
        typer.Option(
            "--replan",
            help="Plan again even if the sweep is done, in case models or text of the hub changed, or to add "
            "jobs that are new in this version.",
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run a sweep. Run the same command again to resume it.

    Ctrl-C finishes the running jobs and stops; a second Ctrl-C stops at once. The
    exit code is 0 when the sweep is complete, 3 when jobs failed, and 130 when it
    was stopped.

    Examples:

        bat-harness run configs/demo.yaml
        bat-harness run configs/smoke.yaml --db smoke.db --set prefixes.count=8
    """
    from harness.api.sweeps import load_sweep

    config = load_sweep(sweep, overrides or ())
    again = partial(_command, sweep, overrides or (), address, workers, ship_code=ship_code)
    execute(config, db, again, address, workers, ship_code=ship_code, replan=replan, as_json=as_json)


def execute(
    config: SweepConfig,
    db: str,
    again: Callable[[str], str],
    address: str = "local",
    workers: int | None = None,
    *,
    ship_code: bool = False,
    replan: bool = False,
    as_json: bool = False,
) -> None:
    """Run a sweep, show its progress and what came of it, and exit with the code that says so.

    `again` gives the command that resumes it on a database.
    """
    from harness.api.running import run_sweep
    from harness.driver.stopping import Stop
    from harness.store.addresses import parse_address, shown

    stop = Stop()
    left = _TimeLeft()
    with growing_bars() as bars, stop.listening(lambda: bars.say(_STOPPING)):
        try:
            outcome = run_sweep(
                config,
                db,
                address=address,
                workers=workers,
                ship_code=ship_code,
                replan=replan,
                progress=partial(_show, bars, left),
                time_left=left.update,
                step=bars.begin,
                note=partial(bars.say, style="dim"),
                stop=stop,
            )
        except KeyboardInterrupt:
            bars.say(f"Stopped at once. Resume with: {again(shown(parse_address(db)))}")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        finally:
            bars.end_step()
    if as_json:
        typer.echo(json.dumps(outcome.as_record()))
    notes = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    for line in _sentences(outcome, again(outcome.database)) if outcome.log is None or not as_json else ():
        notes.print(line)
    if outcome.stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not outcome.complete:
        raise typer.Exit(ExitCode.UNFINISHED)


_NOTHING = "Nothing to do: every job of this sweep is done."
_REPLAN = " Use --replan to add jobs that are new in this version of bat-harness."
_STOPPING = "Stopping after the running jobs. Press Ctrl-C again to stop at once; finished jobs are saved."


def _command(
    sweep: Path, overrides: Sequence[str], address: str, workers: int | None, db: str, *, ship_code: bool
) -> str:
    """The command that resumes this run."""
    words = [program_name(), "run", str(sweep), "--db", db]
    for override in overrides:
        words += ["--set", override]
    if address != "local":
        words += ["--address", address]
    if workers is not None:
        words += ["--workers", str(workers)]
    return shlex.join([*words, "--ship-code"] if ship_code else words)


class _TimeLeft:
    """The latest estimate, in words."""

    text = ""

    def update(self, seconds: float, is_least: bool) -> None:
        from harness.status.time_left import say_time_left

        self.text = say_time_left(seconds, is_least)


def _show(bars: Bars | Lines, left: _TimeLeft, counts: list[Progress]) -> None:
    if any(progress.leased for progress in counts):
        bars.end_step()  # the workers are at work
    note = left.text if any(progress.open for progress in counts) else ""
    bars.show({progress.kind.value: (progress.done, progress.total) for progress in counts}, note)


def _sentences(outcome: RunOutcome, again: str) -> list[str]:
    from harness.status.failures import summarize_error
    from harness.words import counted

    report = shlex.join([program_name(), "report", outcome.name, "--db", outcome.database])
    if outcome.complete and outcome.done == 0:
        advice = _REPLAN if outcome.log is None else ""  # without a log, nothing was planned
        return [_NOTHING + advice, f"See the results with: {report}"]
    late = f", {counted(outcome.late, 'result')} arrived too late" if outcome.late else ""
    lines = [f"{counted(outcome.done, 'job')} done{late}."]
    if outcome.failed_attempts:
        lines.append(f"{counted(outcome.failed_attempts, 'attempt')} failed.")
    if outcome.stopped:
        lines.append(f"Stopped before the end. Resume with: {again}")
    if outcome.failed:
        from harness.driver.pool import is_invalid_input

        lines.append(f"{counted(outcome.failed, 'job')} failed after the last attempt:")
        lines += [f"  {summarize_error(failure.error or '')}" for failure in outcome.failures[:_ERRORS_SHOWN]]
        if all(is_invalid_input(failure.error or "") for failure in outcome.failures):
            lines.append("Their input is invalid, so retrying will not help. Change the sweep.")
        else:
            name, db = program_name(), outcome.database
            lines.append(f"See: {name} status --db {db}. Then: {name} retry --db {db}, and run again.")
    if outcome.blocked:
        lines.append(f"{counted(outcome.blocked, 'job')} blocked by them.")
    if outcome.unresolved and not outcome.stopped:
        settings = counted(len(outcome.unresolved), "setting")
        lines.append(f"{settings} unresolved, such as {outcome.unresolved[0]}.")
    for reason in outcome.unresolvable[:_ERRORS_SHOWN] if not outcome.stopped else ():
        lines.append(f"Cannot be resolved: {reason}")
    if outcome.complete:
        lines.append(f"The sweep is complete. See the results with: {report}")
    return lines
