"""A report of runs as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.api.runs import ALL, Database, RunName, choose_runs, reading
from harness.api.sweeps import StepProgress
from harness.export.run_files import check_folder
from harness.report.parts import Report
from harness.report.tables.comparing import split_sides
from harness.store import Reader, Run


@dataclass(frozen=True)
class WrittenReport:
    """A report and the files it was written to."""

    page: Path  # to be opened in a browser
    files: tuple[Path, ...]
    runs: tuple[Run, ...]
    report: Report
    database: str  # the address of the results
    left_out: tuple[str, ...] = ()  # why runs were left out of a report of all, a sentence each


def write_report(
    db: Database,
    output: str | os.PathLike[str],
    runs: RunName | Iterable[str | int] = None,
    *,
    compare: str | Iterable[str] = (),
    paper: bool = False,
    with_model: bool = False,
    device: str = "auto",
    force: bool = False,
    progress: StepProgress | None = None,
) -> WrittenReport:
    """Write tables and figures of runs to a new or empty folder, as HTML, Markdown, LaTeX and CSV.

    `runs` are names or numbers of runs on the same text; default: those in `compare`, or the latest run. With
    "all", they are the runs that can be compared with the latest one.
    `compare` adds tables of differences: "ba-eta:eta", "tight:loose", "run1/eta:run2/eta" or "run1:run2".
    `paper` adds the paper's numbers to a sweep that repeats none of its experiments. `with_model` loads the
    first model to add tables of next tokens and the rank of its outputs. `force` overwrites existing files.
    """
    from harness.api.judging import judged_parts
    from harness.report.building import build_report
    from harness.report.loading import comparable_runs
    from harness.report.writing import write_report as write_files

    folder = Path(output)
    check_folder(folder, force=force)
    with reading(db) as reader:
        pairs = [compare] if isinstance(compare, str) else list(compare)
        chosen = choose_runs(reader, runs or runs_in(reader, pairs) or None)
        left_out: list[str] = []
        if runs == ALL:
            chosen, left_out = comparable_runs(reader, chosen)
        report = build_report(
            reader,
            chosen,
            device=device if with_model else None,
            stage=progress or _silent,
            paper=paper,
            compare=pairs,
            judged=judged_parts(reader, chosen),
        )
        files = write_files(report, folder, force=force)
        return WrittenReport(
            folder / "report.html", tuple(files), tuple(chosen), report, reader.address, tuple(left_out)
        )


def runs_in(reader: Reader, pairs: Iterable[str]) -> list[str]:
    """The runs that comparisons name, such as run1 and run2 in "run1/eta:run2/eta"."""
    known = {name for run in reader.runs() for name in (run.name, str(run.id))}
    sides = [side for pair in pairs for split in split_sides(pair) for side in split]
    return [name for name in dict.fromkeys(side.partition("/")[0] for side in sides) if name in known]


def _silent(title: str, total: int) -> Callable[[int], None]:
    return lambda done: None
