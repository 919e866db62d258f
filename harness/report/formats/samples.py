"""Texts side by side: how each token came to be accepted is shown by colour and by a line below it."""

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
    "plain": "at or above the threshold, or kept by a plain rule",
    _CERTIFIED: "below the threshold, with a certificate: the output matrix needs this token",
    _FALLBACK: "every candidate that was tried was refused, and the fallback was taken",
    "mark": "so many candidates were drawn and refused before the token that follows",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one token, and how it came to be accepted."""

    text: str
    acceptance: Acceptance
    probability: float
    threshold: float  # NaN for a rule without one
    refused: tuple[str, ...]  # texts of the candidates refused before it
    undecided: int  # of those, how many no bound could settle


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a method wrote; `pieces` is None where tokens cannot be told apart."""

    title: str
    detail: str
    text: str
    pieces: tuple[Piece, ...] | None


@dataclass(frozen=True, slots=True)
class Opening:
    """A prefix, how the person went on, and what the methods wrote."""

    place: int
    text: str
    human: str
    continuations: tuple[Continuation, ...]


def html(openings: Sequence[Opening], notes: Sequence[str]) -> str:
    """Return the texts as part of a page, whose style has colours for them."""
    shown = [
        {
            "place": opening.place,
            "text": opening.text,
            "texts": [
                ("People", "", opening.human, True),
                *((one.title, one.detail, _html_text(one), False) for one in opening.continuations),
            ],
        }
        for opening in openings
    ]
    legend = _html_legend() if _has_pieces(openings) else []
    return render("samples.html.j2", openings=shown, notes=notes, legend=legend)


def markdown(openings: Sequence[Opening], notes: Sequence[str]) -> str:
    """Return the same as Markdown: certified tokens in bold, fallbacks in italics, refusals counted."""
    blocks = [_markdown_legend()] if _has_pieces(openings) else []
    blocks += [paragraph(note) for note in notes]
    for opening in openings:
        blocks.append(f"#### Prefix {opening.place + 1}")
        blocks.append(f"> {_one_line(escape_piece(opening.text))}")
        blocks.append(f"**People**: {_one_line(escape_piece(opening.human))}")
        for one in opening.continuations:
            detail = f" ({escape(one.detail)})" if one.detail else ""
            blocks.append(f"**{escape(one.title)}**{detail}: {_markdown_text(one)}")
    return "\n\n".join(blocks) + "\n"


def _has_pieces(openings: Sequence[Opening]) -> bool:
    return any(one.pieces is not None for opening in openings for one in opening.continuations)


def _visible(text: str) -> str:
    """A token that is more than plain must be seen even where it is a break of lines or a space."""
    text = text.replace("\r\n", "\n").replace("\n", "\u21b5\n")
    return text if text.strip() else text.replace(" ", "\u2423")


def _story(piece: Piece) -> str:
    """How a token came to be accepted, for those who point at it."""
    if piece.acceptance is Acceptance.CERTIFIED:
        return (
            f"probability {piece.probability:.2g}, below the threshold {piece.threshold:.2g}; kept, with a "
            "certificate"
        )
    greedy = piece.acceptance is Acceptance.GREEDY_FALLBACK
    taken = "the most likely token" if greedy else "a draw from the exact candidate set"
    return f"every candidate that was tried was refused; this is {taken}, probability {piece.probability:.2g}"


def _refusal_story(piece: Piece) -> str:
    listed = ", ".join(repr(text) for text in piece.refused)
    undecided = f"; {piece.undecided} of them could not be decided" if piece.undecided else ""
    return f"{counted(len(piece.refused), 'candidate')} refused before this token: {listed}{undecided}"


def _html_legend() -> list[Html]:
    return [
        Html("plain: {}").format(_MEANINGS["plain"]),
        *(
            Html('<span class="{0}">{0}</span>: {1}').format(style, _MEANINGS[style])
            for style in (_CERTIFIED, _FALLBACK)
        ),
        Html('<span class="refused">2</span>: {}').format(_MEANINGS["mark"]),
    ]


def _markdown_legend() -> str:
    ways = ("Plain", "plain"), ("**Bold**", _CERTIFIED), ("*Italic*", _FALLBACK), ("<sup>[2]</sup>", "mark")
    return " ".join(f"{shown}: {_MEANINGS[way]}." for shown, way in ways)


def _html_text(continuation: Continuation) -> str | Html:
    if continuation.pieces is None:
        return continuation.text
    parts = []
    for piece in continuation.pieces:
        if piece.refused:
            mark = Html('<span class="refused" title="{}">{}</span>')
            parts.append(mark.format(_refusal_story(piece), len(piece.refused)))
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
        if piece.refused:
            parts.append(f"<sup>[{len(piece.refused)}]</sup>")
        style = _STYLES[piece.acceptance]
        parts.append(_emphasized(_visible(piece.text), style) if style else escape_piece(piece.text))
    return _one_line("".join(parts))


def _emphasized(text: str, style: str) -> str:
    """Stars work around a word alone; beside other letters, signs and stars a tag does what they cannot."""
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
