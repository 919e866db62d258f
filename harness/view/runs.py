"""All runs of the database, with their progress, live."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.api.runs import list_progress
from harness.view.live import live_of
from harness.view.page import Page
from harness.view.rendering import render, render_page, settings_of
from harness.view.requests import reading


def _show(request: Request) -> Response:
    with reading(request) as reader:
        runs = list_progress(reader)
    return render_page(request, "runs.html.j2", title="Runs", runs=runs)


async def _events(request: Request) -> Response:
    return live_of(request).response("runs", partial(_parts, settings_of(request).db))


def _parts(db: str) -> dict[str, str]:
    return {"runs": render("runs_table.html.j2", runs=list_progress(db))}


PAGE = Page("Runs", "/", (Route("/", _show), Route("/events", _events)))
