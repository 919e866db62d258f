"""Checks of the machine: processors, memory, GPUs, solvers and caches."""

from __future__ import annotations

import os
import platform
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path

from bat.errors import BatError
from harness.doctor.findings import Check, Finding, Health, is_writable, nearest
from harness.words import counted

_LEAST_MEMORY = 2e9  # bytes: two copies of the demo model in float32
_LEAST_ROOM = 2e9  # bytes for the cache: 0.5 GB for the demo model, the rest for bases and features

_LARGEST_WEIGHTS = 6.2e9  # bytes: GPT-2 XL in float32
_USABLE_SHARE = 0.92  # of a GPU's memory; the rest is its driver's, and what falls between allocations

# The critical threshold of token 0 in the paper's example with three tokens.
_EXAMPLE_ANSWER = 0.4250489


def cores() -> Iterable[Finding]:
    """The cores this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    total = os.cpu_count() or usable
    text = f"{usable}" if usable == total else f"{usable} of {total} usable"
    yield Finding("cores", Health.OK, f"{text}, {platform.machine()}, {platform.system()}")


def memory() -> Iterable[Finding]:
    """Free memory."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        yield Finding("memory", Health.OK, "unknown on this system")
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

    from workers.kv_cache import cache_bytes

    batch = cache_bytes(layers=48, width=1600, rows=64, tokens=35 + 256)
    build = f"torch {torch.__version__}"
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            memory_size = f"{properties.total_memory / 1e9:.0f} GB"
            text = f"{properties.name}, {memory_size}, CUDA {torch.version.cuda}, {build}"
            yield Finding(f"GPU {index}", Health.OK, text)
            yield _room_for_batches(index, properties.total_memory, batch)
    elif shutil.which("nvidia-smi") or Path("/proc/driver/nvidia").exists():
        advice = "Install a CUDA build of torch: https://pytorch.org/get-started/locally"
        if torch.version.cuda is not None:
            advice = "Compare the driver's CUDA version (nvidia-smi) with torch's."
        yield Finding("GPU", Health.WARN, f"{build} cannot use the GPU of this machine", advice)
    else:
        yield Finding("GPU", Health.OK, f"none; models run on the CPU ({build})")


def _room_for_batches(index: int, memory_bytes: int, batch: int) -> Finding:
    """How many batches of the paper's largest model a GPU has memory for; a worker keeps two in flight."""
    room = int(max(0.0, memory_bytes * _USABLE_SHARE - _LARGEST_WEIGHTS) // batch)
    batches = counted(room, "batch", "batches")
    text = (
        f"room for {batches} of GPT-2 XL in flight: {_LARGEST_WEIGHTS / 1e9:.1f} GB of weights, "
        f"{batch / 1e9:.1f} GB of keys and values for 64 texts of 35 + 256 tokens"
    )
    if room >= 2:
        return Finding(f"GPU {index} memory", Health.OK, text)
    smaller = "Use smaller batches (generation.batch_size) or bfloat16 for models of this size."
    fewer = (
        "Set resources.batches_in_flight: 1 for such models; workers do so themselves when memory runs out."
    )
    return Finding(f"GPU {index} memory", Health.WARN, text, fewer if room == 1 else smaller)


def solver_check(name: str) -> Check:
    """The check of one solver."""

    def check() -> Iterable[Finding]:
        """Solve the paper's example with three tokens, whose answer is known."""
        import numpy as np

        import bat

        weight = np.array([[0.55], [0.71], [0.29]])
        basis = bat.Basis.from_matrix(weight, constraints=1)
        probs = bat.softmax(2.55 * weight.T)
        # The default solver is required; the others are for comparison.
        broken = Health.FAIL if name == "certified" else Health.WARN
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # another check covers a cache that is not writable
                interval = bat.critical_thresholds(basis, probs, [0], solver=name)
        except BatError as error:
            yield Finding(f"solver {name}", broken, str(error))
            return
        lower, upper = float(interval.lower[0]), float(interval.upper[0])
        text = f"critical threshold of the example in [{lower:.7f}, {upper:.7f}]"
        if max(abs(lower - _EXAMPLE_ANSWER), abs(upper - _EXAMPLE_ANSWER)) < 1e-6:
            yield Finding(f"solver {name}", Health.OK, text)
        else:
            advice = f"It should be {_EXAMPLE_ANSWER}. Reinstall numba, highspy and pulp."
            yield Finding(f"solver {name}", broken, text, advice)

    return check


def compiled_code() -> Iterable[Finding]:
    """Whether numba can cache compiled code."""
    from bat.solvers import _sweep

    folder = _sweep.sweep.stats.cache_path
    if folder is not None and is_writable(Path(folder)):
        yield Finding("compiled code", Health.OK, f"cached in {folder}")
    else:
        text = f"cannot be cached{f' in {folder}' if folder else ''}, so every start compiles again"
        advice = "Set NUMBA_CACHE_DIR to a writable folder."
        yield Finding("compiled code", Health.WARN, text, advice)


def cache() -> Iterable[Finding]:
    """Whether the cache folder is writable and has enough space."""
    from bat.basis import CACHE_VARIABLE
    from workers.assets import cache_folder

    folder = cache_folder()
    advice = f"Set {CACHE_VARIABLE} to another folder."
    if not is_writable(folder):
        yield Finding("cache", Health.FAIL, f"{folder} is not writable", advice)
        return
    free = shutil.disk_usage(nearest(folder)).free
    text = f"{folder}, {free / 1e9:,.0f} GB free"
    if free < _LEAST_ROOM:
        yield Finding("cache", Health.WARN, text, f"Free some space. {advice}")
    else:
        yield Finding("cache", Health.OK, text)
