"""Imports point down: harness -> workers -> bat, each with its own libraries, and layers inside harness."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BAT = {"bat", "numpy", "scipy", "torch", "numba", "llvmlite", "highspy", "pulp", "threadpoolctl"}
WORKERS = BAT | {
    "workers",
    "accelerate",
    "datasets",
    "filelock",
    "packaging",
    "gguf",
    "huggingface_hub",
    "pandas",
    "pyarrow",
    "pydantic",
    "ray",
    "safetensors",
    "tokenizers",
    "transformers",
    "vllm",
}
# harness may import anything but the tests, so only the other two have a list.
ALLOWED = {"bat": BAT, "workers": WORKERS}
# It imports what registries and users name. What our registries name is checked where it is written.
PLUGIN_LOADER = ROOT / "bat/plugins.py"
REFERENCE = re.compile(r"\w+(\.\w+)+:\w+(\.\w+)*")


DYNAMIC = "<dynamic import>"

# The packages and modules of harness, from the lowest layer to the highest. Those in one layer do not import
# each other, except for the pairs in MUTUAL.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("words", "notes", "versions", "clashes", "sample_sweeps"),
    ("scoring",),
    ("config",),
    ("jobs",),
    ("store",),
    ("planning",),
    ("driver",),
    ("status", "export", "explore", "doctor"),
    ("report",),
    ("judge",),
    ("api", "__init__"),
    ("view",),
    ("commands", "cli"),
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
MUTUAL = ({"commands", "cli"}, {"api", "__init__"})


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
    # A name that is only known at run time could be anything, so it is forbidden.
    return DYNAMIC


def forbidden_imports(package: str, source: str) -> set[str]:
    """Return what a module of the package imports and may not."""
    return imported_packages(source) - set(sys.stdlib_module_names) - ALLOWED[package]


def imported_parts(source: str) -> set[str]:
    """Return the packages and modules directly in harness that a module of it imports.

    A name of the API, as in ``from harness import run``, counts as ``__init__``.
    """
    parts: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                paths = [alias.name.split(".") for alias in aliases]
                parts.update(path[1] for path in paths if path[0] == "harness" and len(path) > 1)
            case ast.ImportFrom(module="harness", names=aliases, level=0):
                parts.update(alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0) if module.startswith("harness."):
                parts.add(module.split(".")[1])
            case ast.ImportFrom(level=level) if level:
                parts.add("<relative import>")
            case ast.Attribute(value=ast.Name(id="harness"), attr=name) if not name.startswith("__"):
                parts.add(name)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="__import__" | "import_module"),
                args=[argument, *_],
            ):
                parts |= _part_called_for(argument)
    return {part if part in LAYER or part.startswith("<") else "__init__" for part in parts}


def _part_called_for(argument: ast.expr) -> set[str]:
    """What ``import_module`` is called with, if that is a part of harness."""
    match argument:
        case ast.Constant(value=str(name)) | ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]):
            path = name.split(".")
            return {path[1]} if path[0] == "harness" and len(path) > 1 else set()
    return set()  # plug-ins are loaded by names that are only known at run time


def forbidden_parts(part: str, source: str) -> set[str]:
    """Return what a module of a part of harness imports from its own layer or a higher one."""
    mutual: set[str] = next((names for names in MUTUAL if part in names), {part})
    lower = {name for name, layer in LAYER.items() if layer < LAYER[part]}
    return imported_parts(source) - lower - mutual


def part_of(module: Path) -> str:
    return module.relative_to(ROOT / "harness").with_suffix("").parts[0]


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["bat", "workers"])
def test_a_package_imports_only_what_it_may(package: str) -> None:
    checked = modules(package)
    assert checked, f"{package} has no modules, so nothing was checked"
    offending = {
        str(module.relative_to(ROOT)): names
        for module in checked
        if (names := forbidden_imports(package, module.read_text(encoding="utf-8")))
    }
    loader = {str(PLUGIN_LOADER.relative_to(ROOT)): {DYNAMIC}} if package == "bat" else {}
    assert offending == loader


def test_every_part_of_harness_has_a_layer() -> None:
    parts = {part_of(module) for module in modules("harness")}
    assert parts - LAYER.keys() == set(), "add the new part to LAYERS"
    assert LAYER.keys() - parts <= {"api"}, "LAYERS has a part that does not exist"


@pytest.mark.parametrize("part", [name for name in LAYER if name != "api" or (ROOT / "harness/api").exists()])
def test_imports_inside_harness_point_down(part: str) -> None:
    offending = {
        str(module.relative_to(ROOT)): names
        for module in modules("harness")
        if part_of(module) == part and (names := forbidden_parts(part, module.read_text(encoding="utf-8")))
    }
    assert offending == {}


@pytest.mark.parametrize(
    ("part", "source", "offending"),
    [
        ("store", "from harness.planning.planner import Plan", {"planning"}),
        ("store", "from harness.jobs import Job\nfrom harness.store.records import Run", set()),
        ("store", "def late():\n    from harness.driver import driver\n", {"driver"}),
        ("planning", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import harness.cli", {"cli"}),
        ("driver", "from harness import status, words", {"status"}),
        ("driver", "import harness\nroot = harness.__path__[0]", set()),
        ("driver", "import harness\nharness.open_results('x.db')", {"__init__"}),
        ("report", "from harness import open_results", {"__init__"}),
        ("status", "from harness.export import row_files", {"export"}),
        ("report", "from harness.export import row_files\nfrom harness.explore import prompts", set()),
        ("config", "from harness.scoring import scores", set()),
        ("scoring", "from harness.config import load_config", {"config"}),
        ("words", "from . import versions", {"<relative import>"}),
        ("jobs", "import_module('harness.store.store')", {"store"}),
        ("jobs", "import_module(f'harness.config.{name}')", set()),
        ("jobs", "import_module(f'sqlalchemy.dialects.{name}')", set()),
        ("jobs", "import_module(name)", set()),
        ("commands", "from harness.cli import app\nfrom harness.api import run", set()),
        ("api", "from harness.commands import console", {"commands"}),
        ("cli", "import harness.commands.run, numpy", set()),
    ],
)
def test_the_checker_sees_imports_inside_harness(part: str, source: str, offending: set[str]) -> None:
    assert forbidden_parts(part, source) == offending


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
