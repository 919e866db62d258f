"""The application: its pages, and what every request passes through."""

from __future__ import annotations

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bat.errors import BatError
from harness.view import ask, distribution, rejection, results, run, runs, texts
from harness.view.live import Live
from harness.view.model import DEFAULT_MODEL, SharedModel
from harness.view.page import Page
from harness.view.problems import ViewError, on_error, on_http_error
from harness.view.remembering import Memory
from harness.view.rendering import static_files
from harness.view.security import Guard
from harness.view.settings import ViewSettings

# In the order of the navigation.
PAGES: tuple[Page, ...] = (
    runs.PAGE,
    run.PAGE,
    results.PAGE,
    texts.PAGE,
    rejection.PAGE,
    distribution.PAGE,
    ask.PAGE,
)


def create_app(settings: ViewSettings) -> Starlette:
    """The application for one database."""
    routes = [route for page in PAGES for route in page.routes]
    app = Starlette(
        routes=[*routes, Route("/static/{name}", static_file)],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={BatError: on_error, HTTPException: on_http_error, Exception: on_error},
    )
    app.state.settings, app.state.pages, app.state.live = settings, PAGES, Live()
    app.state.memory, app.state.model = Memory(), SharedModel(settings.model or DEFAULT_MODEL)
    return app


async def static_file(request: Request) -> Response:
    """A style sheet or a script."""
    file = static_files().get(request.path_params["name"])
    if file is None:
        raise ViewError("there is no such file.", HTTPStatus.NOT_FOUND)
    # A script that another one imports is asked for without its version.
    is_this_version = request.query_params.get("v") == file.version
    caching = "public, max-age=31536000, immutable" if is_this_version else "no-cache"
    headers = {"cache-control": caching}
    return Response(file.content, headers=headers, media_type=file.media_type)
