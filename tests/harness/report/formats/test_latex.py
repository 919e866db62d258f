from __future__ import annotations

import re

import pytest

from bat.errors import InvalidInputError
from harness.report.formats import latex
from harness.report.formats.latex_text import escape
from harness.report.parts import Cell, Row, Table
from tests.harness.report.formats.made_report import HOSTILE, SPECIAL, comparison

EXPECTED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\`{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "[": "{[}",
    "*": "{*}",
    "η": r"$\eta$",
    "ε": r"$\varepsilon$",
    "τ": r"$\tau$",
    "Σ": r"$\Sigma$",
    "±": r"$\pm$",
    "−": "$-$",
    "≥": r"$\ge$",
    "×": r"$\times$",
    "é": r"\'{e}",
    "ü": r"\"{u}",
    "ř": r"\v{r}",
    "ø": r"\o{}",
    "“": r"\textquotedblleft{}",
    "…": r"\dots{}",
    "中": r"\texttt{U+4E2D}",
    "😀": r"\texttt{U+1F600}",
    "\x07": r"\texttt{U+0007}",
}


def unescaped(text: str) -> list[str]:
    """Characters that still mean something to TeX once its commands are taken out, braces balanced."""
    text = re.sub(r"\$(-|\\[A-Za-z]+|\^\\circ)\$", "", text)
    text = re.sub(r"\\[A-Za-z]+|\\[^A-Za-z]", "", text)
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        assert depth >= 0, text
    assert depth == 0, text
    return [character for character in text if character in "\\%$#&_^~" or not character.isascii()]


@pytest.mark.parametrize(("character", "command"), EXPECTED.items())
def test_each_special_character(character: str, command: str) -> None:
    assert escape(character) == command
    assert escape(f"a{character}b") == f"a{command}b"
    assert unescaped(escape(character)) == []


def test_every_printable_character_of_ascii_and_beyond_is_harmless() -> None:
    everything = "".join(map(chr, [*range(32, 127), *range(160, 1400), 0x2212, 0x4E00, 0x1F600]))
    found = escape(everything)
    assert found.isascii()
    assert [one for one in unescaped(found) if one != "~"] == []  # of the no-break space
    assert unescaped(escape(SPECIAL + HOSTILE)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1.9 to 3.1", "$-$1.9 to 3.1"),
        ("-0.6 [-1.9, 3.1]", "$-$0.6 {[}$-$1.9, 3.1]"),
        ("10-20", "10-20"),
        ("1e-05", "1e-05"),
        ("ba-eta", "ba-eta"),
        ("a -- b --- c", "a -{}- b -{}-{}- c"),
        ("it''s", "it'{}'s"),
        ("two\n\n  lines", "two lines"),
        ("e\u0301", r"\'{e}"),
    ],
)
def test_hyphens_quotes_and_spaces(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_a_table() -> None:
    lines = latex.table(comparison()).splitlines()
    assert lines[0] == r"% \usepackage{booktabs}"
    assert lines[1] == r"\begin{table}"
    assert lines[-1] == r"\end{table}"
    assert r"\label{tab:comparison}" in lines
    assert r"\begin{tabular}{lrrp{0.50\linewidth}}" in lines
    caption = next(line for line in lines if line.startswith(r"\caption"))
    assert caption == (
        r"\caption[{MAUVE by method}]{\textbf{MAUVE by method.} MAUVE times 100 with 95\% intervals over "
        r"resampled prefixes. Corresponds to Table 1 of the paper.}"
    )
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(rows) == 3
    assert rows[1] == (
        r"ba-eta=0.0089 (c=20) & \textbf{88.4 {[}86.5, 90.3]} & $-$1.5 {[}$-$2.0, $-$1.0] & "
        r"no difference shown \\"
    )
    assert all(len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
    assert lines[lines.index(r"\footnotesize") + 1] == r"Intervals over generation seeds need two seeds.\par"


def test_environments_are_closed_in_order() -> None:
    text = latex.table(comparison())
    open_ones: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert open_ones == []


def test_a_wide_table_is_shrunk_and_one_without_notes_has_none() -> None:
    columns = tuple(f"c{place}" for place in range(9))
    wide = Table("wide", "Wide.", "", columns, (Row("[x", tuple(Cell("1", 1.0) for _ in columns[1:])),))
    text = latex.table(wide)
    assert text.startswith(r"% \usepackage{booktabs,graphicx}")
    assert r"\resizebox{\linewidth}{!}{%" in text
    assert r"\end{tabular}}" in text
    assert r"\textbf{Wide.}" in text
    assert "minipage" not in text
    assert "\n{[}x & 1 &" in text


def test_a_row_must_fit_the_columns() -> None:
    crooked = Table("crooked", "t", "c", ("a", "b"), (Row("first", ()),))
    with pytest.raises(InvalidInputError, match="1 of them; got 0 in row 'first' of table 'crooked'"):
        latex.table(crooked)
