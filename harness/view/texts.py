"""The same prefix under each method and by the person, token by token; search and filters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bat.errors import InvalidInputError
from harness.api.text_search import HAVING, TextFilter, find_prefixes
from harness.api.texts import PrefixTexts, TextGroup, check_item, read_prefixes, text_groups, token_pieces
from harness.report.formats.samples import Piece
from harness.store import Reader, Run
from harness.view.page import Page
from harness.view.rendering import render_page
from harness.view.requests import reading, run_of, whole_number

_ON_A_PAGE = 20
_LONGEST_SEARCH = 200
# Neither the list nor the way to the next text waits longer for a search in traces.
_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the visitor reads: a group of texts, a seed, and what is looked for."""

    groups: Sequence[TextGroup]
    number: int  # of the group
    seed: int | None
    wanted: TextFilter

    @property
    def group(self) -> TextGroup:
        return self.groups[self.number]

    def query(self, **others: object) -> str:
        """The same choice in the address of another page: nothing, or a question mark and what is chosen."""
        wanted = self.wanted
        values = {
            **{"group": self.number or "", "seed": self._seed_in_address()},
            **{"words": wanted.words, "setting": wanted.setting, "having": wanted.having},
            **{"first": wanted.first, "second": wanted.second, **others},
        }
        chosen = urlencode({name: value for name, value in values.items() if value not in ("", None)})
        return f"?{chosen}" if chosen else ""

    def _seed_in_address(self) -> int | None:
        return None if not self.group.seeds or self.seed == self.group.seeds[0] else self.seed


def _choose(request: Request, reader: Reader, run: Run) -> _Choice | None:
    """None if the run has no texts."""
    groups = text_groups(reader, run)
    if not groups:
        return None
    number = whole_number(request, "group", most=len(groups) - 1)
    seeds = groups[number].seeds
    seed = whole_number(request, "seed", seeds[0], most=2**62) if seeds else None
    if seed is not None and seed not in seeds:
        raise InvalidInputError(f"seed must be one of {', '.join(map(str, seeds))}; got {seed}.")
    fields = {
        name: request.query_params.get(name, "").strip()
        for name in ("words", "setting", "having", "first", "second")
    }
    if len(fields["words"]) > _LONGEST_SEARCH:
        raise InvalidInputError(f"a search must have at most {_LONGEST_SEARCH} letters.")
    return _Choice(groups, number, seed, TextFilter(**fields))


def _list(request: Request) -> Response:
    with reading(request) as reader:
        run = run_of(request, reader)
        choice = _choose(request, reader, run)
        if choice is None:
            return render_page(request, "texts_none.html.j2", title=f"Texts of {run.label}", run=run)
        start = whole_number(request, "from")
        total = reader.prefix_set(choice.group.prefix_set).prefixes
        found = find_prefixes(
            *(reader, run, choice.group, choice.seed, choice.wanted, start, _ON_A_PAGE), seconds=_SECONDS
        )
    return render_page(
        request,
        "texts.html.j2",
        title=f"Texts of {run.label}",
        run=run,
        choice=choice,
        found=found,
        start=start,
        total=total,
        having=HAVING,
    )


def _one(request: Request) -> Response:
    """One prefix, and the way to the next one that is looked for."""
    item = int(request.path_params["item"]) - 1
    with reading(request) as reader:
        run = run_of(request, reader)
        choice, prefix = _find_prefix(request, reader, run, item)
        total = check_item(reader, choice.group, item)
        arguments = (reader, run, choice.group, choice.seed, choice.wanted)
        after = find_prefixes(*arguments, item + 1, 1, seconds=_SECONDS)
        before = find_prefixes(*arguments, item - 1, 1, backwards=True, seconds=_SECONDS) if item else None
    wanted = choice.wanted
    shown = [
        text for text in prefix.texts if not wanted.first or text.setting in (wanted.first, wanted.second)
    ]
    return render_page(
        request,
        "text.html.j2",
        title=f"Prefix {item + 1} of {run.label}",
        run=run,
        choice=choice,
        prefix=prefix,
        texts=shown or prefix.texts,
        total=total,
        shared=prefix.shared_tokens(wanted.first, wanted.second),
        # Where the search ran out of time, the way leads to where it would go on.
        after=after.prefixes[0].texts.item if after.prefixes else after.next_item,
        before=None
        if before is None
        else before.prefixes[0].texts.item
        if before.prefixes
        else before.next_item,
    )


def _tokens(request: Request) -> Response:
    """The tokens of the texts of one prefix. The page does not wait until a tokenizer is loaded."""
    item = int(request.path_params["item"]) - 1
    with reading(request) as reader:
        run = run_of(request, reader)
        choice, prefix = _find_prefix(request, reader, run, item)
        pieces = token_pieces(reader, run, choice.group, prefix)
    by_job = {
        text.job: [] if own is None else list(map(_record, own))
        for text, own in zip(prefix.texts, pieces, strict=True)
    }
    return JSONResponse(by_job)


def _find_prefix(request: Request, reader: Reader, run: Run, item: int) -> tuple[_Choice, PrefixTexts]:
    choice = _choose(request, reader, run)
    if choice is None:
        raise InvalidInputError(f"run {run.label} has no texts yet.")
    check_item(reader, choice.group, item)
    return choice, read_prefixes(reader, run, choice.group, choice.seed, [item])[0]


def _record(piece: Piece) -> dict[str, Any]:
    """A token for the script; what is usual is left out."""
    record: dict[str, Any] = {"text": piece.text, "p": _number(piece.probability)}
    if math.isfinite(piece.threshold):
        record["threshold"] = _number(piece.threshold)
    if piece.acceptance:
        record["how"] = piece.acceptance.name.lower()
    if piece.rejected:
        record |= {"rejected": piece.rejected, "undecided": piece.undecided}
    return record


def _number(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


PAGE = Page(
    "Texts",
    "/runs/{run}/texts",
    (
        Route("/runs/{run:int}/texts", _list),
        Route("/runs/{run:int}/texts/{item:int}", _one),
        Route("/runs/{run:int}/texts/{item:int}/tokens", _tokens),
    ),
)
