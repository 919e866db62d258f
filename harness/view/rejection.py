"""Parameters of all rules against the share of human text that they reject."""

from __future__ import annotations

import math
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bat.rules import get_rule_form
from harness.api.human_text import MeasuredText, RateCurve, measured_texts, parameters_by_rate
from harness.config import from_identity
from harness.report.tables.rejection import REPLICATES, rules_of
from harness.store import Reader, Run
from harness.view.page import Page
from harness.view.problems import ViewError
from harness.view.remembering import memory_of
from harness.view.rendering import render_page
from harness.view.requests import reading, run_of, whole_number

# Up to a half, as far as curves are of use; closer where most rules are used.
_RATES = tuple(round(number / 200, 3) for number in (*range(1, 30), *range(30, 101, 2)))


def _show(request: Request) -> Response:
    """The page; its script fetches the curves, which take a while the first time."""
    with reading(request) as reader:
        run = run_of(request, reader)
        texts = measured_texts(reader, [run])
    title = f"Rejection of human text, {run.label}"
    return render_page(request, "rejection.html.j2", title=title, run=run, texts=texts, rates=_RATES)


def _curves(request: Request) -> Response:
    with reading(request) as reader:
        run = run_of(request, reader)
        texts = measured_texts(reader, [run])
        if not texts:
            raise ViewError("no human text of this run has been measured completely.")
        text = texts[whole_number(request, "text", most=len(texts) - 1)]
        record = memory_of(request).get(("rejection", text.jobs), run.id, lambda: _record(reader, run, text))
    return JSONResponse(record)


def _record(reader: Reader, run: Run, text: MeasuredText) -> dict[str, Any]:
    rules = rules_of([from_identity(run.config)])
    tokens, curves = parameters_by_rate(reader, text, rules, _RATES, replicates=REPLICATES)
    return {"tokens": tokens, "rates": _RATES, "curves": [_curve(curve) for curve in curves]}


def _curve(curve: RateCurve) -> dict[str, Any]:
    """A curve for the script. Rules with one plain form share a chart."""
    is_aware = get_rule_form(curve.rule).basis_aware
    points = [
        None if at is None else [at.value, *(None if math.isnan(end) else end for end in (at.low, at.high))]
        for at in curve.parameters
    ]
    return {
        "rule": curve.rule,
        "constraints": curve.constraints,
        "chart": curve.rule.removeprefix("ba-") if is_aware else curve.rule,
        "aware": is_aware,
        "points": points,
    }


PAGE = Page(
    "Rejection",
    "/runs/{run}/rejection",
    (Route("/runs/{run:int}/rejection", _show), Route("/runs/{run:int}/rejection/curves", _curves)),
)
