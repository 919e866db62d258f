"""bat-harness sample: what it prints, what it explains, which input is invalid."""

from __future__ import annotations

import json
import re

import pytest

from harness.cli import main

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


def test_the_same_command_prints_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [
        [one["text"] for one in json.loads(run(capsys, "--json", "--count", "2", *seed))["continuations"]]
        for seed in ([], [], ["--seed", "1"])
    ]
    assert texts[0] == texts[1]
    assert len({*texts[0], *texts[2]}) == 4


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
        (["--count", "0"], "--count must be at least 1; got 0"),
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
