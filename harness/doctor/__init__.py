"""Check that this machine can run sweeps: what works, what is missing, and how to fix it.

findings.py       the result of a check
software.py       Python, libraries, Ray
machine.py        cores, memory, GPUs, solvers, caches
surroundings.py   assets, the hub, the database

Each check imports the libraries it needs, so that a broken library becomes a finding.
"""

from __future__ import annotations

from collections.abc import Callable

from bat.errors import BatError
from bat.solvers import SOLVER_NAMES
from harness.doctor import machine, software, surroundings
from harness.doctor.findings import Check, Finding, Health

__all__ = ["Finding", "Health", "checks", "examine"]


def examine(
    address: str, *, deep: bool = False, report: Callable[[int], None] | None = None
) -> list[Finding]:
    """Run all checks, including the database at `address`; `report` is called with the number done."""
    findings: list[Finding] = []
    for number, (name, check) in enumerate(checks(address, deep=deep).items(), start=1):
        try:
            findings += check()
        except Exception as error:
            text = str(error) if isinstance(error, BatError) else f"{type(error).__name__}: {error}"
            findings.append(Finding(name, Health.FAIL, " ".join(text.split())))
        if report is not None:
            report(number)
    return findings


def checks(address: str, *, deep: bool = False) -> dict[str, Check]:
    """All checks by name, in the order they are shown."""
    return {
        "Python": software.python,
        "libraries": software.libraries,
        "extras": software.optional_libraries,
        "vLLM": software.vllm,
        "cores": machine.cores,
        "memory": machine.memory,
        "GPU": machine.gpus,
        **{f"solver {name}": machine.solver_check(name) for name in SOLVER_NAMES},
        "compiled code": machine.compiled_code,
        "cache": machine.cache,
        "Ray": software.ray_starts if deep else software.ray_is_installed,
        "database": lambda: surroundings.database(address),
        "assets": surroundings.assets,
        "hub": surroundings.hub,
    }
