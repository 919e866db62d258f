"""From `bat-harness run` to the first job: the phases, and what would follow one after the other."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from benchmarks.record import Figure, seconds_each

SWEEP = "configs/smoke.yaml"
RUNS = 3

# The two long parts, each alone in a new process.
_LIBRARIES = "import harness.driver.driver"
_WORKERS = """
from harness.config.schema import Resources
from harness.driver.cluster import connected, make_pool
with connected("local"):
    pool = make_pool(Resources(), 1)
    while not pool.vacancies():
        pool.wait(0.1)
"""


def measure() -> Iterator[Figure]:
    group = f"{SWEEP}, from the command to the first job"
    runs = []
    for _ in range(RUNS):
        phases = _phases()
        libraries, workers = seconds_each(_run_alone, (_LIBRARIES, _WORKERS))
        runs.append((phases, libraries, workers))
    total = statistics.median(sum(phases.values()) for phases, _, _ in runs)
    yield Figure(group, "whole", total, "s", f"median of {RUNS} runs, as the phases")
    for name in runs[0][0]:
        seconds = statistics.median(phases.get(name, 0.0) for phases, _, _ in runs)
        yield Figure(group, name, seconds, "s", f"{seconds / total:.0%}")
    for name, column in (("alone: load the libraries", 1), ("alone: start Ray and one worker", 2)):
        yield Figure(group, name, statistics.median(run[column] for run in runs), "s", "in a new process")
    share = statistics.median(sum(phases.values()) / (first + second) for phases, first, second in runs)
    name = "whole, relative to both parts one after the other"
    # No target: where the cores are busy, nothing is gained by doing both at once.
    yield Figure(group, name, share, "times")


def _run_alone(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def _phases() -> dict[str, float]:
    """How long each step of a start took, by the lines that it prints; the last one ends with a job."""
    program = str(Path(sys.executable).with_name("bat-harness"))
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", SWEEP, "--db", f"{folder}/results.db"]
        began, step = time.time(), "start the program"
        phases: dict[str, float] = {}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.endswith(" ...\n"):
                    now = time.time()
                    phases[step] = now - began
                    began, step = now, line.removesuffix(" ...\n").lower()
        [log] = Path(folder, "logs").glob("*.log")
        phases[step] = _first_job(log.read_text()) - began
    return phases


def _first_job(log: str) -> float:
    """When the first job was handed to a worker."""
    [found] = re.findall(r"^(\S+ \S+) INFO \w+ \w+ attempt 1 to ", log, re.MULTILINE)[:1]
    return datetime.strptime(found, "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp()
