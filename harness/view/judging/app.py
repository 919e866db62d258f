"""The application: the pages of one study's judges, and nothing else."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bat.errors import BatError
from harness.judge.assigning import Assigner, sequence_length
from harness.judge.design import StudyDesign
from harness.store.judging import StudyStore, open_studies
from harness.store.study_records import ItemKind
from harness.view.app import static_file
from harness.view.judging import pages
from harness.view.judging.limits import Limits
from harness.view.judging.settings import JudgeSettings
from harness.view.problems import http_problem, problem_response
from harness.view.security import Guard


def create_app(settings: JudgeSettings) -> Starlette:
    """The application for one study; raises if there is no such study."""
    store = open_studies(settings.db)
    try:
        room = _open_room(store, settings)
    except BaseException:
        store.close()
        raise
    app = Starlette(
        routes=[*pages.ROUTES, Route("/static/{name}", static_file)],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={BatError: _on_error, HTTPException: _on_http_error, Exception: _on_error},
    )
    app.state.settings, app.state.pages, app.state.room = settings, (), room
    return app


def _open_room(store: StudyStore, settings: JudgeSettings) -> pages.Room:
    study = store.get_study(settings.study)
    design = StudyDesign.from_record(study.design)
    items = sum(item.kind is ItemKind.PAIR for item in store.items(study.id))
    return pages.Room(
        settings=settings,
        store=store,
        study=study,
        design=design,
        assigner=Assigner(design),
        length=sequence_length(design, items),
        of_judges=Limits(size=40, per_second=2),
        of_entries=Limits(size=100, per_second=5),
    )


async def _on_error(request: Request, error: Exception) -> Response:
    return problem_response(request, error, is_stranger=True)


async def _on_http_error(request: Request, error: Exception) -> Response:
    return problem_response(request, http_problem(request, error), is_stranger=True)
