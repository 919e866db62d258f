from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

import bat
from bat.arrays import FloatArray
from bat.errors import InvalidInputError
from bat.rules import get_rule
from bat.thresholds import Decisions, Verdict
from harness import cli
from harness.commands import next_tokens
from harness.explore.next_token import NextTokens, next_distribution, tabulate
from harness.explore.prompts import encode_prompt, token_text, visible
from workers import fake_model, models
from workers.encoding import encode
from workers.models import LanguageModel

FAKE = "fake:v=1000,d=16"
RULES = [
    get_rule(name) for name in ("eta=0.05", "ba-eta=0.2", "nucleus=0.8", "ba-nucleus=0.65", "typical=0.5")
]
PAIRS = [(0, 1), (2, 3)]


@pytest.fixture(scope="module")
def basis() -> bat.Basis:
    return bat.Basis.from_matrix(np.random.default_rng(1).normal(size=(200, 12)), constraints=6)


@pytest.fixture(scope="module")
def probs() -> FloatArray:
    return bat.softmax(np.random.default_rng(2).normal(scale=2.0, size=(1, 200)))[0]


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load(FAKE, device="cpu")


@pytest.fixture(scope="module")
def everything(basis: bat.Basis, probs: FloatArray) -> NextTokens:
    return tabulate(probs, RULES, basis, everything=True)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(["next", *arguments])
    return int(left.value.code or 0)


def test_verdicts_are_those_of_the_rules(basis: bat.Basis, probs: FloatArray) -> None:
    table = tabulate(probs, RULES, basis, tokens=200)
    assert [row.rank for row in table.rows] == list(range(200))
    order = np.argsort(-probs, kind="stable")
    assert [row.token for row in table.rows] == order.tolist()
    assert table.entropy == pytest.approx(-(probs * np.log(probs)).sum())
    for place, rule in enumerate(RULES):
        kept = rule.keep(probs[None])[0]
        if rule.basis_aware:
            [tau] = rule.thresholds(probs[None])  # type: ignore[attr-defined]
            kept = bat.candidate_set(basis, probs, tau).mask()
            assert table.methods[place].threshold == tau
            assert table.methods[place].accepted is None
        else:
            assert table.methods[place].accepted == kept.sum()
        expected = [Verdict.ACCEPT if kept[token] else Verdict.REJECT for token in order]
        assert [row.verdicts[place] for row in table.rows] == expected
    assert table.methods[4].threshold is None


def test_half_of_the_rows_are_the_likeliest_and_the_others_differ(
    basis: bat.Basis, probs: FloatArray, everything: NextTokens
) -> None:
    table = tabulate(probs, RULES, basis, tokens=12)
    assert len(table.rows) == 12
    ranks = [row.rank for row in table.rows]
    assert ranks == sorted(set(ranks))
    assert ranks[:6] == list(range(6))

    # By definition, from the verdicts on all tokens: what only the basis-aware rule of a pair rejects, ...
    def differing(verdict: Verdict) -> list[set[int]]:
        return [
            {
                row.rank
                for row in everything.rows
                if row.rank >= 6 and row.verdicts[aware] is verdict and row.verdicts[plain] is not verdict
            }
            for plain, aware in PAIRS
        ]

    for verdict in (Verdict.REJECT, Verdict.ACCEPT):
        by_pair = differing(verdict)
        assert all(by_pair), "the example must have differences of both kinds in both pairs"
        either = set.union(*by_pair)
        assert len(either & set(ranks)) >= min(3, len(either))
        for own in by_pair:  # ... and the likeliest such token of each pair is shown
            assert min(own) in ranks


def test_without_pairs_the_rows_are_the_likeliest(basis: bat.Basis, probs: FloatArray) -> None:
    table = tabulate(probs, [RULES[1], RULES[2]], basis, tokens=9)
    assert [row.rank for row in table.rows] == list(range(9))


def test_more_tokens_than_there_are_show_them_all(basis: bat.Basis, probs: FloatArray) -> None:
    assert len(tabulate(probs, RULES, basis, tokens=1000).rows) == 200


def test_everything_is_what_some_rule_accepts(
    basis: bat.Basis, probs: FloatArray, everything: NextTokens
) -> None:
    sizes = [method.accepted for method in everything.methods]
    for place, rule in enumerate(RULES):
        accepted = {row.token for row in everything.rows if row.verdicts[place] is Verdict.ACCEPT}
        assert len(accepted) == sizes[place]
        if not rule.basis_aware:
            assert accepted == set(np.flatnonzero(rule.keep(probs[None])[0]).tolist())
    for row in everything.rows[20:]:
        assert Verdict.ACCEPT in row.verdicts
    told: list[int] = []
    tabulate(probs, RULES, basis, everything=True, progress=told.append)
    assert told == [1, 2, 3, 4, 5]


def test_critical_thresholds_agree_with_the_verdicts(basis: bat.Basis, probs: FloatArray) -> None:
    table = tabulate(probs, RULES, basis, tokens=60, critical=True)
    for row in table.rows:
        assert row.critical is not None
        lower, upper = row.critical
        assert row.probability <= upper
        for method, verdict in zip(table.methods, row.verdicts, strict=True):
            if method.rule.basis_aware and method.threshold is not None:
                if lower > method.threshold:
                    assert verdict is Verdict.ACCEPT
                elif upper <= method.threshold and row.probability < method.threshold:
                    assert verdict is Verdict.REJECT


def test_plain_rules_need_no_basis(probs: FloatArray) -> None:
    assert len(tabulate(probs, [RULES[0]], tokens=5).rows) == 5
    with pytest.raises(InvalidInputError, match="need the basis"):
        tabulate(probs, RULES, tokens=5)


@pytest.mark.parametrize(
    ("options", "message"), [({"tokens": 0}, "at least 1; got 0"), ({"rules": []}, "none")]
)
def test_requests_are_checked(probs: FloatArray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        tabulate(probs, **{"rules": RULES[:1], **options})


def test_the_distribution_is_the_models(fake: LanguageModel) -> None:
    ids = encode(fake.tokenizer, "hello")
    logits = fake.model(input_ids=fake.model.dummy_inputs["input_ids"].new_tensor([ids])).logits
    np.testing.assert_allclose(next_distribution(fake, ids), bat.softmax(logits[:, -1])[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" Swift", "␣Swift"),
        ("\n\t", "\\n\\t"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\\n", "\\\\n"),
        ("\u202e\u200b\xa0", "\\u202e\\u200b\\xa0"),
        (b"\xe2\x80".decode("utf-8", "surrogateescape"), "\\xe2\\x80"),
        ("[bold]é", "[bold]é"),
    ],
)
def test_everything_in_a_token_can_be_seen(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_tokens_have_their_text(fake: LanguageModel) -> None:
    tokenizer = fake.tokenizer
    before = encode(tokenizer, "hello")
    [letter] = encode(tokenizer, "a")
    assert token_text(tokenizer, before, letter) == "a"
    assert token_text(tokenizer, before, 300) == tokenizer.decode([300])
    assert token_text(tokenizer, before, 300).startswith(" ")
    assert token_text(tokenizer, before, 256) == fake_model.END_OF_TEXT
    assert token_text(tokenizer, before, 1000) == "<unused 1000>"
    first, second = encode(tokenizer, "é")
    assert visible(token_text(tokenizer, before, first)) == "\\xc3"
    assert token_text(tokenizer, [*before, first], second) == "é"


def test_a_prompt_begins_a_document(fake: LanguageModel) -> None:
    ids = encode(fake.tokenizer, "hello")
    assert encode_prompt(fake, "hello") == (256, *ids)
    assert encode_prompt(fake, "hello", document_start=False) == ids
    assert encode_prompt(fake, "") == (256,)
    with pytest.raises(InvalidInputError, match="at least one token"):
        encode_prompt(fake, "", document_start=False)
    with pytest.raises(InvalidInputError, match=r"1024 tokens that fake:.*; got 1025 tokens"):
        encode_prompt(fake, "x" * 1024)


def test_a_tokenizer_that_begins_texts_itself_is_left_alone(fake: LanguageModel) -> None:
    class Beginning(PreTrainedTokenizerFast):
        def __call__(self, *texts: Any, add_special_tokens: bool = True, **named: Any) -> Any:
            encoded = super().__call__(*texts, **named)
            if add_special_tokens:
                encoded["input_ids"] = [300, *encoded["input_ids"]]
            return encoded

    inner = fake.tokenizer.backend_tokenizer
    other = Beginning(tokenizer_object=inner, bos_token=fake.tokenizer.convert_ids_to_tokens(300))
    model = replace(fake, tokenizer=other)
    assert encode_prompt(model, "hi")[:2] == (300, *encode(fake.tokenizer, "h"))


def test_the_table_is_printed(
    fake: LanguageModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("hello", "--model", FAKE, "--constraints", "5", "--all", "--tokens", "4") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0] == "Next token after <|endoftext|>hello"
    assert max(map(len, lines)) <= 80
    heading = next(line for line in lines if line.startswith("rank"))
    assert heading.split() == ["rank", "prob", "token", "0.0009", "0.0042", "0.002", "0.048", "0.89", "0.76"]
    probs = next_distribution(fake, encode_prompt(fake, "hello"))
    likeliest = next(line for line in lines if line.lstrip().startswith("0 "))
    token = visible(fake.tokenizer.decode([int(probs.argmax())]))
    assert likeliest.split() == ["0", f"{probs.max():.5f}", token, *["yes"] * 6]

    # The last lines of the table are each method's threshold and number of tokens.
    rules = [get_rule(name) for name in next_tokens.DEFAULT_METHODS]
    table = tabulate(probs, rules, fake.basis(5), everything=True)
    thresholds = next(line.split()[1:] for line in lines if line.lstrip().startswith("threshold"))
    assert thresholds == [f"{method.threshold:.5f}" for method in table.methods]
    counts = next(line.split()[1:] for line in lines if line.lstrip().startswith("tokens"))
    assert counts == [str(method.accepted) for method in table.methods]
    rows = [line.split() for line in lines if re.match(r" *\d+ \d", line)]
    assert len(rows) == len(table.rows)
    words = {Verdict.ACCEPT: {"yes", "basis"}, Verdict.REJECT: {"no"}}
    for shown, row in zip(rows, table.rows, strict=True):
        for word, verdict, method in zip(shown[3:], row.verdicts, table.methods, strict=True):
            assert word in words[verdict]
            assert (word == "basis") == (
                verdict is Verdict.ACCEPT and row.probability < (method.threshold or 0.0)
            )
    assert "other models need other parameters" in " ".join(captured.out.split())


def test_the_table_is_printed_as_json(fake: LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    methods = ["--method", "eta=0.05", "--method", "ba-eta=0.2"]
    assert run("hello", "--model", FAKE, "--constraints", "5", *methods, "--json", "--critical") == 0
    printed = json.loads(capsys.readouterr().out)
    ids = encode_prompt(fake, "hello")
    rules = [get_rule("eta=0.05"), get_rule("ba-eta=0.2")]
    table = tabulate(next_distribution(fake, ids), rules, fake.basis(5), critical=True)
    assert printed["model"]["weight_fingerprint"] == fake.info.weight_fingerprint
    assert printed["token_ids"] == list(ids)
    assert [method["method"] for method in printed["methods"]] == ["eta=0.05", "ba-eta=0.2"]
    assert len(printed["tokens"]) == 20
    for shown, row in zip(printed["tokens"], table.rows, strict=True):
        assert (shown["rank"], shown["id"], shown["probability"]) == (row.rank, row.token, row.probability)
        assert list(shown["verdicts"].values()) == list(row.verdicts)
        assert shown["critical_threshold"] == list(row.critical or ())
        assert shown["token"] == token_text(fake.tokenizer, ids, row.token)


def test_a_temperature_matters_to_the_rules_it_comes_before(basis: bat.Basis, probs: FloatArray) -> None:
    rules = [bat.get_rule(name) for name in ("min-p=0.2", "ba-min-p=0.2", "top-n-sigma=1", "p-less")]
    cold = tabulate(probs, rules, basis, everything=True)
    hot = tabulate(probs, rules, basis, everything=True, temperature=2.0)
    late = tabulate(probs, [rules[0]], everything=True, temperature=bat.Temperature(2.0, "last"))
    # p^(1/2) >= 0.2 max p^(1/2) is p >= 0.04 max p.
    assert hot.methods[0].accepted == (probs >= 0.04 * probs.max()).sum()
    assert hot.methods[0].accepted != cold.methods[0].accepted
    assert late.methods[0].accepted == cold.methods[0].accepted
    assert hot.methods[1].accepted == cold.methods[1].accepted
    assert hot.methods[2].accepted == cold.methods[2].accepted
    flat = bat.softmax(np.log(probs[None]) / 2.0)
    assert hot.methods[3].threshold == pytest.approx(float((flat**2).sum()))
    orders = [method.temperature and method.temperature.order for method in hot.methods]
    assert orders == ["first", "last", "first", "first"]


def test_what_cannot_be_decided_is_said_to_be_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decide = bat.decide

    def give_up(*arguments: Any) -> Decisions:
        found = decide(*arguments)
        return replace(found, verdicts=tuple(Verdict.UNDECIDED for _ in found.verdicts))

    monkeypatch.setattr(bat, "decide", give_up)
    assert run("hello", "--model", FAKE, "--constraints", "5", "--method", "ba-epsilon=0.1") == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if re.match(r" *\d+ +0\.\d+ ", line)]
    assert len(rows) == 20
    for row in rows:
        assert row[-1] == ("yes" if float(row[1]) >= 0.1 else "?")
    assert "neither could be proved" in out


def test_letters_that_a_terminal_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    assert run("hello", "--model", FAKE, "--method", "eta=0.002", "--tokens", "4") == 0
    assert b"\\u2423" in written.getvalue()
    assert b"yes" in written.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "--method", "bat-eta=0.1"), "Did you mean 'ba-eta'?"),
        (("x", "--method", "eta"), "eta needs a value, which must lie in (0, 1)"),
        (("x", "--model", FAKE, "--method", "eta=0.1", "--tokens", "0"), "at least 1; got 0"),
        (("x", "--model", FAKE), "16 for this 1000 x 16 matrix; got 20"),
        (("x", "--model", "fake:w=3"), "A fake model has no key 'w'"),
        (("", "--model", FAKE, "--no-document-start"), "leave out --no-document-start"),
    ],
)
def test_mistakes_print_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_the_help_names_the_default_methods() -> None:
    described = str(next_tokens.next_tokens.__doc__)
    for name in next_tokens.DEFAULT_METHODS:
        rule = get_rule(name)
        assert (str(rule.parameter) if rule.basis_aware else name) in described


@pytest.mark.model
def test_the_demo_model_knows_what_follows_my_name(
    demo_model: LanguageModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(models, "load", lambda *_: demo_model)
    assert run("My name", "--json", "--tokens", "16") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["token_ids"][0] == demo_model.tokenizer.convert_tokens_to_ids("<|endoftext|>")
    first = printed["tokens"][0]
    assert first["token"] == " is"
    assert first["probability"] > 0.9
    assert set(first["verdicts"].values()) == {"accept"}
    # The point of the method: a token accepted that the plain form rejects for being unlikely.
    assert any(
        row["verdicts"]["ba-eta=0.048"] == "accept" and row["verdicts"]["eta=0.002"] == "reject"
        for row in printed["tokens"]
    )
