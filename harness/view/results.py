"""The scores of a run: methods compared with intervals, paired differences, the jobs behind any number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bat.errors import BatError
from harness.api.tables import HUMAN, ScoreTables, Table
from harness.jobs import JobKind
from harness.store import Reader, Run
from harness.view.charts import Scale, scale_of
from harness.view.page import Page
from harness.view.problems import sentence_of
from harness.view.remembering import Memory, memory_of
from harness.view.rendering import render_page
from harness.view.requests import reading, run_of

_MAUVE = "mauve"
_JOBS_SHOWN = 40  # of each kind


def _show(request: Request) -> Response:
    query = request.query_params
    with reading(request) as reader:
        run = run_of(request, reader)
        tables = score_tables(memory_of(request), reader, run)
    if not tables.models:
        return render_page(request, "results_none.html.j2", title=f"Results of {run.label}", run=run)
    model = query.get("model") or tables.models[0]
    scores = tables.scores(model)
    score = query.get("score") or (_MAUVE if _MAUVE in scores else scores[0])
    main = tables.table(model, [score])
    methods = [row.label for row in main.rows]
    chosen = [name for name in query.getlist("method") if name in methods] or methods
    values: dict[str, Any] = {
        "models": tables.models,
        "model": model,
        "scores": scores,
        "score": score,
        "methods": methods,
        "chosen": chosen,
        "main": _only(main, chosen),
        "scale": _scale(main, chosen),
        "every": _only(tables.table(model, scores), chosen),
        "differences": tables.differences() if score == _MAUVE else None,
        "trace": lambda row, column: _trace_address(run, model, row, column),
        "human": HUMAN,
        **_comparison(request, tables),
    }
    return render_page(request, "results.html.j2", title=f"Results of {run.label}", run=run, **values)


def _comparison(request: Request, tables: ScoreTables) -> dict[str, Any]:
    """Two settings of the visitor's choice."""
    first, second = request.query_params.get("first", ""), request.query_params.get("second", "")
    chosen: dict[str, Any] = {"first": first, "second": second, "comparison": None, "comparison_problem": ""}
    if first and second:
        try:
            chosen["comparison"] = tables.compare(first, second)
        except BatError as error:
            chosen["comparison_problem"] = sentence_of(error)
    return chosen


def score_tables(memory: Memory, reader: Reader, run: Run) -> ScoreTables:
    """The tables of a run. Scores do not change, so they are loaded again only when there are more."""
    done = [kind.done for kind in reader.progress(run.id) if kind.kind is JobKind.SCORE]
    return memory.get(("scores", run.id), tuple(done), lambda: ScoreTables(reader, run))


def _only(table: Table, methods: list[str]) -> Table:
    return replace(table, rows=tuple(row for row in table.rows if row.label in methods))


def _scale(table: Table, methods: list[str]) -> Scale:
    cells = [row.cells[0] for row in table.rows if row.label in methods]
    return scale_of(value for cell in cells for value in (cell.value, cell.low, cell.high))


def _trace_address(run: Run, model: str, row: str, column: str) -> str:
    query = urlencode({"model": model, "row": row, "score": column})
    return f"/runs/{run.id}/results/trace?{query}"


def _trace(request: Request) -> Response:
    query = request.query_params
    with reading(request) as reader:
        run = run_of(request, reader)
        tables = score_tables(memory_of(request), reader, run)
        model = query.get("model") or next(iter(tables.models), "")
        cell = tables.trace(reader, model, query.get("row", ""), query.get("score", ""))
    steps: dict[str, list[Any]] = {}
    for step in cell.steps:
        steps.setdefault(step.kind, []).append(step)
    return render_page(
        request,
        "trace.html.j2",
        title=f"{cell.column} of {cell.row}",
        run=run,
        cell=cell,
        steps={kind: own[:_JOBS_SHOWN] for kind, own in steps.items()},
        counts=Counter(step.kind for step in cell.steps),
        is_human=cell.row == HUMAN,
    )


PAGE = Page(
    "Results",
    "/runs/{run}/results",
    (Route("/runs/{run:int}/results", _show), Route("/runs/{run:int}/results/trace", _trace)),
)
