"""SQL on a read-only connection, with the named questions and the schema beside it."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bat.errors import BatError
from harness.api.asking import MOST_ROWS, SECONDS, ask, described_tables
from harness.api.runs import ALL
from harness.export.row_files import plain, write_csv
from harness.store.queries import NAMED_QUERIES, get_query
from harness.view.page import Page
from harness.view.problems import sentence_of, status_of
from harness.view.rendering import render_page
from harness.view.requests import reading
from harness.words import counted

_ROWS_SHOWN = 200
_LONGEST_TEXT = 300  # characters of a value that are shown; CSV has them all
_FIRST_QUESTION = "progress"


def _show(request: Request) -> Response:
    name, run = request.query_params.get("name"), request.query_params.get("run") or None
    sql = request.query_params.get("sql") or (get_query(name).sql if name else "")
    values: dict[str, Any] = {"answer": None, "problem": "", "status": HTTPStatus.OK}
    with reading(request) as reader:
        runs = reader.runs()
        if sql.strip():
            try:
                values["answer"] = ask(reader, sql, run, limit=_ROWS_SHOWN)
            except BatError as error:
                # Beside the query, which the visitor wants to mend.
                values |= {"problem": sentence_of(error), "status": status_of(error)}
    return render_page(
        request,
        "ask.html.j2",
        title="Ask",
        sql=sql.strip() or get_query(_FIRST_QUESTION).sql.strip(),
        chosen_run=run,
        runs=runs,
        all_runs=ALL,
        questions=NAMED_QUERIES.values(),
        tables=described_tables(),
        limits={"seconds": SECONDS, "shown": _ROWS_SHOWN, "most": MOST_ROWS},
        cell=_cell,
        is_number=_is_number,
        **values,
    )


def _csv(request: Request) -> Response:
    with reading(request) as reader:
        answer = ask(reader, request.query_params.get("sql", ""), request.query_params.get("run") or None)
    stream = io.StringIO()
    write_csv(answer.columns, answer.rows, stream)
    headers = {"content-disposition": 'attachment; filename="answer.csv"'}
    return Response(stream.getvalue(), headers=headers, media_type="text/csv")


def _cell(value: Any) -> str:
    """A value in the table."""
    match plain(value):
        case None:
            return ""
        case float(number):
            return f"{number:.6g}"
        case bytes(data):
            return counted(len(data), "byte")
        case other:
            text = str(other)
            return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _is_number(value: Any) -> bool:
    return isinstance(plain(value), int | float) and not isinstance(value, bool)


PAGE = Page("Ask", "/ask", (Route("/ask", _show), Route("/ask.csv", _csv)))
