"""From `bat-harness run` to the first job: where the time goes, by phase and by process.

Wall time depends on what else the machine does. Processor time hardly does, so the target is set for that, in
units of a fixed piece of work on the same machine: importing the three large libraries once.
"""

from __future__ import annotations

import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.record import Figure
from workers.assets import DEMO_MODEL, NEWS_ARTICLES

SWEEPS = ("configs/smoke.yaml", "configs/demo.yaml")  # two fake models; the demo model
RUNS = 3

_LIBRARIES = "import ray, torch; from transformers import LlamaForCausalLM"
# Half of what it took when the driver imported torch and Ray started everything that it can: 3.9 times.
_MOST_TIMES = 1.9

_HANDED_OUT = r"^(\S+ \S+) INFO \w+ \w+ attempt 1 to "
_RESULT = r"^(\S+ \S+) INFO \w+ \w+ done"
_SECONDS_BETWEEN_LOOKS = 0.1
_MOST_SECONDS = 600.0


@dataclass
class Moment:
    """What had been spent when something happened for the first time."""

    wall: float  # seconds since the command was given
    processor: Counter[str]  # seconds by kind of process


@dataclass
class Start:
    """One start of a sweep."""

    phases: dict[str, float] = field(default_factory=dict)  # wall time by printed step
    first_job: Moment | None = None  # handed to a worker
    first_result: Moment | None = None  # of a fake model, whose jobs take no time: all is loaded


def measure() -> Iterator[Figure]:
    if DEMO_MODEL.find() is None or NEWS_ARTICLES.find() is None:
        raise RuntimeError("the benchmark of starting needs the demo model and corpus. Run: make setup")
    for sweep in SWEEPS:
        starts, libraries = [], []
        for _ in range(RUNS):
            starts.append(_start(sweep))
            libraries.append(_processor_seconds([sys.executable, "-c", _LIBRARIES]))
        yield from _figures(sweep, starts, libraries)


def _figures(sweep: str, starts: list[Start], libraries: list[float]) -> Iterator[Figure]:
    group = f"{sweep}, from the command to the first job"
    first_jobs = [start.first_job for start in starts if start.first_job is not None]
    results = [start.first_result for start in starts if start.first_result is not None]
    yield Figure(group, "to the first job", _median(each.wall for each in first_jobs), "s", _OF_RUNS)
    for name in starts[0].phases:
        yield Figure(group, f"  {name}", _median(start.phases.get(name, 0.0) for start in starts), "s")
    if results:
        yield Figure(group, "to the first result", _median(each.wall for each in results), "s", _OF_RUNS)
    for name, moments in (("first job", first_jobs), ("first result", results))[: 2 if results else 1]:
        total = _median(each.processor.total() for each in moments)
        yield Figure(group, f"processor time to the {name}", total, "s", "all processes")
        for kind in ("driver", "Ray", "workers"):
            yield Figure(group, f"  {kind}", _median(each.processor[kind] for each in moments), "s")
    yield Figure(group, "processor time of importing Ray, torch and Llama", _median(libraries), "s")
    times = _median(
        moment.processor.total() / seconds for moment, seconds in zip(first_jobs, libraries, strict=True)
    )
    name = "processor time to the first job, relative to that"
    if sweep == SWEEPS[0]:
        yield Figure(group, name, times, "times", "", f"at most {_MOST_TIMES}", times <= _MOST_TIMES)
    else:
        yield Figure(group, name, times, "times")


_OF_RUNS = f"median of {RUNS} runs"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _processor_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _start(sweep: str) -> Start:
    """Run a sweep until its first job, and if jobs take no time, until its first result."""
    program = str(Path(sys.executable).with_name("bat-harness"))
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", sweep, "--db", f"{folder}/results.db"]
        began = time.time()
        start = Start()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            reading = threading.Thread(target=_read_phases, args=(process.stderr, began, start.phases))
            reading.start()
            try:
                _watch(process, Path(folder, "logs"), began, start, until_result=sweep == SWEEPS[0])
            finally:
                for _ in range(2):  # the second one stops at once
                    process.send_signal(signal.SIGINT)
                    time.sleep(0.5)
                process.wait(60)
                reading.join()
    if start.first_job is None:
        raise RuntimeError(f"{sweep} had not begun a job within {_MOST_SECONDS:g} seconds")
    last = list(start.phases)[-1]  # it ends with the first job, not with the run
    start.phases[last] = start.first_job.wall - sum(start.phases[name] for name in list(start.phases)[:-1])
    return start


def _watch(
    process: subprocess.Popen[str], logs: Path, began: float, start: Start, *, until_result: bool
) -> None:
    spent: dict[int, tuple[str, float]] = {}
    while time.time() - began < _MOST_SECONDS and process.poll() is None:
        _look(process.pid, spent)
        log = "".join(file.read_text() for file in logs.glob("*.log"))
        if start.first_job is None:
            start.first_job = _moment(_HANDED_OUT, log, began, spent)
        if until_result:
            start.first_result = _moment(_RESULT, log, began, spent)
        if (start.first_result if until_result else start.first_job) is not None:
            return
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _moment(pattern: str, log: str, began: float, spent: dict[int, tuple[str, float]]) -> Moment | None:
    found = re.search(pattern, log, re.MULTILINE)
    if found is None:
        return None
    at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp()
    processor: Counter[str] = Counter()
    for kind, seconds in spent.values():
        processor[kind] += seconds  # type: ignore[assignment]
    return Moment(at - began, processor)


def _look(top: int, spent: dict[int, tuple[str, float]]) -> None:
    """Note the processor time of each process below one, itself included; of dead ones, what they had."""
    import ray  # noqa: F401  it brings psutil
    import psutil  # isort: skip

    try:
        family = [psutil.Process(top), *psutil.Process(top).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            times = process.cpu_times()
            kind = "driver" if process.pid == top else _kind(process.cmdline())
            spent[process.pid] = (kind, times.user + times.system)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue


def _kind(command: list[str]) -> str:
    # Before and after it has named itself.
    titles = ("ray::Executor", "ray::IDLE")
    worker = any(part.endswith("default_worker.py") or part.startswith(titles) for part in command)
    return "workers" if worker else "Ray"


def _read_phases(stream: Any, began: float, phases: dict[str, float]) -> None:
    """How long each step took, by the lines that a start prints."""
    step = "start the program"
    for line in stream:
        if line.endswith(" ...\n"):
            now = time.time()
            phases[step] = now - began
            began, step = now, line.removesuffix(" ...\n").lower()
    phases[step] = time.time() - began
