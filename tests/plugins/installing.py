"""Install the example plug-in as pip would: its modules, and a dist-info made from its pyproject.toml."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parent / "example"


def install(folder: Path, source: Path = EXAMPLE) -> Path:
    """Install a package into a folder that is, or will be, on the path."""
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in source.iterdir():
        if package.is_dir() and package.name != "__pycache__":
            shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    write_distribution(folder, project["name"], project["version"], project["entry-points"])
    return folder


def write_distribution(
    folder: Path, name: str, version: str, entry_points: dict[str, dict[str, str]]
) -> None:
    """Write what Python knows an installed distribution by."""
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")
