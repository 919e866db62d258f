from __future__ import annotations

import numpy as np
import pytest

import bat
from bat.errors import InvalidInputError
from bat.rules import ThresholdRule, get_rule
from harness.explore.next_token import next_distribution
from harness.explore.prompts import encode_prompt, token_text, visible
from harness.report.parts import Picture, Table
from harness.report.with_model.next_tokens import TOKENS, next_token_parts
from harness.report.with_model.prompts import PROMPTS
from workers import models
from workers.models import LanguageModel

RULES = [get_rule(name) for name in ("eta=0.05", "ba-eta=0.2", "typical=0.5")]
CONSTRAINTS = 6


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load("fake:v=400,d=16", device="cpu")


@pytest.fixture(scope="module")
def parts(fake: LanguageModel) -> list[Table | Picture]:
    return next_token_parts(fake, RULES, CONSTRAINTS)


def test_there_is_a_table_for_each_prompt_and_a_figure_of_all(parts: list[Table | Picture]) -> None:
    *tables, picture = parts
    assert [table.name for table in tables] == [f"next-tokens-{n}" for n in range(1, 8)]
    assert [table.paper for table in tables] == [prompt.paper for prompt in PROMPTS]
    assert isinstance(picture, Picture)
    assert picture.name == "next-tokens"
    for table, prompt in zip(tables, PROMPTS, strict=True):
        assert isinstance(table, Table)
        assert prompt.title in table.title
        assert table.columns == ("Rank", "Prob", "Token", "eta=0.05", "ba-eta=0.2", "typical=0.5")
        assert len(table.rows) == TOKENS
        assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)


def test_cells_are_what_the_rules_say_of_the_model(fake: LanguageModel, parts: list[Table | Picture]) -> None:
    basis = fake.basis(CONSTRAINTS)
    words: set[str] = set()
    for table, prompt in zip(parts[:2], PROMPTS[:2], strict=True):
        assert isinstance(table, Table)
        ids = encode_prompt(fake, prompt.text)
        probs = next_distribution(fake, ids)
        order = np.argsort(-probs, kind="stable")
        for row in table.rows:
            token = int(order[int(row.label)])
            chance, text, *said = row.cells
            assert chance.value == probs[token]
            assert chance.text == f"{probs[token]:.1e}"
            assert text.text == visible(token_text(fake.tokenizer, ids, token))
            for rule, cell in zip(RULES, said, strict=True):
                expected = "yes" if rule.keep(probs[None])[0, token] else "no"
                if rule.basis_aware and expected == "no":
                    assert isinstance(rule, ThresholdRule)
                    [tau] = rule.thresholds(probs[None])
                    expected = "basis" if bat.candidate_set(basis, probs, tau).mask()[token] else "no"
                assert cell.text == expected
                words.add(expected)
        [tau] = RULES[1].thresholds(probs[None])  # type: ignore[attr-defined]
        assert f"{tau:.2g} for ba-eta=0.2, none for typical=0.5" in table.notes[0]
    assert words == {"yes", "no", "basis"}


def test_progress_is_told_and_plain_methods_need_no_basis(fake: LanguageModel) -> None:
    told: list[int] = []
    parts = next_token_parts(fake, RULES[:1], progress=told.append)
    assert told == [1, 2, 3, 4, 5, 6, 7]
    assert len(parts) == 8


def test_no_methods_are_invalid(fake: LanguageModel) -> None:
    with pytest.raises(InvalidInputError, match="at least one method"):
        next_token_parts(fake, [])
