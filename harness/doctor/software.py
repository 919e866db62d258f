"""Checks of what is installed."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from harness.doctor.findings import Finding, Health

_DISTRIBUTION = "bat-harness"


def python() -> Iterable[Finding]:
    """The version of Python."""
    needed = importlib.metadata.metadata(_DISTRIBUTION)["Requires-Python"]
    version = platform.python_version()
    text = f"{version}, {sys.executable}"
    if SpecifierSet(needed).contains(version, prereleases=True):
        yield Finding("Python", Health.OK, text)
    else:
        yield Finding("Python", Health.FAIL, text, f"Use Python {needed}.")


def libraries() -> Iterable[Finding]:
    """The libraries that are always needed, against their least versions."""
    requirements = [one for one in _requirements() if one.marker is None]
    problems = [problem for one in requirements if (problem := _problem(one)) is not None]
    for text, needed in problems:
        yield Finding("library", Health.FAIL, text, f"Run: python -m pip install '{needed}'")
    if not problems:
        shown = ("torch", "transformers", "numpy", "ray", "sqlalchemy")
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in shown)
        text = f"all {len(requirements)} are new enough, among them {versions}"
        yield Finding("libraries", Health.OK, text)


def optional_libraries() -> Iterable[Finding]:
    """The libraries of extras, without which something in particular does not work."""
    uses = {"gguf": "GGUF models, such as the demo's", "plots": "figures", "postgres": "PostgreSQL"}
    for extra, use in uses.items():
        wanted = [one for one in _requirements() if one.marker and one.marker.evaluate({"extra": extra})]
        problems = [problem for one in wanted if (problem := _problem(one)) is not None]
        if problems:
            text = f"{', '.join(text for text, _ in problems)}: no {use}"
            advice = f"Run: python -m pip install '{_DISTRIBUTION}[{extra}]'"
            yield Finding(f"extra {extra}", Health.WARN, text, advice)
        else:
            versions = ", ".join(f"{one.name} {importlib.metadata.version(one.name)}" for one in wanted)
            yield Finding(f"extra {extra}", Health.OK, versions)


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in importlib.metadata.requires(_DISTRIBUTION) or ()]


def _problem(requirement: Requirement) -> tuple[str, Requirement] | None:
    """What is wrong with an installed library, and what is needed; None if nothing is."""
    plain = Requirement(f"{requirement.name}{requirement.specifier}")
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed", plain
    if requirement.specifier.contains(version, prereleases=True):
        return None
    return f"{requirement.name} {version} is not {requirement.specifier}", plain


def ray_is_there() -> Iterable[Finding]:
    """Whether Ray can be imported."""
    import ray

    yield Finding("Ray", Health.OK, f"{ray.__version__}; --deep tries to start one")


def ray_starts() -> Iterable[Finding]:
    """Whether a Ray of this machine's own starts, and answers."""
    import ray

    from harness.driver.cluster import connected

    def answer() -> int:
        return os.getpid()

    with connected("local"):
        pid = ray.get(ray.remote(answer).remote())
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    has = f"{resources.get('CPU', 0):g} cores and {resources.get('GPU', 0):g} GPUs"
    yield Finding("Ray", Health.OK, f"{ray.__version__} starts here with {has}; process {pid} answered")
