"""Compiled code is not kept beyond the sources that it was made of."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import bat
from bat import _compiling, compiled

IMPORT = "from compiled_package._compiling import njit\n"
CALLER = IMPORT + "from compiled_package.called import called\n\n\n@njit(cache=True)\n"
CALLED = IMPORT + "\n\n@njit(cache=True)\ndef called():\n    return {}\n"
RUN = """
from compiled_package import caller
print(caller.caller(), sum(caller.caller.stats.cache_hits.values()))
"""


def test_an_edited_function_is_compiled_into_its_callers_again(tmp_path: Path) -> None:
    package = tmp_path / "compiled_package"
    package.mkdir()
    (package / "__init__.py").touch()
    for module in (_compiling, compiled):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        copy = source.replace("from bat.", "from compiled_package.")
        (package / Path(str(module.__file__)).name).write_text(copy, encoding="utf-8")
    (package / "caller.py").write_text(CALLER + "def caller():\n    return 10 * called()\n", encoding="utf-8")

    def run(answer: int) -> list[str]:
        (package / "called.py").write_text(CALLED.format(answer), encoding="utf-8")
        command = [sys.executable, "-c", RUN]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.split()

    assert run(1) == ["10", "0"]
    assert run(1) == ["10", "1"]  # kept
    assert run(2) == ["20", "0"]


def test_every_compiled_function_of_the_package_carries_the_stamp() -> None:
    stamp = compiled.source_stamp()
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
