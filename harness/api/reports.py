"""A report of runs as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.api.runs import Database, RunName, choose_runs, reading
from harness.api.sweeps import StepProgress
from harness.export.run_files import check_folder
from harness.report.parts import Report
from harness.store import Run


@dataclass(frozen=True)
class WrittenReport:
    """A report and the files it was written to."""

    page: Path  # to be opened in a browser
    files: tuple[Path, ...]
    runs: tuple[Run, ...]
    report: Report
    database: str  # the address of the results


def write_report(
    db: Database,
    output: str | os.PathLike[str],
    runs: RunName | Iterable[str | int] = None,
    *,
    with_model: bool = False,
    device: str = "auto",
    force: bool = False,
    progress: StepProgress | None = None,
) -> WrittenReport:
    """Write tables and figures of runs to a new or empty folder, as HTML, Markdown, LaTeX and CSV.

    `runs` are names or numbers of runs on the same text; default: the latest run. `with_model` loads the
    first model to add tables of next tokens and the rank of its outputs. `force` overwrites existing files.
    """
    from harness.report.building import build_report
    from harness.report.writing import write_report as write_files

    folder = Path(output)
    check_folder(folder, force=force)
    with reading(db) as reader:
        chosen = choose_runs(reader, runs)
        stage = progress or _silent
        report = build_report(reader, chosen, device=device if with_model else None, stage=stage)
        files = write_files(report, folder, force=force)
        return WrittenReport(folder / "report.html", tuple(files), tuple(chosen), report, reader.address)


def _silent(title: str, total: int) -> Callable[[int], None]:
    return lambda done: None
