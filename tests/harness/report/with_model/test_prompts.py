from __future__ import annotations

from harness.report.with_model.prompts import PROMPTS


def test_there_are_seven_prompts_each_with_its_table() -> None:
    assert [prompt.paper for prompt in PROMPTS] == [f"Table {n} of the paper" for n in range(5, 12)]
    assert len({prompt.text for prompt in PROMPTS}) == 7
    assert not any(prompt.text.startswith((" ", "<")) or prompt.text.endswith(" ") for prompt in PROMPTS)


def test_the_long_ones_are_as_the_paper_has_them() -> None:
    assert PROMPTS[3].text.startswith("The capital of of the USA is Washington D.C. The capital of India")
    assert PROMPTS[3].text.endswith("The capital of the UK is London. The capital of Ghana is")
    assert PROMPTS[6].text.count("The feeling!") == 11
    assert len(PROMPTS[6].text) == 11 * len("The feeling!") + 10
