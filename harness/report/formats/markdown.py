"""Tables and whole reports as Markdown, in the dialect of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.report.formats.layout import check_report, check_table, full_caption, number_columns, paragraphs
from harness.report.parts import Cell, Missing, Picture, Report, Section, Table

# Characters of emphasis, code, links, tables and formulas. Tags and entities are escaped separately.
_SPECIAL = re.compile(r"[\\`*_|~$]|\](?=[(\[:])")
_SPECIAL_OR_BRACKET = re.compile(r"[\\`*_|~$\[\]]")
# Characters that make a line a heading, a list or a rule when they begin it.
_LINE_START = re.compile(r"^(?:(?=[#+=-])|(\d+)(?=[.)]))")
_BACKTICKS = re.compile(r"`+")


def escape(text: str, *, brackets: bool = False) -> str:
    """Return text that Markdown shows as it is, inside a line.

    Brackets that cannot begin a link, as around intervals, are only escaped with `brackets`.
    """
    return escape_piece(" ".join(text.split()), brackets=brackets)


def escape_piece(text: str, *, brackets: bool = True) -> str:
    """Return a piece of a line that Markdown shows as it is, with its spaces."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (_SPECIAL_OR_BRACKET if brackets else _SPECIAL).sub(r"\\\g<0>", text)


def paragraph(text: str) -> str:
    """Return text that Markdown shows as it is, as a paragraph."""
    return _LINE_START.sub(r"\1\\", escape(text))


def code(text: str) -> str:
    """Return text as inline code, whatever backticks it contains."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def table(table: Table, level: int = 3) -> str:
    """Return the table below a heading of that level, with its caption before it and its notes after it."""
    check_table(table)
    blocks = [f"{'#' * level} {escape(table.title)}", paragraph(full_caption(table)), _grid(table)]
    blocks += [paragraph(note) for note in table.notes]
    return _joined(blocks)


def report(report: Report) -> str:
    """Return the whole report; pictures are links to their files in `figures`."""
    check_report(report)
    blocks = [f"# {escape(report.title)}", *map(paragraph, paragraphs(report.summary))]
    for section in report.sections:
        blocks += _section(section)
    if report.missing:
        blocks += ["## What is missing", "\n".join(map(_missing, report.missing))]
    if report.provenance:
        blocks += ["## Provenance", "\n".join(_fact(*fact) for fact in report.provenance)]
    return _joined(blocks)


def _joined(blocks: list[str]) -> str:
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    yield from map(paragraph, paragraphs(section.text))
    for part in section.parts:
        match part:
            case Table():
                yield table(part).rstrip("\n")
            case Picture():
                yield _picture(part)
            case _:
                yield f"### {escape(part.title)}"
                yield part.markdown.strip("\n")


def _picture(picture: Picture) -> str:
    described = escape(picture.alternative, brackets=True)
    lines = [f"### {escape(picture.title)}", f"![{described}](figures/{picture.name}.svg)"]
    return _joined([*lines, paragraph(full_caption(picture))]).rstrip("\n")


def _grid(table: Table) -> str:
    marks = ["---", *("---:" if is_number else "---" for is_number in number_columns(table))]
    lines = [[escape(column) for column in table.columns], marks]
    lines += [[escape(row.label), *map(_cell, row.cells)] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return f"**{text}**" if cell.bold and text else text


def _missing(missing: Missing) -> str:
    return f"- **{escape(missing.what)}**: {escape(missing.why)} {code(missing.command)}"


def _fact(what: str, value: str) -> str:
    if "\n" not in value.strip():
        return f"- **{escape(what)}**: {escape(value)}"
    longest = max((len(run) for run in _BACKTICKS.findall(value)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [f"- **{escape(what)}**:", "", fence, *value.strip("\n").splitlines(), fence]
    return "\n".join(f"  {line}".rstrip() if index else line for index, line in enumerate(lines))
