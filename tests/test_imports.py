"""Imports point down: harness -> workers -> bat, and each floor brings in only its own libraries."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BAT = {"bat", "numpy", "scipy", "torch", "numba", "highspy", "pulp"}
WORKERS = BAT | {
    "workers",
    "accelerate",
    "datasets",
    "filelock",
    "gguf",
    "huggingface_hub",
    "pandas",
    "pyarrow",
    "ray",
    "safetensors",
    "tokenizers",
    "transformers",
}
# The top floor may import anything but the tests, so only the lower two have a list.
ALLOWED = {"bat": BAT, "workers": WORKERS}
# It imports what registries and users name. What our registries name is checked where it is written.
PLUGIN_LOADER = ROOT / "bat/plugins.py"
REFERENCE = re.compile(r"\w+(\.\w+)+:\w+(\.\w+)*")


DYNAMIC = "<dynamic import>"


def imported_packages(source: str) -> set[str]:
    """Return the top-level names a module imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                names.update(alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.partition(".")[0])
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="__import__" | "import_module")
            ):
                names.add(_called_for(node.args[0] if node.args else None))
            case ast.Constant(value=str(text)) if REFERENCE.fullmatch(text):
                names.add(text.partition(".")[0])  # an entry of a registry, imported by the plug-in loader
    return names


def _called_for(argument: ast.expr | None) -> str:
    """The top-level name of what ``import_module`` is called with."""
    match argument:
        case ast.Constant(value=str(name)):
            return name.partition(".")[0]
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]) if "." in start:
            return start.partition(".")[0]
    # A name that is only known when the program runs could be anything, so it is forbidden.
    return DYNAMIC


def forbidden_imports(package: str, source: str) -> set[str]:
    """Return what a module of the package imports and may not."""
    return imported_packages(source) - set(sys.stdlib_module_names) - ALLOWED[package]


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["bat", "workers"])
def test_a_floor_imports_only_what_it_may(package: str) -> None:
    checked = modules(package)
    assert checked, f"no module of {package} was found, so nothing was checked"
    offending = {
        str(module.relative_to(ROOT)): names
        for module in checked
        if (names := forbidden_imports(package, module.read_text(encoding="utf-8")))
    }
    loader = {str(PLUGIN_LOADER.relative_to(ROOT)): {DYNAMIC}} if package == "bat" else {}
    assert offending == loader


def test_only_the_harness_is_left_to_import_the_database() -> None:
    assert "sqlalchemy" not in BAT | WORKERS
    assert "harness" not in BAT | WORKERS
    assert "workers" not in BAT


@pytest.mark.parametrize(
    ("package", "source", "offending"),
    [
        ("bat", "import transformers", {"transformers"}),
        ("bat", "import numpy, ray.util", {"ray"}),
        ("bat", "from workers.assets import load_demo_model", {"workers"}),
        ("bat", "def late():\n    import harness.cli as cli\n", {"harness"}),
        ("bat", "try:\n    import mosek\nexcept ImportError:\n    pass\n", {"mosek"}),
        ("bat", "import importlib\nimportlib.import_module('sqlalchemy.orm')", {"sqlalchemy"}),
        ("bat", "from importlib import import_module\nimport_module(name)", {"<dynamic import>"}),
        ("bat", "__import__('ray')", {"ray"}),
        ("bat", "from importlib import import_module\nimport_module(f'ray.{name}')", {"ray"}),
        ("bat", "from importlib import import_module\nimport_module(f'bat.{name}')", set()),
        ("bat", "from importlib import import_module\nimport_module(f'bat{name}')", {"<dynamic import>"}),
        ("bat", "BUILTINS = {'fast': 'workers.fast:FastSolver'}", {"workers"}),
        ("bat", "BUILTINS = {'fast': 'bat.solvers.fast:FastSolver'}", set()),
        ("workers", "from sqlalchemy.orm import Session", {"sqlalchemy"}),
        ("workers", "from harness import explore", {"harness"}),
        ("bat", "import os, numpy.linalg\nfrom . import basis\nfrom ..errors import BatError", set()),
        (
            "workers",
            "import ray, transformers, datasets\nfrom bat import Basis\nimport workers.assets",
            set(),
        ),
    ],
)
def test_the_checker_sees_what_a_module_imports(package: str, source: str, offending: set[str]) -> None:
    assert forbidden_imports(package, source) == offending
