"""Values of the paper, read from it by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bat.rules import get_rule
from harness.config import load_config
from harness.explore.preview import PAPER_CHOICES
from harness.report import paper
from harness.report.paper_next_tokens import METHODS, NEXT_TOKENS
from tests.harness.report.made_results import sweep

CONFIGS = Path(__file__).parents[3] / "configs"


def test_lower_entropy_has_every_size_and_basis_aware_wins() -> None:
    assert set(paper.LOWER_ENTROPY) == {"eta", "ba-eta"}
    for size in paper.SIZES:
        assert paper.LOWER_ENTROPY["ba-eta"][size].value > paper.LOWER_ENTROPY["eta"][size].value
    assert paper.LOWER_ENTROPY["ba-eta"]["Small"] == paper.Printed(87.8, 1.0)
    assert paper.LOWER_ENTROPY["eta"]["Medium"] == paper.Printed(90.4, 0.1)


def test_chosen_parameters_are_among_those_tried() -> None:
    assert set(paper.SWEEPS) == set(paper.CHOSEN_PARAMETERS) == {"nucleus", "epsilon", "eta"}
    for rule, chosen in paper.CHOSEN_PARAMETERS.items():
        assert tuple(chosen) == paper.SIZES
        assert set(chosen.values()) <= set(paper.SWEEPS[rule])
        assert set(chosen.values()) == set(PAPER_CHOICES[rule])
        assert all(get_rule(rule, value) for value in paper.SWEEPS[rule])
    assert paper.CHOSEN_PARAMETERS["nucleus"]["XL"] == 0.95


def test_preferences_are_shares() -> None:
    assert len(paper.HUMAN_EVALUATION) == 3
    for one in paper.HUMAN_EVALUATION:
        assert one.first_wins + one.second_wins + one.ties == pytest.approx(1.0)
        assert one.first_wins > one.second_wins
    assert paper.HUMAN_EVALUATION[1].ties == 0.05


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("gpt2", "Small"),
        ("openai-community/gpt2-medium", "Medium"),
        ("gpt2-large", "Large"),
        ("openai-community/gpt2-xl", "XL"),
        ("smollm2-135m", None),
        ("somebody/gpt2", None),
    ],
)
def test_models_of_the_paper_are_known_by_name(name: str, size: str | None) -> None:
    assert paper.find_size(name) == size


def test_statements_say_where_they_stand() -> None:
    for statement in paper.STATEMENTS.values():
        assert statement.where.startswith(("section", "appendix"))
        assert not statement.words.endswith(".")
    assert "28%" in paper.STATEMENTS["ba-nucleus-rate"].words
    assert paper.LARGEST_RATE_OF_BA_NUCLEUS == 0.28


def test_the_seven_prompts_have_their_tables() -> None:
    assert [one.table for one in NEXT_TOKENS] == [5, 6, 7, 8, 9, 10, 11]
    assert [len(one.tokens) for one in NEXT_TOKENS] == [24, 8, 17, 7, 5, 10, 8]
    assert [one.prompt for one in NEXT_TOKENS[:3]] == ["Taylor", "My name", "My name is"]
    assert NEXT_TOKENS[3].prompt.endswith("The capital of Ghana is")
    assert NEXT_TOKENS[6].prompt.count("The feeling!") == 11


def test_tokens_are_in_order_and_plain_thresholds_cut_once() -> None:
    for prompt in NEXT_TOKENS:
        ranks = [token.rank for token in prompt.tokens]
        assert ranks == sorted(set(ranks))
        chances = [token.probability for token in prompt.tokens]
        assert chances == sorted(chances, reverse=True)
        for method in METHODS[1:]:
            verdicts = [token.accepted_by(method) for token in prompt.tokens]
            assert verdicts == sorted(verdicts, reverse=True)


def test_basis_aware_verdicts_are_not_a_threshold() -> None:
    tokens = {token.token: token for token in NEXT_TOKENS[0].tokens}
    assert not tokens[" Sw"].accepted_by("ba-eta")
    assert tokens[" Hanson"].accepted_by("ba-eta")
    assert tokens[" Sw"].probability == 0.0022
    assert tokens[" Hanson"].accepted == (True, False, False, False)
    last = {token.token: token for token in NEXT_TOKENS[6].tokens}
    assert last["\n"].accepted == (True, False, True, False)
    assert "\n\n" in last


@pytest.mark.parametrize(
    "file", [*sorted((CONFIGS / "paper").glob("*.yaml")), CONFIGS / "demo.yaml"], ids=str
)
def test_the_papers_sweeps_and_the_demo_repeat_its_experiments(file: Path) -> None:
    assert paper.mirrored_by(load_config(file).config)


@pytest.mark.parametrize(
    ("methods", "model", "mirrors"),
    [
        ([{"rule": "min-p", "parameter": 0.1}], "gpt2", False),
        ([{"rule": "eta", "parameter": 0.1}], "gpt2", True),
        ([{"rule": "eta", "parameter": 0.1}], "fake:v=300,d=8", False),
        (
            [{"rule": "ba-eta", "parameter": {"match": {"method": "eta", "parameter": 0.1}}}],
            "fake:v=300,d=8",
            True,
        ),
        (
            [{"rule": "ba-eta", "parameter": {"match": {"method": "min-p", "parameter": 0.1}}}],
            "fake:v=300,d=8",
            False,
        ),
    ],
)
def test_other_sweeps_are_not_about_the_paper(methods: list[Any], model: str, *, mirrors: bool) -> None:
    assert paper.mirrored_by(sweep(methods=methods, models=[{"name": model}])) == mirrors
