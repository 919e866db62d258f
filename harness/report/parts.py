"""What a report is made of: plain records, which know nothing of databases or file formats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table: what is shown, the number behind it, and the jobs it comes from."""

    text: str  # "91.2 [89.0, 93.1]"; empty where there is nothing to say
    value: float | None = None
    low: float | None = None
    high: float | None = None
    jobs: tuple[str, ...] = ()  # ids of the jobs whose results it is made of
    how: str = ""  # how it came from them, in a sentence
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table."""

    label: str
    cells: tuple[Cell, ...]  # one for each column but the first


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `name` is the name of its files and what `bat-harness trace` is given."""

    name: str  # "comparison"
    title: str
    caption: str  # what is shown, with what intervals
    columns: tuple[str, ...]  # the first is the heading of the labels
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()  # below the table, a sentence each
    paper: str = ""  # what of the paper it mirrors, such as "Table 1 of the paper"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as an SVG drawing, and what it shows in words for those who cannot see it."""

    name: str
    title: str
    caption: str
    svg: bytes
    alternative: str
    paper: str = ""


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of a page that is neither: its HTML, and the same as Markdown."""

    name: str
    title: str
    html: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A part of the paper that there is no data for, and the command that would make it."""

    what: str
    why: str
    command: str


Part = Table | Picture | Markup


@dataclass(frozen=True, slots=True)
class Section:
    """Parts that belong together."""

    title: str
    text: str  # a paragraph before the parts; may be empty
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    title: str
    summary: str  # a paragraph: what was compared, on what, and what came of it
    sections: tuple[Section, ...]
    missing: tuple[Missing, ...]
    provenance: tuple[tuple[str, str], ...]  # (what, value): configuration, versions, fingerprints, dates
