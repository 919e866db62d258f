"""bat-harness sample: what it prints, what it explains, which input is invalid."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bat import compiled
from harness.cli import main
from harness.explore import sample as explore

FAKE = ["--model", "fake:v=400,d=16", "--constraints", "6", "--max-tokens", "30"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["sample", "--prompt", "The mayor said", *FAKE, *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_prints_the_text_and_how_tokens_were_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "--method", "ba-eta=0.2")
    assert printed.startswith("The mayor said")
    [counts] = re.findall(
        r"(\d+) tokens \((?:--max-tokens|the text ended)\), \d+ programs in \d+ ms:", printed
    )
    named = [
        int(number) for number in re.findall(r"^ +(\d+) (?:at or above|below|greedy)", printed, re.MULTILINE)
    ]
    assert sum(named) == int(counts)
    assert "certified" in printed


def test_one_program_is_called_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    costs = set()
    for seed in range(12):
        printed = run(capsys, "--method", "ba-eta=0.2", "--max-tokens", "1", "--seed", str(seed))
        assert "1 token (--max-tokens)" in printed
        costs |= set(re.findall(r", (\d+ programs?) in \d+ ms:", printed))
    assert "1 program" in costs
    assert "1 programs" not in costs


@pytest.mark.parametrize("arguments", [["sample", "--prompt", "The"], ["next", "The"]])
def test_compiling_is_announced_once_where_the_solver_is_used(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(method: str) -> int:
        model = ["--model", "fake:v=400,d=16", "--constraints", "6"]
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *model, "--method", method])
        assert ended.value.code == 0
        return capsys.readouterr().err.count(f"{compiled.NOTE}\n")

    monkeypatch.setattr(compiled, "is_compiled", lambda *entries: False)
    assert said("ba-eta=0.2") == 1
    assert said("eta=0.2") == 0
    monkeypatch.setattr(compiled, "is_compiled", lambda *entries: True)
    assert said("ba-eta=0.2") == 0


def test_the_same_command_prints_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [
        [one["text"] for one in json.loads(run(capsys, "--json", "--count", "2", *seed))["continuations"]]
        for seed in ([], [], ["--seed", "1"])
    ]
    assert texts[0] == texts[1]
    assert len({*texts[0], *texts[2]}) == 4


def test_each_text_is_shown_as_soon_as_it_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []
    write = explore.continue_prompt

    def write_and_look(*arguments: Any) -> Any:
        printed.append(capsys.readouterr().out)
        return write(*arguments)

    monkeypatch.setattr(explore, "continue_prompt", write_and_look)
    printed.append(run(capsys, "--count", "3"))
    assert printed[0] == ""
    assert [text.count("The mayor said") for text in printed[1:]] == [1, 1, 1]
    monkeypatch.undo()
    with pytest.raises(SystemExit):
        main(["sample", "--prompt", "The mayor said", *FAKE, "--count", "3", "--json"])
    assert capsys.readouterr().err.splitlines() == ["texts 1/3", "texts 3/3"]


def test_explains_every_rejection(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--method", "ba-eta=0.2", "--explain"]
    record = json.loads(run(capsys, *arguments, "--json"))
    [continuation] = record["continuations"]
    rejected = [token["id"] for piece in continuation["tokens"] for token in piece["rejected"]]
    assert rejected
    assert [rejection["id"] for rejection in continuation["rejections"]] == rejected
    for rejection in continuation["rejections"]:
        piece = continuation["tokens"][rejection["before_token"] - 1]
        assert rejection["probability"] < piece["threshold"]
        assert rejection["critical_threshold"][0] <= piece["threshold"] * (1 + 1e-6)
    assert "".join(piece["text"] for piece in continuation["tokens"]) == continuation["text"]
    printed = run(capsys, *arguments)
    assert printed.count("before token") == len(rejected)
    assert printed.count("it is rejected: the model's output is also explained") == len(rejected)


def test_plain_rules_reject_without_programs(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "--method", "epsilon=0.02", "--explain")
    assert "programs" not in printed
    assert "Rejected tokens, in the order they were drawn" in printed
    assert "it is rejected:" not in printed
    assert "No token was rejected." in run(capsys, "--method", "ancestral", "--explain")


def test_a_rule_without_a_threshold_says_null(capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(run(capsys, "--method", "typical=0.9", "--json"))
    assert {piece["threshold"] for piece in record["continuations"][0]["tokens"]} == {None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "ba-etta=0.2"], "Did you mean 'ba-eta'?"),
        (["--method", "eta=2"], "eta must lie in (0, 1); got 2"),
        (["--count", "0"], "--count must lie between 1 and 1000; got 0"),
        (
            ["--count", "100000"],
            "--count must lie between 1 and 1000; got 100000. For more texts, run a sweep.",
        ),
        (["--max-tokens", "0"], "max_tokens must be an integer of at least 1"),
        (["--fallback", "random"], "fallback must be one of greedy, exact"),
        (["--prompt", "", "--no-document-start"], "the prompt must have at least one token"),
        (["--device", "cuda:7"], "cuda"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sample", "--prompt", "Hello", *FAKE, *arguments])
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.model
def test_the_documented_command_on_the_demo_model(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "smollm2-135m", "--method", "ba-eta=0.02", "--max-tokens", "12", "--explain"]
    with pytest.raises(SystemExit) as ended:
        main(["sample", "--prompt", "The mayor said", *options])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("The mayor said")
    assert "12 tokens (--max-tokens)" in printed


def test_a_temperature_comes_after_a_basis_aware_method(capsys: pytest.CaptureFixture[str]) -> None:
    made = {}
    for name, options in {
        "cold": (),
        "one": ("--temperature", "1", "--temperature-order", "last"),
        "hot": ("--temperature", "1.8"),
        "last": ("--temperature", "1.8", "--temperature-order", "last"),
    }.items():
        made[name] = json.loads(run(capsys, "--method", "ba-eta=0.2", "--json", *options))
    assert made["cold"] == made["one"]
    assert made["hot"] == made["last"]
    assert made["hot"]["continuations"] != made["cold"]["continuations"]
    assert (made["hot"]["temperature"], made["hot"]["temperature_order"]) == (1.8, "last")
    # A plain method sees the flattened distribution, and so does what explains it.
    plain = json.loads(
        run(capsys, "--method", "top-k=2", "--json", "--explain", "--temperature", "3", "--max-tokens", "8")
    )
    assert plain["temperature_order"] == "first"
    [text] = plain["continuations"]
    by_step = {step: token["threshold"] for step, token in enumerate(text["tokens"], 1)}
    assert text["rejections"]
    assert all(each["probability"] < by_step[each["before_token"]] for each in text["rejections"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--temperature", "0"), "Use the rule greedy instead."),
        (("--temperature", "-1"), "temperature must be a finite number above 0; got -1.0."),
        (("--temperature", "nan"), "temperature must be a finite number above 0; got nan."),
        (("--temperature", "2", "--temperature-order", "first"), "temperature_order must be last for ba-e"),
        (("--method", "ba-typical=0.9"), "typical has no basis-aware form. Use typical, or one of"),
    ],
)
@pytest.mark.parametrize("command", [["sample", "--prompt", "The"], ["next", "The"]])
def test_an_invalid_temperature_is_one_sentence(
    command: list[str], options: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, *options])
    assert ended.value.code == 1
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1
