"""What a request asks for: the run in its address, numbers in its query, the fields of a form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request

from harness.store import Reader, Run, open_reader
from harness.view.problems import ViewError
from harness.view.rendering import settings_of

# Enough for a prompt that fills the context of a model; a megabyte is a mistake.
_LARGEST_FORM = 256 * 1024


@contextmanager
def reading(request: Request) -> Iterator[Reader]:
    """The database, opened for this request alone: it may have been replaced or migrated since the last."""
    with open_reader(settings_of(request).db) as reader:
        yield reader


def run_of(request: Request, reader: Reader) -> Run:
    """The run whose number is in the address."""
    number = int(request.path_params["run"])
    # SQLite's numbers have 64 bits.
    run = reader.find_run(number) if number < 2**63 else None
    if run is None:
        raise ViewError(
            f"there is no run {number} in {reader.address}. It may have been deleted. The first page lists "
            "the runs.",
            HTTPStatus.NOT_FOUND,
        )
    return run


def whole_number(request: Request, name: str, default: int = 0, most: int = 10**9) -> int:
    """A number of the query, such as the first row of a page."""
    given = request.query_params.get(name)
    if given is None or given == "":
        return default
    if not given.isdecimal() or not given.isascii() or len(given) > 12 or int(given) > most:
        raise ViewError(f"{name} must be a whole number from 0 to {most:,}; got {given[:40]!r}.")
    return int(given)


async def read_form(request: Request, largest: int = _LARGEST_FORM) -> dict[str, str]:
    """The fields of a form that was sent by POST."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise ViewError(
                f"a form must have at most {largest // 1024:,} KB; this one has more. Send less text.",
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
    except ValueError:
        raise ViewError("a form must be sent as application/x-www-form-urlencoded, in UTF-8.") from None
