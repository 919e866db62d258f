from __future__ import annotations

import pytest

import bat
from harness.report.names import name_of, short_name


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("eta", 0.0009), "eta=0.0009"),
        (("ba-eta", 0.015323762230662102, 20), "ba-eta=0.0153 (c=20)"),
        (("top-k", 1000.0), "top-k=1000"),
        (("nucleus", 0.9996), "nucleus=0.9996"),
        (("nucleus", 0.92), "nucleus=0.92"),
        (("nucleus", 1.0), "nucleus=1"),
        (("epsilon", 6.233392008594806e-06), "epsilon=6.23e-06"),
        (("ancestral", None), "ancestral"),
    ],
)
def test_settings_are_named_in_a_few_letters(parts: tuple[str, float | None, int | None], name: str) -> None:
    assert short_name(*parts) == name


def test_rules_are_named_alike() -> None:
    assert name_of(bat.get_rule("nucleus", 1 / 3)) == "nucleus=0.333"
