"""Checks of the machine: what it has to compute with, and whether that works."""

from __future__ import annotations

import os
import platform
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path

from bat.errors import BatError
from harness.doctor.findings import Check, Finding, Health, is_writable, nearest

_LEAST_MEMORY = 2e9  # bytes: the demo model in float32, twice
_LEAST_ROOM = 2e9  # bytes of the cache: the demo model is 0.5 GB, bases and features come to it

# The critical threshold of token 0 in the paper's example of three tokens.
_EXAMPLE_ANSWER = 0.4250489


def cores() -> Iterable[Finding]:
    """The cores this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    whole = os.cpu_count() or usable
    text = f"{usable}" if usable == whole else f"{usable} of {whole} may be used"
    yield Finding("cores", Health.OK, f"{text}, {platform.machine()}, {platform.system()}")


def memory() -> Iterable[Finding]:
    """The memory that is free."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        yield Finding("memory", Health.OK, "not known on this system")
        return
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    free, total = sizes["MemAvailable"], sizes["MemTotal"]
    text = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"
    if free < _LEAST_MEMORY:
        yield Finding("memory", Health.WARN, text, "Close other programs, or use smaller models and batches.")
    else:
        yield Finding("memory", Health.OK, text)


def gpus() -> Iterable[Finding]:
    """The GPUs that torch can use."""
    import torch

    build = f"torch {torch.__version__}"
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(index)
            text = f"{found.name}, {found.total_memory / 1e9:.0f} GB, CUDA {torch.version.cuda}, {build}"
            yield Finding(f"GPU {index}", Health.OK, text)
    elif shutil.which("nvidia-smi") or Path("/proc/driver/nvidia").exists():
        advice = "Install a CUDA build of torch: https://pytorch.org/get-started/locally"
        if torch.version.cuda is not None:
            advice = "Compare the driver's CUDA version (nvidia-smi) with torch's."
        yield Finding("GPU", Health.WARN, f"there is one that {build} cannot use", advice)
    else:
        yield Finding("GPU", Health.OK, f"none; models run on the cores ({build})")


def solver_check(name: str) -> Check:
    """The check of one solver."""

    def check() -> Iterable[Finding]:
        """Solve the paper's example of three tokens, whose answer is known."""
        import numpy as np

        import bat

        weight = np.array([[0.55], [0.71], [0.29]])
        basis = bat.Basis.from_matrix(weight, constraints=1)
        probs = bat.softmax(2.55 * weight.T)
        # The default is needed; the others are there to compare with.
        broken = Health.FAIL if name == "certified" else Health.WARN
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a cache that cannot be written there is another check
                found = bat.critical_thresholds(basis, probs, [0], solver=name)
        except BatError as error:
            yield Finding(f"solver {name}", broken, str(error))
            return
        lower, upper = float(found.lower[0]), float(found.upper[0])
        text = f"the critical threshold of the example lies in [{lower:.7f}, {upper:.7f}]"
        if max(abs(lower - _EXAMPLE_ANSWER), abs(upper - _EXAMPLE_ANSWER)) < 1e-6:
            yield Finding(f"solver {name}", Health.OK, text)
        else:
            advice = f"It should be {_EXAMPLE_ANSWER}. Reinstall numba, highspy and pulp."
            yield Finding(f"solver {name}", broken, text, advice)

    return check


def compiled_code() -> Iterable[Finding]:
    """Whether what numba compiles is kept for the next start."""
    from bat.solvers import _sweep

    folder = _sweep.sweep.stats.cache_path
    if folder is not None and is_writable(Path(folder)):
        yield Finding("compiled code", Health.OK, f"kept in {folder}")
    else:
        text = f"cannot be kept{f' in {folder}' if folder else ''}, so every start compiles anew"
        advice = "Name a folder that can be written in NUMBA_CACHE_DIR."
        yield Finding("compiled code", Health.WARN, text, advice)


def cache() -> Iterable[Finding]:
    """Whether the cache folder can be written, and has room."""
    from bat.basis import CACHE_VARIABLE
    from workers.assets import cache_folder

    folder = cache_folder()
    advice = f"Name another folder in {CACHE_VARIABLE}."
    if not is_writable(folder):
        yield Finding("cache", Health.FAIL, f"{folder} cannot be written", advice)
        return
    free = shutil.disk_usage(nearest(folder)).free
    text = f"{folder}, {free / 1e9:,.0f} GB free"
    if free < _LEAST_ROOM:
        yield Finding("cache", Health.WARN, text, f"Make room. {advice}")
    else:
        yield Finding("cache", Health.OK, text)
