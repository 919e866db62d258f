"""A made-up report with every kind of part, and texts that every format has to be careful with."""

from __future__ import annotations

from harness.report.parts import Cell, Markup, Missing, Picture, Report, Row, Section, Table

# Each of them means something to HTML, Markdown, LaTeX or CSV.
SPECIAL = r"""\ { } & % $ # _ ~ ^ ` < > | " ' [ ] * -- , ; = + ! @ ( ) / : ?"""
HOSTILE = """<script>alert("1")</script> **b** [x](http://example.org) $a_1$ & 50% #1 {x} \\input"""

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"><rect width="80" height="20"/></svg>'


def number(value: float, low: float, high: float, *, bold: bool = False, how: str = "") -> Cell:
    return Cell(f"{value} [{low}, {high}]", value, low, high, ("a" * 64,), how, bold)


def comparison(name: str = "comparison") -> Table:
    return Table(
        name=name,
        title="MAUVE by method",
        caption="MAUVE times 100 with 95% intervals over resampled prefixes.",
        columns=("method", "MAUVE", "over k-means seeds", "in words"),
        rows=(
            Row(
                "eta=0.0009",
                (
                    number(87.8, 85.9, 89.7, how="mean over 5 clusterings"),
                    number(87.8, 87.1, 88.5),
                    Cell("the reference of the comparison, which everything else is held against here"),
                ),
            ),
            Row(
                "ba-eta=0.0089 (c=20)",
                (
                    number(88.4, 86.5, 90.3, bold=True, how='"best" & <first>'),
                    number(-1.5, -2.0, -1.0),
                    Cell("no difference shown"),
                ),
            ),
            Row("top-k=40", (Cell("not defined"), Cell(""), Cell(HOSTILE))),
        ),
        notes=("Intervals over generation seeds need two seeds.", f"A note with {HOSTILE}"),
        paper="Table 1 of the paper",
    )


def picture(name: str = "toy") -> Picture:
    return Picture(
        name, "The toy model", "What is kept & what is not.", SVG, 'A "triangle" <with> ] a line', "Figure 3"
    )


def report() -> Report:
    return Report(
        title="demo: plain & basis-aware <rules>",
        summary="Six rules were compared.\n\nNone was shown to be better & that is that.",
        sections=(
            Section("Comparison", "1. A paragraph that looks like a list.", (comparison(), picture())),
            Section(
                "Texts", "", (Markup("samples", "Side by side", "<p>raw &amp; ready</p>", "raw **md**"),)
            ),
            Section("Nothing in it", f"# {HOSTILE}", ()),
        ),
        missing=(
            Missing("Table 4", "No constraints < 20 were run.", "bat-harness run configs/paper/a.yaml"),
        ),
        provenance=(("run", "demo, number 1"), ("configuration", "name: demo\nmodels:\n- name: <fake>\n")),
    )
