from __future__ import annotations

import pytest

from harness.report.paper_next_tokens import NEXT_TOKENS
from harness.report.with_model.next_tokens import paper_table
from harness.report.with_model.prompts import PROMPTS


@pytest.mark.parametrize("place", range(1, 8))
def test_every_prompt_has_the_papers_table_beside_it(place: int) -> None:
    table = paper_table(place)
    printed = next(one for one in NEXT_TOKENS if one.prompt == PROMPTS[place - 1].text)
    assert table.paper == f"Table {printed.table} of the paper"
    assert len(table.rows) == len(printed.tokens)
    for row, token in zip(table.rows, printed.tokens, strict=True):
        assert row.cells[0].value == token.probability
        assert [cell.text == "yes" for cell in row.cells[2:]] == list(token.accepted)


def test_the_first_is_that_of_taylor() -> None:
    row = paper_table(1).rows[4]
    texts = [cell.text for cell in row.cells]
    assert (row.label, texts) == ("30", ["2.2e-03", "␣Sw", "no", "yes", "no", "yes"])
