"""One run: its stages, workers and their time, parameters, failed jobs; live. Failed jobs can be retried."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.api.runs import find_failed_jobs, get_status, retry_failed
from harness.status.run_status import RunState, RunStatus, say
from harness.view.live import Parts, live_of
from harness.view.page import Page
from harness.view.problems import ViewError
from harness.view.rendering import render, render_page, settings_of
from harness.view.requests import read_form, reading, run_of, whole_number
from harness.view.security import check_form_token
from harness.view.settings import ViewSettings

# The parts of the page that change, each with a template of its own.
_PARTS = ("headline", "stages", "pace", "workers", "parameters", "failures", "resume")
_FAILED_ON_A_PAGE = 50


def _show(request: Request) -> Response:
    with reading(request) as reader:
        run = run_of(request, reader)
        status = get_status(reader, run.id)
    return render_page(
        request, "run.html.j2", title=run.label, run=run, parts=_render(status, settings_of(request))
    )


async def _events(request: Request) -> Response:
    settings, number = settings_of(request), int(request.path_params["run"])
    return live_of(request).response(("run", number), partial(_look, settings, number))


def _look(settings: ViewSettings, number: int) -> Parts:
    return _render(get_status(settings.db, number), settings)


def _render(status: RunStatus, settings: ViewSettings) -> Parts:
    values = {
        "status": status,
        "sentences": _first_sentence(say(status)),
        "address": settings.shown_db,
        "may_retry": settings.allow_changes,
        "is_finished": status.state is RunState.DONE,
    }
    return {part: render(f"run/{part}.html.j2", **values) for part in _PARTS}


def _first_sentence(text: str) -> list[str]:
    """A text as its first sentence, for a heading, and the rest, if there is any."""
    first, end, rest = text.partition(". ")
    return [f"{first}.", rest] if end else [text]


def _failed(request: Request) -> Response:
    """The failed jobs one by one, with their whole errors."""
    first = whole_number(request, "from")
    with reading(request) as reader:
        run = run_of(request, reader)
        jobs = find_failed_jobs(reader, run.id, first, _FAILED_ON_A_PAGE + 1)
    shown = jobs[:_FAILED_ON_A_PAGE]
    after = first + len(shown) if len(jobs) > len(shown) else None
    before = None if first == 0 else max(0, first - _FAILED_ON_A_PAGE)
    values: dict[str, Any] = {"jobs": shown, "first": first, "before": before, "after": after}
    return render_page(request, "failed.html.j2", title=f"Failed jobs of {run.label}", run=run, **values)


def _ask_to_retry(request: Request) -> Response:
    """What would be retried, and a button."""
    _check_changes(request)
    with reading(request) as reader:
        run = run_of(request, reader)
    outcome = retry_failed(settings_of(request).db, run.id, dry_run=True)
    return render_page(request, "retry.html.j2", title=f"Retry {run.label}", run=run, outcome=outcome)


async def _retry(request: Request) -> Response:
    _check_changes(request)
    form = await read_form(request)
    check_form_token(settings_of(request), form.get("form_token", ""))
    number = int(request.path_params["run"])
    await run_in_threadpool(retry_failed, settings_of(request).db, number)
    return RedirectResponse(f"/runs/{number}", HTTPStatus.SEE_OTHER)


def _check_changes(request: Request) -> None:
    if not settings_of(request).allow_changes:
        raise ViewError(
            "failed jobs can be retried here only if the server was started with --allow-changes. Use "
            "`bat-harness retry` instead.",
            HTTPStatus.FORBIDDEN,
        )


PAGE = Page(
    "Overview",
    "/runs/{run}",
    (
        Route("/runs/{run:int}", _show),
        Route("/runs/{run:int}/events", _events),
        Route("/runs/{run:int}/failed", _failed),
        Route("/runs/{run:int}/retry", _ask_to_retry),
        Route("/runs/{run:int}/retry", _retry, methods=["POST"]),
    ),
)
