"""Errors as a page with one clear sentence. The server lives on."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bat.errors import BatError
from harness.store import StoreError
from harness.view.rendering import render_page


class ViewError(BatError):
    """A request that cannot be answered, and the status of HTTP that says so."""

    def __init__(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(sentence)
        self.status = status


def status_of(error: Exception) -> HTTPStatus:
    """The status of HTTP for an error."""
    if isinstance(error, ViewError):
        return error.status
    if isinstance(error, StoreError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.BAD_REQUEST if isinstance(error, BatError) else HTTPStatus.INTERNAL_SERVER_ERROR


def sentence_of(error: Exception) -> str:
    """What to tell the visitor. Errors that we do not expect have a traceback in the terminal."""
    if isinstance(error, BatError):
        return _capitalized(str(error))
    return f"An unexpected error: {type(error).__name__}. The terminal of bat-harness shows where."


def problem_response(request: Request, error: Exception, *, is_stranger: bool = False) -> Response:
    """The sentence as a page, or as JSON for a script. A stranger sees nothing else, such as the database."""
    status, sentence = status_of(error), sentence_of(error)
    if wants_json(request):
        return JSONResponse({"problem": sentence}, status)
    template = "stranger.html.j2" if is_stranger else "problem.html.j2"
    return render_page(request, template, title=status.phrase, status=status, sentence=sentence)


async def on_error(request: Request, error: Exception) -> Response:
    """For errors of ours, and those that we did not expect."""
    return problem_response(request, error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """For addresses and methods that no page has."""
    return problem_response(request, http_problem(request, error))


def http_problem(request: Request, error: Exception) -> ViewError:
    """What to say of an address or a method that no page has."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.NOT_FOUND:
        sentence = f"there is no page at {request.url.path[:200]}."
    else:
        sentence = f"{status.phrase.lower()}: {request.method} {request.url.path[:200]}."
    return ViewError(sentence, status)


def wants_json(request: Request) -> bool:
    """Whether a script asks, not a person."""
    return "application/json" in request.headers.get("accept", "")


def _capitalized(sentence: str) -> str:
    # An address of a database, or a name in quotation marks, stays as it is.
    is_word = sentence.partition(" ")[0].isalpha()
    return sentence[:1].upper() + sentence[1:] if is_word else sentence
