"""Generation: the same bits however a shard is run, faithful records, every rule."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import bat
from bat.errors import InvalidInputError
from workers import models
from workers.corpora import document_id, open_corpus
from workers.encoding import encode
from workers.generation import Generation, GenerationSettings, StopReason, batches, generate
from workers.models import LanguageModel
from workers.prefixes import Prefix, prefixes
from workers.traces import encode_trace


@dataclass(frozen=True)
class Opening:
    id: str
    token_ids: tuple[int, ...]


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load("fake:v=400,d=16,layers=2,context=64", device="cpu")


def openings(count: int, lengths: tuple[int, ...] = (5,), vocabulary: int = 400) -> list[Opening]:
    generator = np.random.default_rng(7)
    return [
        Opening(f"p{place}", tuple(generator.integers(0, 250, lengths[place % len(lengths)]).tolist()))
        for place in range(count)
    ]


def settings(rule: str, **changes: object) -> GenerationSettings:
    defaults = GenerationSettings(bat.get_rule(rule), constraints=6, max_tokens=12, batch_size=4)
    return replace(defaults, **changes)  # type: ignore[arg-type]


def bits(generations: list[Generation]) -> list[bytes]:
    return [encode_trace(generation.trace) for generation in generations]


@pytest.mark.parametrize("name", bat.rule_names())
def test_every_rule_writes_text(fake: LanguageModel, name: str) -> None:
    parameters = {"top-k": 5, "nucleus": 0.8, "typical": 0.8, "min-p": 0.1, "epsilon": 0.01, "eta": 0.05}
    parameters |= {"top-n-sigma": 1.0, "top-h": 0.4}
    rule = bat.get_rule(name, parameters.get(name.removeprefix("ba-")))
    found = generate(fake, openings(3), replace(settings("greedy"), rule=rule))
    assert [generation.prefix_id for generation in found] == ["p0", "p1", "p2"]
    for generation in found:
        trace = generation.trace
        assert len(trace) == 12 or generation.stop_reason is StopReason.END
        assert ((trace.probabilities > 0) & (trace.probabilities <= 1)).all()
        assert np.isnan(trace.thresholds).all() == (name == "typical")
        at_once = (trace.acceptance == bat.Acceptance.THRESHOLD) & ~np.isnan(trace.thresholds)
        assert (trace.probabilities[at_once] >= trace.thresholds[at_once]).all()
        assert (trace.programs.sum() > 0) <= name.startswith("ba-")


def test_a_temperature_is_one_of_the_settings(fake: LanguageModel) -> None:
    for rule in ("eta=0.05", "ba-eta=0.1"):
        plain, one, hot, last = (
            bits(generate(fake, openings(3), settings(rule, temperature=temperature)))
            for temperature in (None, 1.0, 1.6, bat.Temperature(1.6, "last"))
        )
        assert plain == one
        assert plain != hot
        assert (hot == last) == rule.startswith("ba-")  # whose usual order is last
    with pytest.raises(InvalidInputError, match="Use the rule greedy instead"):
        settings("eta=0.05", temperature=0)


def test_a_token_is_what_the_engine_gives_for_the_whole_text_so_far(fake: LanguageModel) -> None:
    [opening] = openings(1)
    chosen = settings("ba-epsilon=0.03")
    [found] = generate(fake, [opening], chosen)
    text = list(opening.token_ids)
    key = bat.Key(0, "", "p0", 0)
    assert found.key == key
    for step, token in enumerate(found.token_ids.tolist()):
        with torch.inference_mode():
            logits = fake.model(torch.tensor([text])).logits[:, -1]
        again = bat.sample(fake.basis(6), logits, chosen.rule, bat.uniforms([key], step, 11))
        assert again.tokens[0] == token
        assert again.rejections[0] == found.trace.rejections[step]
        assert list(again.rejected_tokens[0]) == found.trace.rejected_before(step)
        assert found.trace.probabilities[step] == pytest.approx(again.probs[0], rel=1e-4)
        text.append(token)


def test_the_same_bits_when_a_shard_is_run_again(fake: LanguageModel) -> None:
    shard = openings(9, lengths=(5, 8, 3))
    first = generate(fake, shard, settings("ba-eta=0.1"))
    assert bits(generate(fake, shard, settings("ba-eta=0.1"))) == bits(first)
    assert bits(generate(fake, shard, settings("ba-eta=0.1"), threads=3)) == bits(first)
    fresh = models.load("fake:v=400,d=16,layers=2,context=64", device="cpu")
    assert bits(generate(fresh, shard, settings("ba-eta=0.1"))) == bits(first)


def test_rows_do_not_depend_on_their_neighbours(fake: LanguageModel) -> None:
    # Products of other shapes may differ in the last bits, which here never reach a token.
    shard = openings(6, lengths=(4, 6))
    together = generate(fake, shard, settings("ba-eta=0.1", batch_size=8))
    for place, opening in enumerate(shard):
        [alone] = generate(fake, [opening], settings("ba-eta=0.1"))
        assert alone.token_ids.tolist() == together[place].token_ids.tolist()
        assert alone.text == together[place].text


def test_seeds_runs_and_samples_give_other_texts(fake: LanguageModel) -> None:
    shard = openings(3)
    texts = {
        tuple(generation.text for generation in generate(fake, shard, settings("ancestral", **change)))
        for change in ({}, {"seed": 1}, {"run": "other"}, {"sample": 1})
    }
    assert len(texts) == 4


def test_methods_share_their_random_numbers(fake: LanguageModel) -> None:
    shard = openings(8)
    first = generate(fake, shard, settings("ancestral"))
    other = generate(fake, shard, settings("epsilon=0.000001"))  # rejects next to nothing
    assert bits(first) != bits(other)  # thresholds differ
    assert [one.text for one in first] == [one.text for one in other]


def test_rows_end_and_leave_their_batch(fake: LanguageModel) -> None:
    ends = tuple(range(0, 400, 4))  # a quarter of the vocabulary ends a text
    ending = replace(fake, info=replace(fake.info, end_tokens=ends))
    found = generate(ending, openings(16), settings("ancestral", batch_size=16, max_tokens=20))
    lengths = {len(generation.trace) for generation in found}
    assert len(lengths) > 3
    for generation in found:
        ended = np.isin(generation.token_ids, ends)
        assert not ended[:-1].any()
        assert ended[-1] == (generation.stop_reason is StopReason.END)
    assert sum(generation.stop_reason is StopReason.END for generation in found) > 8
    for opening, generation in zip(openings(16), found, strict=True):
        [alone] = generate(ending, [opening], settings("ancestral", max_tokens=20))
        assert alone.token_ids.tolist() == generation.token_ids.tolist()


def test_stops_where_the_context_is_full(fake: LanguageModel) -> None:
    [found] = generate(fake, openings(1, lengths=(60,)), settings("ancestral", max_tokens=12))
    if found.stop_reason is not StopReason.END:
        assert found.stop_reason is StopReason.CONTEXT
        assert len(found.trace) == 4


def test_one_forward_pass_a_step(fake: LanguageModel) -> None:
    model = models.load("fake:v=400,d=16", device="cpu")
    passes = []
    model.model.register_forward_hook(lambda *_: passes.append(1))
    [found] = generate(model, openings(1), settings("ba-eta=0.1"))
    assert len(passes) == len(found.trace)


def test_progress_counts_tokens(fake: LanguageModel) -> None:
    told: list[int] = []
    found = generate(fake, openings(5, lengths=(5, 6)), settings("eta=0.01"), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == sum(len(generation.trace) for generation in found)


def test_batches_hold_equal_lengths_in_a_fixed_order() -> None:
    assert list(batches([3, 5, 3, 3, 5, 3], 2)) == [[0, 2], [3, 5], [1, 4]]
    assert list(batches([], 4)) == []


def test_results_cross_process_borders(fake: LanguageModel) -> None:
    [found] = generate(fake, openings(1), settings("ba-eta=0.1"))
    copy = pickle.loads(pickle.dumps(found))
    assert copy.text == found.text
    assert copy.key == found.key
    assert encode_trace(copy.trace) == encode_trace(found.trace)
    assert pickle.loads(pickle.dumps(settings("ba-eta=0.1"))) == settings("ba-eta=0.1")


@pytest.mark.parametrize(
    ("opening", "message"),
    [
        (Opening("p", ()), "at least one token; prefix 'p' is empty"),
        (Opening("p", (1,) * 64), "must leave room in the context of fake"),
        (Opening("p", (1, 400)), r"\[0, 400\) .* has 400"),
    ],
)
def test_prefixes_that_cannot_be_continued(fake: LanguageModel, opening: Opening, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        generate(fake, [opening], settings("greedy"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be an integer of at least 1; got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"constraints": -1}, "constraints must be an integer of at least 0"),
        ({"fallback": "random"}, "fallback must be one of greedy, exact"),
        (
            {"solver": "hihgs"},
            "solver must be one of certified, highs, cbc; got 'hihgs'. Did you mean 'highs'",
        ),
    ],
)
def test_settings_that_mean_nothing(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        settings("greedy", **change)


@pytest.mark.model
def test_the_demo_model_continues_the_news(demo_model: LanguageModel) -> None:
    shard = prefixes(open_corpus("news"), demo_model.tokenizer, n=4, continuation_tokens=0).prefixes
    chosen = GenerationSettings(bat.get_rule("ba-eta=0.06"), max_tokens=16)
    found = generate(demo_model, shard, chosen)
    assert bits(generate(demo_model, shard, chosen)) == bits(found)
    assert len({generation.text for generation in found}) == 4
    assert all(generation.text.isprintable() or "\n" in generation.text for generation in found)
    assert all(" " in generation.text for generation in found)
    accepted = np.concatenate([generation.trace.acceptance for generation in found])
    assert np.isin(accepted, [bat.Acceptance.THRESHOLD, bat.Acceptance.CERTIFIED]).mean() > 0.9
    # At the parameter that rejects as much human text as eta = 0.002, about a quarter of the tokens need a
    # program; none of 64 would be a sign that the basis-aware part never ran.
    assert sum(int(generation.trace.programs.sum()) for generation in found) > 0
    assert sum(int(generation.trace.undecided.sum()) for generation in found) == 0


def test_strings_are_prompts(fake: LanguageModel) -> None:
    settings = GenerationSettings(bat.get_rule("eta", 0.01), max_tokens=5)
    first, second = generate(fake, ["The mayor said", "Nobody"], settings)
    assert len(first.trace) == len(second.trace) == 5
    prompt = Prefix(document_id("The mayor said"), encode(fake.tokenizer, "The mayor said"), ())
    assert generate(fake, [prompt], settings)[0].text == first.text
    assert generate(fake, ["Nobody", prompt], settings)[0].text == second.text  # each by its own text
    with pytest.raises(InvalidInputError, match=r"got one string\. Write \['Nobody'\]"):
        generate(fake, "Nobody", settings)
    with pytest.raises(InvalidInputError, match=r"a string or a workers\.prefixes\.Prefix; got int"):
        generate(fake, [7], settings)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0; got -1"),
        ({"rule": "eta=0.01"}, r"got the string 'eta=0.01'. Use bat.get_rule\('eta=0.01'\)"),
        ({"rule": len}, "rule must be a bat.rules.Rule with its parameter; got a function"),
        ({"rule": bat.Rule}, "got a class"),
    ],
)
def test_rules_and_seeds_that_mean_nothing(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GenerationSettings(**{"rule": bat.get_rule("greedy"), **values})  # type: ignore[arg-type]
