"""Work on whole contexts: exact candidate sets, preparing a basis, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import bat
from benchmarks.contexts import Contexts
from benchmarks.programs import THRESHOLDS
from benchmarks.record import Figure

CONTEXTS = 12

# Peak memory and the number of threads belong to a process, so each probe runs in its own.
_MEMORY_PROBE = """
import json, resource
from benchmarks.contexts import load_contexts
import bat
contexts = load_contexts(64)
bat.critical_thresholds(contexts.basis(20), contexts.probs, contexts.tokens, threads=2)
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""
_BASIS_PROBE = """
import json
from bat.basis import Basis
from benchmarks.contexts import load_contexts
from benchmarks.record import best_of
weight = load_contexts().weight
print(json.dumps(best_of(lambda: Basis.from_matrix(weight, 20), 3)))
"""


def _probe(script: str, threads: int) -> Any:
    """The output of a script that runs in a separate process."""
    environment = {**os.environ, "BENCHMARK_THREADS": str(threads)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(run.stdout)


def measure(contexts: Contexts) -> Iterator[Figure]:
    basis = contexts.basis(20)
    for tau in THRESHOLDS:
        sets = [
            bat.candidate_set(basis, contexts.probs[q], tau, threads=1) for q in range(0, 4 * CONTEXTS, 4)
        ]
        seconds = float(np.median([candidates.effort.seconds for candidates in sets]))
        group = "exact candidate set of a context"
        slowest = max(candidates.effort.seconds for candidates in sets)
        yield Figure(
            group,
            f"threshold {tau}",
            seconds,
            "s",
            f"slowest of {len(sets)}: {slowest:.3g} s",
            "< 1 s",
            seconds < 1.0,
        )
        programs = float(np.median([candidates.programs for candidates in sets]))
        sizes = sorted(candidates.accepted.size for candidates in sets)
        yield Figure(group, f"programs at {tau}", programs, "", f"sets of {sizes[0]} to {sizes[-1]} tokens")
        undecided = sum(candidates.undecided.size for candidates in sets)
        yield Figure(group, f"undecided at {tau}", undecided, "tokens", "", "0", undecided == 0)

    prepare = float(_probe(_BASIS_PROBE, 2))
    yield Figure(
        "basis", "prepare 49,152 x 576, c = 20", prepare, "s", "no cache, two threads", "< 1 s", prepare < 1.0
    )
    peak = float(_probe(_MEMORY_PROBE, 1))
    yield Figure(
        "memory", "peak resident, batch of 64, c = 20", peak / 1024, "MiB", "whole process, two rows at once"
    )
