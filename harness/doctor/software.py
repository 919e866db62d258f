"""Checks of the installed software."""

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

# What each optional library is for, by the extra of pyproject.toml that has it.
EXTRAS = {"gguf": "GGUF models, such as the demo model", "postgres": "PostgreSQL"}


def python() -> Iterable[Finding]:
    """The version of Python."""
    required = importlib.metadata.metadata(_DISTRIBUTION)["Requires-Python"]
    version = platform.python_version()
    text = f"{version}, {sys.executable}"
    if SpecifierSet(required).contains(version, prereleases=True):
        yield Finding("Python", Health.OK, text)
    else:
        yield Finding("Python", Health.FAIL, text, f"Use Python {required}.")


def libraries() -> Iterable[Finding]:
    """The required libraries and their minimum versions."""
    requirements = [requirement for requirement in _requirements() if requirement.marker is None]
    problems = [problem for requirement in requirements if (problem := _problem(requirement)) is not None]
    for text, required in problems:
        yield Finding("library", Health.FAIL, text, f"Run: python -m pip install '{required}'")
    if not problems:
        shown = ("torch", "transformers", "numpy", "ray", "sqlalchemy")
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in shown)
        text = f"all {len(requirements)} have the required versions, including {versions}"
        yield Finding("libraries", Health.OK, text)


def optional_libraries() -> Iterable[Finding]:
    """The libraries of the extras, each needed for one purpose."""
    for extra, use in EXTRAS.items():
        requirements = [
            requirement
            for requirement in _requirements()
            if requirement.marker and requirement.marker.evaluate({"extra": extra})
        ]
        problems = [problem for requirement in requirements if (problem := _problem(requirement)) is not None]
        if problems:
            text = f"{', '.join(text for text, _ in problems)}; needed for {use}"
            # The libraries by name: bat-harness may not be in an index, or its version there lack the extra.
            named = " ".join(f"'{required}'" for _, required in problems)
            yield Finding(f"extra {extra}", Health.WARN, text, f"Run: python -m pip install {named}")
        else:
            versions = ", ".join(
                f"{each.name} {importlib.metadata.version(each.name)}" for each in requirements
            )
            yield Finding(f"extra {extra}", Health.OK, versions)


def vllm() -> Iterable[Finding]:
    """Whether vLLM can generate, which only sweeps that ask for it need."""
    from workers.vllm_plugin import installation

    version = installation.find_version()
    if version is None:
        text = "not installed; only sweeps with generation.engine: vllm need it"
        yield Finding("vLLM", Health.OK, text, f"To use it, run: {installation.INSTALL}")
    elif not installation.is_registered():
        text = f"{version}, but the plug-in for it is not registered"
        yield Finding("vLLM", Health.WARN, text, "Install bat-harness again.")
    else:
        yield Finding("vLLM", Health.OK, f"{version}, with the plug-in for rules")


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in importlib.metadata.requires(_DISTRIBUTION) or ()]


def _problem(requirement: Requirement) -> tuple[str, Requirement] | None:
    """What is wrong with a library, and the requirement; None if it is fine."""
    plain = Requirement(f"{requirement.name}{requirement.specifier}")
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed", plain
    if requirement.specifier.contains(version, prereleases=True):
        return None
    return f"{requirement.name} {version} is not {requirement.specifier}", plain


def ray_is_installed() -> Iterable[Finding]:
    """Whether Ray can be imported."""
    import ray

    yield Finding("Ray", Health.OK, f"{ray.__version__}; test that it starts with --deep")


def ray_starts() -> Iterable[Finding]:
    """Whether a local Ray starts and runs a task."""
    import ray

    from harness.driver.cluster import connected

    def answer() -> int:
        return os.getpid()

    with connected("local"):
        pid = ray.get(ray.remote(answer).remote())
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    has = f"{resources.get('CPU', 0):g} cores and {resources.get('GPU', 0):g} GPUs"
    yield Finding("Ray", Health.OK, f"{ray.__version__} starts with {has}; process {pid} ran a task")
