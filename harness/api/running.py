"""Running a sweep: Ray started or joined, progress by callbacks, and a summary at the end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bat.compiled import NOTE, EntryPoint, is_compiled
from harness.api.sweeps import Sweep, load_sweep
from harness.config import SweepConfig
from harness.driver.log import log_to_file
from harness.driver.stopping import Stop
from harness.planning.finished import SweepStart, find_start, is_finished
from harness.status.run_status import estimate_time_left
from harness.store import FailedJob, Progress, RetryPolicy, Run, Store, StoreLostError, open_store
from harness.versions import library_versions
from workers.vllm_plugin.installation import check_options, get_version

if TYPE_CHECKING:  # imported when there is something to run
    from harness.driver.driver import Summary
    from harness.driver.pool import Pool
    from harness.planning.materials import Materials

_SECONDS_BETWEEN_ESTIMATES = 5.0

_STOPPING = "Stopping after the running jobs. Interrupt again to stop at once; finished jobs are saved."


@dataclass(frozen=True)
class RunOutcome:
    """What one call of `run_sweep` did, and what is left."""

    run: int  # number of the run
    name: str
    database: str  # its address
    done: int = 0  # jobs done by this call
    late: int = 0  # results that arrived after their lease had expired, and were dropped
    failed_attempts: int = 0
    stopped: bool = False  # before the end, on request
    failed: int = 0  # jobs that failed after their last attempt
    blocked: int = 0  # jobs that need a failed job
    unresolved: tuple[str, ...] = ()  # parameters that wait for results
    unresolvable: tuple[str, ...] = ()  # parameters that results cannot decide, and why
    failures: tuple[FailedJob, ...] = ()
    log: Path | None = None  # None if there was nothing to do

    @property
    def complete(self) -> bool:
        """Whether every job of the sweep is done."""
        return not (self.stopped or self.failed or self.blocked or self.unresolved or self.unresolvable)

    def as_record(self) -> dict[str, Any]:
        """Plain data, to be written as JSON."""
        if self.log is None:
            return {"run": self.run, "done": 0, "complete": True}
        counts = ("run", "done", "late", "failed_attempts", "stopped", "failed", "blocked")
        return {
            **{name: getattr(self, name) for name in counts},
            "unresolved": list(self.unresolved),
            "unresolvable": list(self.unresolvable),
            "complete": self.complete,
        }


def run_sweep(
    sweep: Sweep,
    db: str | os.PathLike[str],
    *,
    address: str = "local",
    workers: int | None = None,
    ship_code: bool = False,
    replan: bool = False,
    progress: Callable[[list[Progress]], None] | None = None,
    time_left: Callable[[float, bool], None] | None = None,
    step: Callable[[str], None] | None = None,
    note: Callable[[str], None] | None = None,
    stop: Stop | None = None,
) -> RunOutcome:
    """Run a sweep; call it again with the same arguments to resume. Returns when nothing is left to do.

    sweep      a file, a mapping, or what `load_sweep` returned
    db         a URL, or the path of an SQLite file, which is created if needed
    address    Ray to use: "local" starts one, "auto" joins one running on this machine, "ray://HOST:10001"
               connects to a cluster; if this process is connected to Ray already, that connection is used
    workers    number of workers; default: as many as fit
    ship_code  send this project's code to the cluster
    replan     plan again even if the sweep is done, in case models or text of the hub changed, or to add what
               a newer version of bat-harness computes; changes to local files are always noticed, and start a
               new run
    progress   called about twice a second with the counts of each kind of job
    time_left  called every few seconds with the estimated seconds left, and whether it will be more, because
               no job of some kind, model or number of constraints was ever done
    step       called with the name of each step before the first job starts
    note       called with sentences such as how a parameter was resolved
    stop       `stop.request()`, from any thread, finishes the running jobs and returns

    Without `stop`, an interrupt (Ctrl-C) in the main thread does the same, and a second one raises
    KeyboardInterrupt at once. Finished jobs are saved in either case.
    """
    config = load_sweep(sweep)
    say = note or _ignore
    retry = RetryPolicy(max_failures=config.resources.max_attempts)
    with open_store(db, retry=retry) as store, ExitStack() as listening:
        start = find_start(store, config)
        for sentence in start.missing:
            say(sentence)
        if start.run is not None and not replan and is_finished(store, start.run.id):
            if start.later:
                say(f"The files of this sweep are those of {start.run.label}, which is now the latest run.")
            _keep_up(store, start, start.run)
            return RunOutcome(start.run.id, config.name, store.address)
        _check_engine(config)
        run_id = store.add_run(config.name, start.identity, library_versions(), start.inputs)
        # A sweep that fails before anything is planned, by a wrong model name for one, leaves no trace.
        listening.callback(_forget_if_empty, store, run_id)
        log = log_to_file(store.address, config.name)
        for sentence in start.changes:
            say(sentence)
        if start.earlier is not None and start.changes:
            say(
                f"Starting a new run, {config.name}#{run_id}, which shares the jobs that did not change. "
                f"{start.earlier.label} keeps its results."
            )
        say(f"Run {config.name!r} in {store.address}, log in {log}")
        if address == "local" and not is_compiled(*_uses_of_solver(config)):
            say(NOTE)
        if stop is None:
            stop = listening.enter_context(Stop().listening(lambda: say(_STOPPING)))
        cluster = _Cluster(address, workers, ship_code=ship_code)
        report = _Report(store, run_id, progress, time_left)
        summary = _drive(config, store, run_id, cluster, stop, report, step or _ignore, say)
        failures = tuple(store.failed(run_id))
        counts = asdict(summary)
        return RunOutcome(
            run=run_id,
            name=config.name,
            database=store.address,
            unresolved=tuple(counts.pop("unresolved")),
            unresolvable=tuple(counts.pop("unresolvable")),
            failures=failures,
            log=log,
            **counts,
        )


def _keep_up(store: Store, start: SweepStart, run: Run) -> None:
    """Record what was seen of the files of a finished run, and that it is the one that is current now."""
    if start.inputs != run.inputs and not start.missing:
        store.record_inputs(run.id, start.inputs)
    if start.later:
        store.touch_run(run.id)


@dataclass
class _Report:
    """Passes on what a driver reports, with the time left now and then."""

    store: Store
    run_id: int
    progress: Callable[[list[Progress]], None] | None
    time_left: Callable[[float, bool], None] | None
    next_estimate_at: float = -math.inf

    def __call__(self, counts: list[Progress]) -> None:
        now = time.monotonic()
        if self.time_left is not None and now >= self.next_estimate_at:
            seconds, is_least = estimate_time_left(self.store, self.store.get_run(self.run_id))
            if seconds is not None:
                self.time_left(seconds, is_least)
            took = time.monotonic() - now  # longer for many jobs, which need fewer estimates
            self.next_estimate_at = now + max(_SECONDS_BETWEEN_ESTIMATES, 50 * took)
        if self.progress is not None:
            self.progress(counts)


@dataclass(frozen=True)
class _Cluster:
    address: str
    workers: int | None
    ship_code: bool


def _drive(
    config: SweepConfig,
    store: Store,
    run_id: int,
    cluster: _Cluster,
    stop: Stop,
    report: Callable[[list[Progress]], None],
    step: Callable[[str], None],
    note: Callable[[str], None],
) -> Summary:
    """Run the jobs that are left. On return, workers and Ray are released."""
    step("Loading Ray")
    # Imported late: a finished sweep needs none of this.
    from harness.driver.cluster import connected, make_pool

    with ExitStack() as connection, ThreadPoolExecutor(1, "prepare") as thread:

        def start_pool() -> Pool:
            local = cluster.address == "local"
            step("Starting Ray" if local else f"Connecting to {cluster.address}")
            connection.enter_context(connected(cluster.address, ship_code=cluster.ship_code))
            pool = make_pool(config.resources, cluster.workers, note)
            connection.callback(pool.close)
            return pool

        # Starting takes most of its time in other processes: Ray's servers, and workers that import torch.
        # Meanwhile, this one reads what the plan is made from. Ray is started by the main thread: its
        # processes end with the thread that started them.
        preparing = thread.submit(_prepare, config)
        pool = start_pool() if _has_open_jobs(store, run_id) else None
        step("Planning")
        materials = preparing.result()
        from harness.driver.driver import Driver

        def get_pool() -> Pool:
            started = pool or start_pool()
            step("Waiting for workers")
            return started

        driver = Driver(store, run_id, materials, get_pool, report=report, stop=stop, note=note)
        return driver.run()


def _prepare(config: SweepConfig) -> Materials:
    """Import the driver, and read the models' cards and the text of a sweep."""
    import harness.driver.driver  # noqa: F401
    from harness.planning.materials import Materials

    materials = Materials(config)
    materials.prepare()
    return materials


def _check_engine(config: SweepConfig) -> None:
    """Say that vLLM is needed and missing, or has no such option, before Ray starts."""
    if config.generation.engine == "vllm" and any(stage.kind == "generate" for stage in config.stages):
        get_version()
        check_options(config.generation.engine_options or ())


def _uses_of_solver(config: SweepConfig) -> list[EntryPoint]:
    """What workers will use of the solver."""
    measures = any(stage.kind == "measure" for stage in config.stages)
    methods = [method for stage in config.stages for method in config.methods_of(stage)]
    samples = any(method.rule_class.basis_aware for method in methods)
    return [EntryPoint.BATCH] * measures + [EntryPoint.STEP] * samples


def _forget_if_empty(store: Store, run_id: int) -> None:
    with suppress(StoreLostError):  # why the sweep ended says more
        store.forget_empty_run(run_id)


def _has_open_jobs(store: Store, run_id: int) -> bool:
    """Whether a run certainly needs workers: it is new, or has jobs that are not done and not failed."""
    counts = store.progress(run_id)
    return not counts or any(kind.open for kind in counts)


def _ignore(text: str) -> None:
    pass
