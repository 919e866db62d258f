from __future__ import annotations

import numpy as np
import pytest

from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.rules import get_rule_form
from bat.validation import softmax
from harness.explore import preview
from harness.explore.preview import match_all, run_preview
from workers import models
from workers.measurement import measure_rows
from workers.models import LanguageModel


def test_each_of_the_papers_choices_is_matched() -> None:
    generator = np.random.default_rng(4)
    weight = generator.normal(size=(60, 8))
    logits = generator.normal(scale=3.0, size=(150, 60)).astype(np.float32)
    tokens = generator.integers(60, size=150)
    names = [f"d{row // 4}" for row in range(150)]
    basis = Basis.from_matrix(weight, constraints=2)
    rows = match_all(measure_rows(names, np.arange(150), tokens, logits, {20: basis}))
    assert [(row.rule, row.parameter) for row in rows] == [
        (rule, parameter) for rule, values in preview.PAPER_CHOICES.items() for parameter in values
    ]
    probs = softmax(logits)
    for row in rows:
        plain = get_rule_form(row.rule)
        critical = plain.critical_parameter(probs, probs[np.arange(150), tokens])
        assert row.rejection_rate == pytest.approx(np.mean(plain.rejects(critical, row.parameter)))
        assert 0.0 < row.rejection_rate < 1.0
        # One token more or less is as near as one gets.
        assert abs(row.matched_rejection_rate - row.rejection_rate) <= 1.0 / 150
        # Constraints only ever help a token, so a basis-aware rule must be set to cut deeper.
        deeper = row.matched_parameter / row.parameter
        assert deeper < 1.0 if row.rule == "nucleus" else deeper > 1.0


def test_the_count_must_be_positive() -> None:
    with pytest.raises(InvalidInputError, match="at least 1; got 0"):
        run_preview(0, 0, lambda title, total: lambda done: None)


@pytest.mark.model
def test_the_preview_matches_rates_on_the_demo_model(
    demo_model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "load", lambda name: demo_model)
    told: dict[str, list[int]] = {}
    rows = run_preview(24, 0, lambda title, total: told.setdefault(f"{title} {total}", []).append)
    assert told["Loading the model 1"] == [1]
    assert told["Reading human text 24"][-1] == 24
    assert len(rows) == 7
    for row in rows:
        assert abs(row.matched_rejection_rate - row.rejection_rate) <= 1.5 / 24
    # A larger parameter rejects more, and matching keeps that order.
    by_rule = {rule: [row for row in rows if row.rule == rule] for rule in ("eta", "epsilon")}
    for matched in by_rule.values():
        rates = [row.rejection_rate for row in matched]
        assert rates == sorted(rates)
        parameters = [row.matched_parameter for row in matched]
        assert parameters == sorted(parameters)
