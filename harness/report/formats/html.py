"""A report as one self-contained page. Its only script is page.js, which its hash allows to run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup as Safe

from harness.report.formats.layout import check_report, full_caption, number_columns, paragraphs, parts_of
from harness.report.parts import Cell, Markup, Part, Picture, Report, Table

_PACKAGE = "harness.report.formats"


def page(report: Report) -> str:
    """Return the whole page."""
    check_report(report)
    tables = [part for part in parts_of(report) if isinstance(part, Table)]
    explained = any(cell.how for table in tables for row in table.rows for cell in row.cells)
    script = files(_PACKAGE).joinpath("page.js").read_text()
    page = render(
        "page.html.j2", report=report, explained=explained, script=script, script_hash=_hash_of(script)
    )
    return page + "\n"


def render(template: str, **values: Any) -> str:
    """Render a template of this folder; values that are not Markup are escaped."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """Where templates find their filters and each other."""
    templates = Environment(
        loader=PackageLoader(_PACKAGE, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "anchor": _anchor,
        "caption": full_caption,
        "data_address": _data_address,
        "interval_below": _interval_below,
        "paragraphs": paragraphs,
    }
    templates.tests |= {
        "table": lambda part: isinstance(part, Table),
        "picture": lambda part: isinstance(part, Picture),
    }
    templates.globals["number_columns"] = number_columns
    return templates


def _anchor(part: Part) -> str:
    """The anchor of a part; names of parts are unique, and anchors of sections differ."""
    kinds = {Table: "table", Picture: "figure", Markup: "part"}
    return f"{kinds[type(part)]}-{part.name}"


def _interval_below(cell: Cell) -> str:
    """A cell's text with its interval on a separate line, for tables that would be too wide."""
    number, bracket, rest = cell.text.partition(" [")
    if not bracket or cell.low is None:
        return cell.text
    return Safe('{} <span class="interval">[{}</span>').format(number, rest)


def _hash_of(script: str) -> str:
    """What a content security policy knows a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _data_address(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
