"""What a judge sees and sends.

Every page belongs to the link of one judge. What is shown follows from the database alone: consent, the item
that waits for an answer, or the end. So a judge may close the browser, reload or come back elsewhere, and the
server may be killed at any moment.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from harness.judge.assigning import Assigner
from harness.judge.design import StudyDesign
from harness.store.judging import NotLeasedError, StudyStore
from harness.store.study_records import Answer, Assignment, Judge, Study, StudyItem
from harness.view.judging.limits import Limits
from harness.view.judging.settings import JudgeSettings
from harness.view.problems import ViewError, wants_json
from harness.view.rendering import render_page
from harness.view.requests import read_form

MOST_REMARK = 2000  # letters
_LARGEST_FORM = 32 * 1024  # a letter of a remark is sent as up to nine
_MOST_SECONDS = 24 * 3600.0
_MOST_PARAMETER = 100  # letters of a platform's parameter
_CHOICES = {"1": Answer.FIRST, "2": Answer.SECOND, "0": Answer.TIE}  # as the texts are shown
_PLATFORM = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


@dataclass(frozen=True, slots=True)
class Room:
    """What the pages of a study share."""

    settings: JudgeSettings
    store: StudyStore
    study: Study
    design: StudyDesign
    assigner: Assigner
    length: int  # of a judge's sequence, at most
    of_judges: Limits
    of_entries: Limits

    def get_judge(self, request: Request) -> Judge:
        """The judge whose link this is."""
        token = request.path_params["token"]
        judge = self.store.find_judge(token) if _is_token(token) else None
        if judge is None or judge.study_id != self.study.id:
            raise self.unknown_link()
        self.of_judges.take(judge.id)
        return judge

    def unknown_link(self) -> ViewError:
        """For strangers, who share one limit."""
        self.of_entries.take("strangers")
        return ViewError(
            "this link is not one of this study. Open the link that you were given, all of it.",
            HTTPStatus.NOT_FOUND,
        )


def room_of(request: Request) -> Room:
    """What the server that is asked serves."""
    room: Room = request.app.state.room
    return room


def _enter(request: Request) -> Response:
    """The link with a platform's parameters leads to the judge's own."""
    room = room_of(request)
    given = {name: request.query_params.get(name, "").strip() for name in _PLATFORM}
    is_ours = secrets.compare_digest(request.path_params["token"].encode(), room.study.open_token.encode())
    if not (room.settings.is_open and is_ours):
        raise room.unknown_link()
    room.of_entries.take("entries")
    person = given["PROLIFIC_PID"]
    if not person or not all(_is_short(value) for value in given.values()):
        raise ViewError(
            "the link must have the parameter PROLIFIC_PID, of at most 100 letters and digits. Open the "
            "study from the platform, which adds it."
        )
    platform = {name: given[name] for name in _PLATFORM[1:] if given[name]}
    judge = room.store.enter(room.study.id, person, platform)
    return RedirectResponse(_page_of(judge), HTTPStatus.SEE_OTHER)


def _is_short(value: str) -> bool:
    return len(value) <= _MOST_PARAMETER and value.isprintable()


def _is_token(text: str) -> bool:
    """Whether a link could be one of ours; what no database could store is not looked for."""
    return text.isascii() and text.isprintable() and len(text) <= _MOST_PARAMETER


def _show(request: Request) -> Response:
    """Consent, the item that waits for an answer, or the end."""
    room = room_of(request)
    judge = room.get_judge(request)
    if not judge.consented:
        return render_page(request, "judging/consent.html.j2", title="Before you begin", design=room.design)
    current = room.store.next_assignment(judge, room.settings.lease_seconds, room.assigner)
    done = room.store.count_answered(judge.id)
    if current is None:
        link = room.settings.completion_link if judge.platform_id else None
        code = room.settings.completion_code if judge.platform_id else None
        return render_page(
            request, "judging/end.html.j2", title="Thank you", done=done, completion_link=link, code=code
        )
    item = room.store.item(room.study.id, current.item)
    return render_page(
        request,
        "judging/item.html.j2",
        title="Compare",
        design=room.design,
        current=current,
        prefix=item.prefix,
        texts=_as_shown(item, current),
        done=done,
        length=max(room.length, done + 1),
        most_remark=MOST_REMARK,
        may_undo=done > 0 and current.attempt == 1,
    )


def _as_shown(item: StudyItem, current: Assignment) -> tuple[str, str]:
    return (item.second, item.first) if current.swapped else (item.first, item.second)


async def _consent(request: Request) -> Response:
    room = room_of(request)
    judge = await run_in_threadpool(room.get_judge, request)
    await read_form(request, _LARGEST_FORM)
    await run_in_threadpool(room.store.consent, judge.id)
    return _back(request, judge)


async def _answer(request: Request) -> Response:
    """Store an answer; the reply is sent when it is committed."""
    room = room_of(request)
    judge = await run_in_threadpool(room.get_judge, request)
    form = await read_form(request, _LARGEST_FORM)
    if not judge.consented:
        raise NotLeasedError("answers are taken once you have agreed to take part. Reload the page.")
    await run_in_threadpool(_store_answer, room, judge, form)
    return _back(request, judge)


def _store_answer(room: Room, judge: Judge, form: Mapping[str, str]) -> None:
    position, attempt = (_whole_number(form, name) for name in ("position", "attempt"))
    choice = _CHOICES.get(form.get("choice", ""))
    if choice is None:
        raise ViewError(
            f"an answer must be 1, 2 or 0; got {form.get('choice', '')[:20]!r}. Choose one of them."
        )
    # Forms send line breaks as two letters; the page counts them as one.
    remark = form.get("remark", "").replace("\r\n", "\n").strip()
    if len(remark) > MOST_REMARK:
        raise ViewError(
            f"a remark must have at most {MOST_REMARK:,} letters; this one has {len(remark):,}. Shorten it, "
            "and answer again."
        )
    room.store.answer(
        judge, position, attempt, choice, _seconds(form.get("seconds", "")), remark.replace("\x00", "")
    )


def _seconds(text: str) -> float | None:
    """The time that a page measured; None if it did not, or sent something else."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds <= _MOST_SECONDS else None


def _whole_number(form: Mapping[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ViewError(f"{name} of an answer must be a whole number; got {text[:20]!r}. Reload the page.")
    return int(text)


async def _undo(request: Request) -> Response:
    room = room_of(request)
    judge = await run_in_threadpool(room.get_judge, request)
    await read_form(request, _LARGEST_FORM)
    await run_in_threadpool(room.store.undo, judge, room.settings.lease_seconds)
    return _back(request, judge)


def _back(request: Request, judge: Judge) -> Response:
    """To the page of the judge; a script loads it by itself."""
    if wants_json(request):
        return JSONResponse({"stored": True})
    return RedirectResponse(_page_of(judge), HTTPStatus.SEE_OTHER)


def _page_of(judge: Judge) -> str:
    return f"/j/{judge.token}"


ROUTES = (
    Route("/s/{token}", _enter),
    Route("/j/{token}", _show),
    Route("/j/{token}/consent", _consent, methods=["POST"]),
    Route("/j/{token}/answer", _answer, methods=["POST"]),
    Route("/j/{token}/undo", _undo, methods=["POST"]),
)
