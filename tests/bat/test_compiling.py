"""Compiled code is not kept beyond the sources that it was made of."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import bat
from bat import _compiling, compiled

CALLER = "from bat._compiling import njit\nfrom bat.called import called\n\n\n@njit(cache=True)\n"
CALLED = "from bat._compiling import njit\n\n\n@njit(cache=True)\ndef called():\n    return {}\n"
RUN = "from bat import caller; print(caller.caller(), sum(caller.caller.stats.cache_hits.values()))"
OTHER_NUMBA = "import numba; numba.__version__ = '99.0'; "


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the name bat, found before the installed one, with a function that calls another."""
    package = tmp_path / "bat"
    package.mkdir()
    (package / "__init__.py").touch()
    for module in (_compiling, compiled):
        shutil.copy(str(module.__file__), package)
    (package / "caller.py").write_text(CALLER + "def caller():\n    return 10 * called()\n", encoding="utf-8")
    return package


def run(package: Path, answer: int, script: str = RUN) -> list[str]:
    """What a new process computes, and how much of it was in the cache."""
    (package / "called.py").write_text(CALLED.format(answer), encoding="utf-8")
    command = [sys.executable, "-B", "-c", script]  # no bytecode, whose stamp is in whole seconds
    done = subprocess.run(command, cwd=package.parent, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_an_edited_function_is_compiled_into_its_callers_again(package: Path) -> None:
    assert run(package, 1) == ["10", "0"]
    assert run(package, 1) == ["10", "1"]  # kept
    assert run(package, 2) == ["20", "0"]
    [index] = package.glob("__pycache__/caller.caller-*.nbi")
    assert compiled.source_stamp(package).encode() in index.read_bytes()  # as bat.compiled looks for it


def test_two_versions_of_numba_keep_their_code_side_by_side(package: Path) -> None:
    assert run(package, 1) == ["10", "0"]
    assert run(package, 1, OTHER_NUMBA + RUN) == ["10", "0"]
    assert run(package, 1) == ["10", "1"]
    assert run(package, 1, OTHER_NUMBA + RUN) == ["10", "1"]


def test_every_compiled_function_of_the_package_carries_the_stamp() -> None:
    stamp = compiled.source_stamp(Path(bat.__file__).parent)
    names = [module.name for module in pkgutil.walk_packages(bat.__path__, "bat.")]
    kernels = {
        f"{name}.{found.py_func.__name__}": found
        for name in names
        if name.rpartition(".")[2].startswith("_")
        for found in vars(importlib.import_module(name)).values()
        if isinstance(found, Dispatcher) and found.py_func.__module__ == name
    }
    assert len(kernels) > 50
    assert {kernel._cache._cache_file._source_stamp for kernel in kernels.values()} == {stamp}
