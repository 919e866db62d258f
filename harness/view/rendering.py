"""Renders pages from templates. The templates and filters of the report are available to them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from harness.report.formats import html as report_html
from harness.words import counted, duration, moment

if TYPE_CHECKING:
    from harness.store import Run
    from harness.view.page import Page
    from harness.view.settings import ViewSettings

_REPORT = "harness.report.formats"

# What /static/NAME serves: files of this package, and those that it shares with the report. page.js sorts
# tables and explains numbers; palette.css.j2 has the colours.
_FILES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "view.css": ((_REPORT, "palette.css.j2"), ("harness.view", "static/view.css")),
    "judge.css": ((_REPORT, "palette.css.j2"), ("harness.view", "static/judge.css")),
    "judge.js": (("harness.view", "static/judge.js"),),
    "page.js": ((_REPORT, "page.js"),),
    "view.js": (("harness.view", "static/view.js"),),
    "rejection.js": (("harness.view", "static/rejection.js"),),
    "texts.js": (("harness.view", "static/texts.js"),),
    **{
        name: (("harness.view", f"static/{name}"),)
        for name in (
            "distribution.css",
            "distribution.js",
            "distribution_methods.js",
            "distribution_chart.js",
            "distribution_server.js",
            "distribution_trail.js",
            "distribution_why.js",
        )
    },
}
_TYPES = {"css": "text/css", "js": "text/javascript"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file that pages load."""

    content: bytes
    media_type: str
    version: str  # of its content


@cache
def static_files() -> Mapping[str, StaticFile]:
    """All files that pages load, by name."""
    loaded = {}
    for name, parts in _FILES.items():
        content = b"\n".join(files(package).joinpath(path).read_bytes() for package, path in parts)
        version = hashlib.sha256(content).hexdigest()[:12]
        loaded[name] = StaticFile(content, _TYPES[name.rpartition(".")[2]], version)
    return loaded


def render_page(
    request: Request,
    template: str,
    *,
    title: str,
    run: Run | None = None,
    status: HTTPStatus = HTTPStatus.OK,
    **values: Any,
) -> Response:
    """A whole page, with the navigation; that of a run if the page is about one."""
    pages: tuple[Page, ...] = request.app.state.pages
    shared = {"title": title, "run": run, "settings": settings_of(request), "pages": pages}
    return HTMLResponse(render(template, path=request.url.path, **shared, **values), status)


def settings_of(request: Request) -> ViewSettings:
    """What the server was started with."""
    settings: ViewSettings = request.app.state.settings
    return settings


def render(template: str, **values: Any) -> str:
    """Any template; values that are not markup are escaped."""
    return _environment().get_template(template).render(**values)


def static_address(name: str) -> str:
    """Where a page loads a file from; another version has another address, so that browsers may keep it."""
    return f"/static/{name}?v={static_files()[name].version}"


@cache
def _environment() -> Environment:
    environment = report_html.environment().overlay(
        loader=ChoiceLoader([PackageLoader("harness.view", "templates"), PackageLoader(_REPORT, "")])
    )
    environment.filters = {
        **environment.filters,
        "counted": counted,
        "duration": duration,
        "moment": moment,
        "iso": datetime.isoformat,
        "grouped": lambda number: f"{number:,}",
        "significant": _significant,
    }
    environment.globals = {**environment.globals, "static": static_address, "share": _share}
    return environment


def _significant(value: object, digits: int = 4) -> str:
    """A number in a few digits; anything else as it is."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _share(part: float, whole: float) -> float:
    """Percent, for the length of a bar."""
    return round(100 * part / whole, 3) if whole else 0.0
