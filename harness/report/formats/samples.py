"""Texts side by side: colour and underline show how each token was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup as Html

from bat.acceptance import Acceptance
from harness.report.formats.html import render
from harness.report.formats.markdown import escape, escape_piece, paragraph
from harness.words import counted

_CERTIFIED = "certified"
_FALLBACK = "fallback"
_STYLES = {
    Acceptance.THRESHOLD: "",
    Acceptance.CERTIFIED: _CERTIFIED,
    Acceptance.GREEDY_FALLBACK: _FALLBACK,
    Acceptance.EXACT_FALLBACK: _FALLBACK,
}
_MEANINGS = {
    "plain": "at or above the threshold, or accepted by a plain rule",
    _CERTIFIED: "accepted below the threshold, with a certificate: the output matrix needs this token",
    _FALLBACK: "every candidate was rejected, and the fallback was used",
    "mark": "number of candidates that were drawn and rejected before the next token",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one token, and how it was accepted."""

    text: str
    acceptance: Acceptance
    probability: float
    threshold: float  # NaN for a rule without one
    rejected: tuple[str, ...]  # texts of the candidates rejected before it
    undecided: int  # how many of those the bounds did not decide


@dataclass(frozen=True, slots=True)
class Continuation:
    """The text of a method; `pieces` is None if it cannot be split into tokens."""

    title: str
    detail: str
    text: str
    pieces: tuple[Piece, ...] | None


@dataclass(frozen=True, slots=True)
class Opening:
    """A prefix with its continuations by a person and by methods."""

    index: int  # in the set of prefixes, from 0
    text: str
    human: str
    continuations: tuple[Continuation, ...]


def html(openings: Sequence[Opening], notes: Sequence[str]) -> str:
    """Return the texts as part of a page, which has the styles for them."""
    shown = [
        {
            "index": opening.index,
            "text": opening.text,
            "texts": [
                ("People", "", opening.human, True),
                *((text.title, text.detail, _html_text(text), False) for text in opening.continuations),
            ],
        }
        for opening in openings
    ]
    legend = _html_legend() if _has_pieces(openings) else []
    return render("samples.html.j2", openings=shown, notes=notes, legend=legend)


def markdown(openings: Sequence[Opening], notes: Sequence[str]) -> str:
    """Return the same as Markdown: certified tokens in bold, fallbacks in italics, rejections counted."""
    blocks = [_markdown_legend()] if _has_pieces(openings) else []
    blocks += [paragraph(note) for note in notes]
    for opening in openings:
        blocks.append(f"#### Prefix {opening.index + 1}")
        blocks.append(f"> {_one_line(escape_piece(opening.text))}")
        blocks.append(f"**People**: {_one_line(escape_piece(opening.human))}")
        for text in opening.continuations:
            detail = f" ({escape(text.detail)})" if text.detail else ""
            blocks.append(f"**{escape(text.title)}**{detail}: {_markdown_text(text)}")
    return "\n\n".join(blocks) + "\n"


def _has_pieces(openings: Sequence[Opening]) -> bool:
    return any(text.pieces is not None for opening in openings for text in opening.continuations)


def _visible(text: str) -> str:
    """Make line breaks and spaces visible, for tokens that are marked."""
    text = text.replace("\r\n", "\n").replace("\n", "\u21b5\n")
    return text if text.strip() else text.replace(" ", "\u2423")


def _story(piece: Piece) -> str:
    """How a token was accepted, shown when the pointer is over it."""
    if piece.acceptance is Acceptance.CERTIFIED:
        return (
            f"probability {piece.probability:.2g}, below the threshold {piece.threshold:.2g}; accepted with "
            "a certificate"
        )
    greedy = piece.acceptance is Acceptance.GREEDY_FALLBACK
    fallback = "the most likely token" if greedy else "a draw from the exact candidate set"
    return f"every candidate was rejected; this is {fallback}, probability {piece.probability:.2g}"


def _rejection_story(piece: Piece) -> str:
    listed = ", ".join(repr(text) for text in piece.rejected)
    undecided = f"; {piece.undecided} of them undecided" if piece.undecided else ""
    return f"{counted(len(piece.rejected), 'candidate')} rejected before this token: {listed}{undecided}"


def _html_legend() -> list[Html]:
    return [
        Html("plain: {}").format(_MEANINGS["plain"]),
        *(
            Html('<span class="{0}">{0}</span>: {1}').format(style, _MEANINGS[style])
            for style in (_CERTIFIED, _FALLBACK)
        ),
        Html('<span class="rejected">2</span>: {}').format(_MEANINGS["mark"]),
    ]


def _markdown_legend() -> str:
    ways = ("Plain", "plain"), ("**Bold**", _CERTIFIED), ("*Italic*", _FALLBACK), ("<sup>[2]</sup>", "mark")
    return " ".join(f"{shown}: {_MEANINGS[way]}." for shown, way in ways)


def _html_text(continuation: Continuation) -> str | Html:
    if continuation.pieces is None:
        return continuation.text
    parts = []
    for piece in continuation.pieces:
        if piece.rejected:
            mark = Html('<span class="rejected" title="{}">{}</span>')
            parts.append(mark.format(_rejection_story(piece), len(piece.rejected)))
        style = _STYLES[piece.acceptance]
        if style:
            token = Html('<span class="{}" title="{}">{}</span>')
            parts.append(token.format(style, _story(piece), _visible(piece.text)))
        else:
            parts.append(Html.escape(piece.text))
    return Html("").join(parts)


def _markdown_text(continuation: Continuation) -> str:
    if continuation.pieces is None:
        return _one_line(escape_piece(continuation.text))
    parts = []
    for piece in continuation.pieces:
        if piece.rejected:
            parts.append(f"<sup>[{len(piece.rejected)}]</sup>")
        style = _STYLES[piece.acceptance]
        parts.append(_emphasized(_visible(piece.text), style) if style else escape_piece(piece.text))
    return _one_line("".join(parts))


def _emphasized(text: str, style: str) -> str:
    """Stars around a separate word; a tag beside other letters and signs, where stars do not work."""
    core = text.strip()
    if not core:
        return escape_piece(text)
    before, after = text[: text.index(core)], text[text.index(core) + len(core) :]
    star, tag = ("**", "strong") if style == _CERTIFIED else ("*", "em")
    if core.isalnum() and before:
        return f"{before}{star}{core}{star}{after}"
    return f"{before}<{tag}>{escape_piece(core)}</{tag}>{after}"


def _one_line(text: str) -> str:
    return "<br>".join(text.strip("\r\n").splitlines())
