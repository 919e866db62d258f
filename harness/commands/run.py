"""bat-harness run"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.commands import options
from harness.commands.console import Bars, ExitCode, Lines, growing_bars, program_name

if TYPE_CHECKING:
    from harness.config import SweepConfig
    from harness.driver.driver import Summary
    from harness.driver.stopping import Stop
    from harness.store import FailedJob, Progress, Store

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
            "--replan", help="Plan again even if the sweep is done, in case models or text changed."
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
    from harness.config import load_config
    from harness.planning.finished import is_finished, stored_identity
    from harness.store import RetryPolicy, open_store
    from harness.versions import library_versions

    config = load_config(sweep, overrides or ()).config
    notes = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    retry = RetryPolicy(max_failures=config.resources.max_attempts)
    with open_store(db, retry=retry) as store:
        run_id = store.add_run(config.name, stored_identity(config), library_versions())
        if not replan and is_finished(store, run_id):
            if as_json:
                typer.echo(json.dumps({"run": run_id, "done": 0, "complete": True}))
            notes.print(_NOTHING)
            return
        from harness.driver.log import log_to_file
        from harness.driver.stopping import Stop

        log = log_to_file(store.address, config.name)
        notes.print(f"Run {config.name!r} in {store.address}, log in {log}", style="dim")
        again = _command(sweep, store.address, overrides or (), address, workers, ship_code=ship_code)
        stop = Stop()
        with growing_bars() as bars, stop.listening(lambda: bars.say(_STOPPING)):
            try:
                summary = _drive(config, store, run_id, address, workers, bars, stop, ship_code=ship_code)
            except KeyboardInterrupt:
                bars.say(f"Stopped at once. Resume with: {again}")
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            finally:
                bars.end_step()
        failures = store.failed(run_id)
    if as_json:
        record = asdict(summary)
        record["refused"] = record.pop("unresolvable")  # the published name of the key
        typer.echo(json.dumps({"run": run_id, **record, "complete": summary.complete}))
    else:
        for line in _sentences(summary, failures, again, store.address):
            notes.print(line)
    if summary.stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not summary.complete:
        raise typer.Exit(ExitCode.UNFINISHED)


def _drive(
    config: SweepConfig,
    store: Store,
    run_id: int,
    address: str,
    workers: int | None,
    bars: Bars | Lines,
    stop: Stop,
    *,
    ship_code: bool,
) -> Summary:
    """Run the jobs that are left and show progress. On return, workers and Ray are released."""
    bars.begin("Loading libraries")
    # Imported late: these need torch and Ray, and a finished sweep does not.
    from harness.driver.cluster import connected, make_pool
    from harness.driver.driver import Driver
    from harness.driver.pool import Pool
    from harness.planning.materials import Materials

    def note(text: str) -> None:
        bars.say(text, style="dim")

    with ExitStack() as connection:

        def start_pool() -> Pool:
            # Started late: a finished sweep needs no workers.
            bars.begin("Starting Ray" if address == "local" else f"Connecting to {address}")
            connection.enter_context(connected(address, ship_code=ship_code))
            pool = make_pool(config.resources, workers, note)
            bars.begin("Starting workers")
            return pool

        bars.begin("Planning")
        report = partial(_show, bars)
        materials = Materials(config)
        driver = Driver(store, run_id, materials, start_pool, report=report, stop=stop, note=note)
        return driver.run()


_NOTHING = "Nothing to do: every job of this sweep is done."
_STOPPING = "Stopping after the running jobs. Press Ctrl-C again to stop at once; finished jobs are saved."


def _command(
    sweep: Path, db: str, overrides: Sequence[str], address: str, workers: int | None, *, ship_code: bool
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


def _show(bars: Bars | Lines, counts: list[Progress]) -> None:
    if any(progress.leased for progress in counts):
        bars.end_step()  # the workers are at work
    bars.show({progress.kind.value: (progress.done, progress.total) for progress in counts})


def _sentences(summary: Summary, failures: Sequence[FailedJob], again: str, db: str) -> list[str]:
    from harness.driver.pool import is_invalid_input
    from harness.status.failures import summarize_error
    from harness.words import counted

    if summary.complete and summary.done == 0:
        return [_NOTHING]
    late = f", {counted(summary.late, 'result')} arrived too late" if summary.late else ""
    lines = [f"{counted(summary.done, 'job')} done{late}."]
    if summary.failed_attempts:
        lines.append(f"{counted(summary.failed_attempts, 'attempt')} failed.")
    if summary.stopped:
        lines.append(f"Stopped before the end. Resume with: {again}")
    if summary.failed:
        lines.append(f"{counted(summary.failed, 'job')} failed after the last attempt:")
        lines += [f"  {summarize_error(failure.error or '')}" for failure in failures[:_ERRORS_SHOWN]]
        if all(is_invalid_input(failure.error or "") for failure in failures):
            lines.append("Their input is invalid, so retrying will not help. Change the sweep.")
        else:
            name = program_name()
            lines.append(f"See: {name} status --db {db}. Then: {name} retry --db {db}, and run again.")
    if summary.blocked:
        lines.append(f"{counted(summary.blocked, 'job')} blocked by them.")
    if summary.unresolved and not summary.stopped:
        settings = counted(len(summary.unresolved), "setting")
        lines.append(f"{settings} unresolved, such as {summary.unresolved[0]}.")
    for reason in summary.unresolvable[:_ERRORS_SHOWN] if not summary.stopped else ():
        lines.append(f"Cannot be resolved: {reason}")
    if summary.complete:
        lines.append("The sweep is complete.")
    return lines
