"""The parts of a report: plain records, independent of databases and file formats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table: its text, the number behind it, and the jobs it comes from."""

    text: str  # such as "91.2 [89.0, 93.1]"; empty if there is no number
    value: float | None = None
    low: float | None = None
    high: float | None = None
    jobs: tuple[str, ...] = ()  # ids of the jobs whose results it was computed from
    how: str = ""  # how it was computed, in a sentence
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...]  # one for each column but the first
    rule: str = ""  # the sampling rule of its method, which figures draw; may be empty


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its files are called `name`, and `bat-harness trace` takes it."""

    name: str  # "comparison"
    title: str
    caption: str  # what the numbers and intervals are
    columns: tuple[str, ...]  # the first is the heading of the labels
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()  # below the table, a sentence each
    paper: str = ""  # what it corresponds to, such as "Table 1 of the paper"; may be empty
    folded: bool = False  # whether a page shows only its title until it is opened


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as SVG, and a description of it for those who cannot see it."""

    name: str
    title: str
    caption: str
    svg: bytes
    alternative: str
    paper: str = ""


@dataclass(frozen=True, slots=True)
class Markup:
    """Another part of a page, as HTML and as Markdown."""

    name: str
    title: str
    html: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A part without data, and the command that computes the data."""

    what: str
    why: str
    command: str
    of_paper: bool = False  # only missed where the paper is reproduced


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
    summary: str  # a paragraph: what was compared, on which texts, with which result
    sections: tuple[Section, ...]
    missing: tuple[Missing, ...]
    provenance: tuple[tuple[str, str], ...]  # (what, value): configuration, versions, fingerprints, dates
