"""One distribution: the next tokens after a prompt, and which of them each method accepts, at any parameter.

The page's script gets one critical parameter for each token and method, and compares; see
`harness.explore.distribution`. It asks again only for another context, other numbers of constraints, an
explanation, or a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bat.errors import BatError
from harness.api.human_text import MeasuredText, measured_texts, parameters_by_rate
from harness.explore import DEFAULT_METHODS
from harness.store import Reader
from harness.view.answers import Context, describe, explain, sample
from harness.view.model import MOST_CONSTRAINTS, LoadedModel, SharedModel
from harness.view.page import Page
from harness.view.problems import ViewError
from harness.view.remembering import memory_of
from harness.view.rendering import render_page, settings_of
from harness.view.requests import read_form, reading
from harness.view.security import check_form_token

_Value = TypeVar("_Value")

_PROMPT = "The mayor said"
_RATES = tuple(round(0.005 * number, 3) for number in range(1, 101))
# Runs that are looked through for human text that the model has measured, the latest first.
_MOST_RUNS = 50


def _show(request: Request) -> Response:
    """The page; its script waits until the model is loaded."""
    state = _model_of(request).load()
    return render_page(
        request,
        "distribution.html.j2",
        title="One distribution",
        state=state,
        prompt=request.query_params.get("prompt", _PROMPT),
        most_constraints=MOST_CONSTRAINTS,
        chosen=" ".join(DEFAULT_METHODS),
    )


def _state(request: Request) -> Response:
    state = _model_of(request).load()
    record = {"ready": state.is_ready, "words": state.words, "problem": state.problem}
    return JSONResponse({**record, "constraints": state.constraints})


async def _next(request: Request) -> Response:
    form = await _form(request)
    constraints = _numbers(form, "constraints")
    if not 0 < len(constraints) <= MOST_CONSTRAINTS or len(set(constraints)) < len(constraints):
        given = form.get("constraints", "")[:60]
        raise ViewError(
            f"the values of c must be 1 to {MOST_CONSTRAINTS} different numbers; got {given!r}. Write them "
            "like 0, 5, 20."
        )
    question = partial(describe, context=_context(form), constraints=constraints)
    return JSONResponse(await _ask(request, question))


async def _explain(request: Request) -> Response:
    form = await _form(request)
    token = _number(form, "token")
    return JSONResponse(
        await _ask(request, partial(explain, context=_context(form), token=token, **_method(form)))
    )


async def _sample(request: Request) -> Response:
    form = await _form(request)
    draw = _number(form, "draw")
    return JSONResponse(
        await _ask(request, partial(sample, context=_context(form), draw=draw, **_method(form)))
    )


def _rates(request: Request) -> Response:
    """The parameters of all rules at the same rejection rate, from human text that the model has measured."""
    weights = _model_of(request).state().weights
    with reading(request) as reader:
        for run in reader.runs()[:_MOST_RUNS]:
            for text in measured_texts(reader, [run]):
                if text.weights == weights:
                    make = partial(_matched, reader, text)
                    record = memory_of(request).get(("rates", text.jobs), run.id, make)
                    return JSONResponse({"run": run.label, **record})
    return JSONResponse({"run": None, "rates": [], "curves": []})


def _matched(reader: Reader, text: MeasuredText) -> dict[str, Any]:
    from harness.explore.distribution import rules_with_a_parameter

    tokens, curves = 0, []
    for form in rules_with_a_parameter():
        try:
            tokens, matched = parameters_by_rate(reader, text, [form.name], _RATES, replicates=0)
        except BatError:
            continue  # a rule that asks more than was measured is not moved
        curves += [
            {
                "rule": curve.rule,
                "constraints": curve.constraints,
                "parameters": [None if at is None else at.value for at in curve.parameters],
            }
            for curve in matched
        ]
    return {"tokens": tokens, "rates": _RATES, "curves": curves}


# What a request says


async def _form(request: Request) -> dict[str, str]:
    form = await read_form(request)
    check_form_token(settings_of(request), form.get("form_token", ""))
    return form


async def _ask(request: Request, question: Callable[[LoadedModel], _Value]) -> _Value:
    return await _model_of(request).ask(question)


def _context(form: Mapping[str, str]) -> Context:
    return Context(form.get("prompt", ""), _numbers(form, "taken"))


def _method(form: Mapping[str, str]) -> dict[str, Any]:
    """A rule with its parameter, and the number of constraints of a basis-aware one."""
    from bat.rules import get_rule

    parameter = form.get("parameter", "")
    try:
        value = float(parameter)
    except ValueError:
        value = math.nan
    return {"rule": get_rule(form.get("rule", ""), value), "constraints": _number(form, "constraints")}


def _number(form: Mapping[str, str], name: str) -> int:
    numbers = _numbers(form, name)
    if len(numbers) != 1:
        raise ViewError(f"{name} must be a whole number; got {form.get(name, '')[:40]!r}.")
    return numbers[0]


def _numbers(form: Mapping[str, str], name: str) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    given = form.get(name, "")
    parts: Sequence[str] = [part.strip() for part in given.split(",")] if given.strip() else []
    if not all(part.isdecimal() and part.isascii() and len(part) <= 9 for part in parts):
        raise ViewError(f"{name} must be whole numbers with commas between them; got {given[:60]!r}.")
    return tuple(map(int, parts))


def _model_of(request: Request) -> SharedModel:
    model: SharedModel = request.app.state.model
    return model


PAGE = Page(
    "Distribution",
    "/distribution",
    (
        Route("/distribution", _show),
        Route("/distribution/model", _state),
        Route("/distribution/rates", _rates),
        Route("/distribution/next", _next, methods=["POST"]),
        Route("/distribution/explain", _explain, methods=["POST"]),
        Route("/distribution/sample", _sample, methods=["POST"]),
    ),
)
