"""Run the benchmarks, print a table of the results, and save it as JSON, with plots."""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    accelerator,
    generation,
    growth,
    large_queue,
    programs,
    queue,
    report,
    scoring,
    startup,
    view,
    view_distribution,
    vllm_speed,
    whole,
)
from benchmarks.contexts import Contexts, load_contexts
from benchmarks.record import Figure

SECTIONS = (
    *("programs", "whole", "growth", "generation", "accelerator"),
    *("queue", "startup", "scoring", "report", "view"),
)
ON_REQUEST = ("vllm", "soak")  # one needs vLLM, the other takes as long as it is asked to
_WITH_CONTEXTS = ("programs", "whole", "growth")


def _figures(
    sections: list[str], folder: Path, minutes: float, say: Callable[[str], None]
) -> Iterator[Figure]:
    if any(section in _WITH_CONTEXTS for section in sections):
        say("Preparing contexts: SmolLM2-135M-Instruct over human news text")
        yield from _with_contexts(load_contexts(), sections, folder)
    if "generation" in sections:
        yield from generation.measure()
    if "accelerator" in sections:
        yield from accelerator.measure()
    if "queue" in sections:
        yield from queue.measure()
        yield from large_queue.measure()
    if "startup" in sections:
        yield from startup.measure()
    if "scoring" in sections:
        yield from scoring.measure()
    if "report" in sections:
        yield from report.measure()
    if "view" in sections:
        yield from view.measure()
        yield from view_distribution.measure()
    if "vllm" in sections:
        yield from vllm_speed.measure()
    if "soak" in sections:
        from benchmarks import soak  # its workers are those of the tests

        yield from soak.measure(minutes, say)


def _with_contexts(contexts: Contexts, sections: list[str], folder: Path) -> Iterator[Figure]:
    if "programs" in sections:
        yield from programs.measure(contexts)
    if "whole" in sections:
        yield from whole.measure(contexts)
    if "growth" in sections:
        yield from growth.measure(contexts, folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"any of {', '.join(SECTIONS)} (default: all of these), or {', '.join(ON_REQUEST)}",
    )
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="how long soak kills workers (default: %(default)g)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for JSON and plots"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    arguments = parser.parse_args()
    sections = arguments.sections or list(SECTIONS)
    for section in sections:
        if section not in (*SECTIONS, *ON_REQUEST):
            parser.error(f"SECTION must be one of {', '.join((*SECTIONS, *ON_REQUEST))}; got {section!r}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 130)
    figures: list[Figure] = []
    for figure in _figures(sections, arguments.output, arguments.minutes, console.print):
        figures.append(figure)
        console.print(f"  {figure.group}: {figure.name}: {figure.value:.4g} {figure.unit}", style="dim")
    console.print(_table(figures))
    result = {
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        "figures": [dataclasses.asdict(figure) for figure in figures],
    }
    path = arguments.output / "benchmarks.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    console.print(f"Saved in {path}")
    missed = [figure for figure in figures if figure.met is False]
    for figure in missed:
        console.print(
            f"Missed: {figure.group}: {figure.name}: {figure.value:.4g} {figure.unit}, {figure.target}"
        )
    return 1 if missed and arguments.strict else 0


def _table(figures: list[Figure]) -> Table:
    table = Table(title="Benchmarks (medians; one thread unless noted)", title_justify="left")
    for column, justify in (
        ("what", "left"),
        ("figure", "right"),
        ("target", "right"),
        ("", "left"),
        ("note", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    group = None
    for figure in figures:
        if figure.group != group:
            group = figure.group
            table.add_section()
            table.add_row(f"[bold]{group}[/bold]")
        mark = "" if figure.met is None else ("met" if figure.met else "MISSED")
        table.add_row(
            f"  {figure.name}", f"{figure.value:.4g} {figure.unit}", figure.target, mark, figure.note
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
