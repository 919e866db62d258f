"""Studies of texts made elsewhere: a row for each prefix, a column for each method.

This is the layout of Hewitt, Manning and Liang's study (2022): `prefix`, `eta`, `topp`, `human`, and columns
with the last tokens of each, which are what their judges saw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from bat.errors import InvalidInputError
from harness.judge.design import HUMAN, PairDesign
from harness.judge.making import PairTexts, paired
from harness.judge.sides import ShownText
from harness.report.tables.comparing import split_sides
from workers.corpora.tables import Row, check_unique, read_table


def pairs_of_file(
    file: str,
    pairs: Sequence[str],
    columns: Mapping[str, str],
    *,
    prefix_column: str = "prefix",
    human_column: str | None = None,
) -> tuple[list[PairTexts], dict[str, ShownText]]:
    """The texts of each pair, and the human texts for attention checks.

    A side of a pair is a column, or a label that `columns` gives a column. A text that begins with its prefix
    is shown without it.
    """
    if not pairs:
        raise InvalidInputError("a study must compare at least one pair of columns, such as --pair eta:topp.")
    splits = [
        split_sides(text, what="a pair must be two columns or labels", example="eta:topp") for text in pairs
    ]
    sides = [ways[0] for ways in splits]
    if any(len(ways) > 1 for ways in splits):
        raise InvalidInputError(
            f"a pair must be two columns or labels without colons; got {', '.join(pairs)}. Give columns "
            "labels with --method LABEL=COLUMN."
        )
    labels = list(dict.fromkeys(side for pair in sides for side in pair))
    if human_column is not None:
        labels.append(HUMAN)
        columns = {**columns, HUMAN: human_column}
    asked = [columns.get(label, label) for label in labels]
    rows = read_table(file, (prefix_column, *asked))
    check_unique(rows, lambda row: row.texts[0], "prefix")
    texts: dict[str, dict[str, ShownText]] = {label: {} for label in labels}
    prefixes = {}
    for row in rows:
        name = _name_of(row)
        prefixes[name] = row.texts[0]
        for label, text in zip(labels, row.texts[1:], strict=True):
            texts[label][name] = ShownText(_without_prefix(text, row.texts[0]))
    found = [
        paired(PairDesign(first, second), prefixes, texts[first], texts[second]) for first, second in sides
    ]
    return found, texts.get(HUMAN, {})


def _name_of(row: Row) -> str:
    return hashlib.sha256(row.texts[0].encode()).hexdigest()[:16]


def _without_prefix(text: str, prefix: str) -> str:
    return text[len(prefix) :] if text.startswith(prefix) else text
