"""A rule inside `generate`. Models are random but seeded, so nothing here fails by luck."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessor,
    PreTrainedModel,
    StoppingCriteria,
    T5Config,
    T5ForConditionalGeneration,
    TextIteratorStreamer,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import InvalidInputError
from tests.workers import tiny_models
from workers import models
from workers.plugin import CandidateSetProcessor, RuleSampler, prompt_name

DOCUMENT = Path(__file__).parents[2] / "docs" / "transformers.md"
PROMPTS = ([72, 101, 108, 108, 111], [84, 104, 101, 32, 109])
LONGER = [87, 104, 101, 110, 32, 105, 116]
STEPS = 8


@pytest.fixture(autouse=True)
def _own_cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no file of a tiny model in the user's cache."""
    if not request.node.get_closest_marker("model"):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))


@pytest.fixture(scope="module")
def fake() -> models.LanguageModel:
    return models.load("fake:v=1000,d=32,seed=3", device="cpu")


def generate(
    fake: models.LanguageModel, rule: str | RuleSampler, *prompts: list[int], **settings: Any
) -> Any:
    """Generate STEPS tokens, with prompts padded on the left where they differ in length."""
    sampler = rule if isinstance(rule, RuleSampler) else RuleSampler(fake, rule, constraints=8)
    length = max(map(len, prompts))
    ids = torch.tensor([[0] * (length - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (length - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    output = fake.model.generate(
        input_ids=ids,
        attention_mask=mask,
        custom_generate=sampler,
        **{"max_new_tokens": STEPS, "eos_token_id": 256, "pad_token_id": 256} | settings,
    )
    return output[:, length:].tolist() if isinstance(output, torch.Tensor) else output


def by_hand(
    model: PreTrainedModel, basis: bat.Basis, rule: str, prompt: list[int], steps: int, sample: int = 0
) -> list[int]:
    """The same by a loop over `bat.sample`, one row, without a cache."""
    ids, key = list(prompt), bat.Key(0, "", prompt_name(prompt), sample)
    for step in range(steps):
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[:, -1]
        numbers = bat.uniforms([key], step, 11)
        ids.append(int(bat.sample(basis, logits, bat.get_rule(rule), numbers).tokens[0]))
    return ids[len(prompt) :]


@pytest.mark.parametrize("rule", ["ba-eta=0.05", "ba-nucleus=0.7", "eta=0.01", "typical=0.5", "ancestral"])
def test_tokens_are_those_of_a_loop_by_hand(fake: models.LanguageModel, rule: str) -> None:
    found = generate(fake, rule, *PROMPTS)
    basis = fake.basis(8)
    assert found == [by_hand(fake.model, basis, rule, prompt, STEPS) for prompt in PROMPTS]
    assert len({tuple(tokens) for tokens in found}) == 2


def test_greedy_is_transformers_own(fake: models.LanguageModel) -> None:
    settings: dict[str, Any] = {"max_new_tokens": STEPS, "return_dict_in_generate": True}
    settings |= {"output_scores": True, "output_logits": True, "output_hidden_states": True}
    theirs = fake.model.generate(torch.tensor(PROMPTS), repetition_penalty=1.5, **settings)
    ours = generate(fake, "greedy", *PROMPTS, repetition_penalty=1.5, **settings)
    assert type(ours) is type(theirs)
    assert ours.sequences.tolist() == theirs.sequences.tolist()
    for field in ("scores", "logits"):
        assert len(ours[field]) == STEPS
        torch.testing.assert_close(ours[field], theirs[field], rtol=0, atol=0)
    assert len(ours.hidden_states) == STEPS
    assert ours.past_key_values.get_seq_length() == theirs.past_key_values.get_seq_length()


def test_a_prompt_draws_the_same_in_any_batch(fake: models.LanguageModel) -> None:
    first, second = PROMPTS
    alone = [generate(fake, "ba-eta=0.05", prompt)[0] for prompt in (first, second, LONGER)]
    assert generate(fake, "ba-eta=0.05", LONGER, second, first, second) == [
        alone[2],
        alone[1],
        alone[0],
        alone[1],
    ]
    # Padding that is not marked as such is part of the prompt.
    ids = torch.tensor([[0, 0, *first], LONGER])
    sampler = RuleSampler(fake, "ancestral")
    unmarked = fake.model.generate(ids, custom_generate=sampler, max_new_tokens=STEPS)
    assert unmarked[1, 7:].tolist() == generate(fake, "ancestral", LONGER)[0]
    assert unmarked[0, 7:].tolist() != generate(fake, "ancestral", first)[0]


def test_several_sequences_of_a_prompt_are_several_samples(fake: models.LanguageModel) -> None:
    found = generate(fake, "ba-eta=0.05", *PROMPTS, do_sample=True, num_return_sequences=3)
    basis = fake.basis(8)
    expected = [
        by_hand(fake.model, basis, "ba-eta=0.05", prompt, STEPS, sample)
        for prompt in PROMPTS
        for sample in range(3)
    ]
    assert found == expected
    assert len({tuple(tokens) for tokens in found}) == 6


def test_seed_and_run_address_other_numbers(fake: models.LanguageModel) -> None:
    same, other, elsewhere = (
        generate(fake, RuleSampler(fake, "ancestral", seed=seed, run=run), *PROMPTS)
        for seed, run in ((0, ""), (1, ""), (0, "second"))
    )
    assert same == generate(fake, "ancestral", *PROMPTS)
    assert other != same
    assert elsewhere not in (same, other)


def test_ended_rows_are_padded_and_no_longer_drawn(fake: models.LanguageModel) -> None:
    whole = generate(fake, "ba-eta=0.05", *PROMPTS, LONGER)
    ends = [whole[0][1], whole[1][4]]
    sampler = RuleSampler(fake, "ba-eta=0.05", constraints=8)
    found = generate(fake, sampler, *PROMPTS, LONGER, eos_token_id=ends, pad_token_id=7)
    lengths = [next((i + 1 for i, token in enumerate(row) if token in ends), STEPS) for row in whole]
    assert lengths == [2, 5, STEPS]  # or the rows below show nothing
    assert found == [
        [*row[:length], *[7] * (STEPS - length)] for row, length in zip(whole, lengths, strict=True)
    ]
    assert [step.rows.tolist() for step in sampler.steps] == [[0, 1, 2]] * 2 + [[1, 2]] * 3 + [[2]] * 3
    for place, step in enumerate(sampler.steps):
        assert step.samples.tokens.tolist() == [whole[row][place] for row in step.rows]


class Recorder(StoppingCriteria):
    """End row 0 after two tokens; keep what was shown."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        self.seen.append(scores)
        return torch.tensor([input_ids.shape[1] >= 7, *[False] * (len(input_ids) - 1)])


def test_stopping_criteria_of_the_caller(fake: models.LanguageModel) -> None:
    whole = generate(fake, "ancestral", *PROMPTS)
    recorder = Recorder()
    settings = {"stopping_criteria": [recorder], "return_dict_in_generate": True, "output_scores": True}
    output = generate(fake, "ancestral", *PROMPTS, **settings)
    assert output.sequences[:, 5:].tolist() == [[*whole[0][:2], *[256] * 6], whole[1]]
    assert [len(scores) for scores in recorder.seen] == list(range(1, STEPS + 1))
    assert all(scores[-1].isfinite().all() for scores in recorder.seen)


def test_a_callers_processors_come_before_the_rule(fake: models.LanguageModel) -> None:
    plain = generate(fake, "ba-eta=0.05", *PROMPTS)
    banned = [[token] for token in {*plain[0], *plain[1]}]
    sampler = RuleSampler(fake, "ba-eta=0.05", constraints=8)
    settings = {"return_dict_in_generate": True, "output_scores": True, "forced_eos_token_id": 256}
    output = generate(fake, sampler, *PROMPTS, bad_words_ids=banned, **settings)
    drawn = output.sequences[:, 5:]
    assert not set(drawn[:, :-1].flatten().tolist()) & {token for (token,) in banned}
    assert drawn[:, -1].tolist() == [256, 256]
    for place, step in enumerate(sampler.steps):
        probs = bat.softmax(output.scores[place])
        assert (probs[:, [token for (token,) in banned]] == 0).all()
        np.testing.assert_array_equal(step.samples.probs, probs[[0, 1], step.samples.tokens])
        expected = sampler.rule.thresholds(probs)
        np.testing.assert_allclose(step.samples.thresholds, expected, rtol=1e-12)


def test_do_sample_changes_nothing(fake: models.LanguageModel) -> None:
    settings = {"temperature": 0.6, "return_dict_in_generate": True, "output_scores": True}
    settings |= {"output_logits": True}
    outputs = [
        generate(fake, "ancestral", *PROMPTS, **settings | given)
        for given in ({}, {"do_sample": False}, {"do_sample": True}, {"do_sample": True, "top_k": 0})
    ]
    for output in outputs:
        assert output.sequences.tolist() == outputs[0].sequences.tolist()
        for scores, logits in zip(output.scores, output.logits, strict=True):
            torch.testing.assert_close(scores, logits / 0.6)


def test_temperature_keeps_its_place_before_normalisation(fake: models.LanguageModel) -> None:
    settings = {"temperature": 0.6, "renormalize_logits": True}
    settings |= {"return_dict_in_generate": True, "output_scores": True}
    unset, sampled = (
        generate(fake, "ancestral", *PROMPTS, do_sample=do_sample, **settings) for do_sample in (None, True)
    )
    torch.testing.assert_close(unset.scores, sampled.scores, rtol=0, atol=0)
    torch.testing.assert_close(unset.scores[0].exp().sum(dim=-1), torch.ones(2))


@pytest.mark.parametrize("do_sample", [None, True])
def test_a_basis_aware_rule_sees_the_distribution_before_its_temperature(
    fake: models.LanguageModel, do_sample: bool | None
) -> None:
    """Given to `generate` or to the sampler, it comes last; plain rules see the divided logits as ever."""
    settings = {"do_sample": do_sample, "return_dict_in_generate": True, "output_scores": True}
    outputs, samplers = [], []
    for own, given in ((1.7, 1.0), (None, 1.7)):
        samplers.append(RuleSampler(fake, "ba-eta=0.05", constraints=8, temperature=own))
        outputs.append(generate(fake, samplers[-1], *PROMPTS, temperature=given, **settings))
    assert outputs[0].sequences.tolist() == outputs[1].sequences.tolist()
    cold = generate(fake, "ba-eta=0.05", *PROMPTS, **settings)
    assert outputs[0].sequences.tolist() != cold.sequences.tolist()
    torch.testing.assert_close(outputs[1].scores[0], cold.scores[0], rtol=0, atol=0)  # what the rule saw
    first = [sampler.steps[0].samples.thresholds for sampler in samplers]
    np.testing.assert_array_equal(first[0], samplers[1].rule.thresholds(bat.softmax(cold.scores[0])))


def test_a_temperature_is_given_once(fake: models.LanguageModel) -> None:
    sampler = RuleSampler(fake, "eta=0.05", temperature=0.7)
    with pytest.raises(InvalidInputError, match=r"temperature must be given once; got 0\.7 .* and 1\.3 from"):
        generate(fake, sampler, *PROMPTS, temperature=1.3)
    with pytest.raises(InvalidInputError, match="must be last for ba-eta"):
        RuleSampler(fake, "ba-eta=0.05", temperature=bat.Temperature(0.7, "first"))


@pytest.mark.parametrize("do_sample", [None, True])
def test_the_default_top_k_of_transformers_is_not_applied(
    fake: models.LanguageModel, do_sample: bool | None
) -> None:
    settings = {"do_sample": do_sample, "return_dict_in_generate": True, "output_scores": True}
    output = generate(fake, "ancestral", *PROMPTS, **settings)
    tokens = output.sequences[:, 5:].T  # [steps, rows]
    ranks = [
        int((scores[row] > scores[row, tokens[step, row]]).sum())
        for step, scores in enumerate(output.scores)
        for row in range(2)
    ]
    assert max(ranks) > 50


@pytest.mark.parametrize("settings", [{"use_cache": False}, {"cache_implementation": "static"}])
def test_caches_change_no_token(fake: models.LanguageModel, settings: dict[str, Any]) -> None:
    assert generate(fake, "ba-eta=0.05", *PROMPTS, **settings) == generate(fake, "ba-eta=0.05", *PROMPTS)


def test_a_text_goes_on_from_its_cache(fake: models.LanguageModel) -> None:
    settings: dict[str, Any] = {"custom_generate": RuleSampler(fake, "ancestral"), "max_new_tokens": STEPS}
    begun = fake.model.generate(torch.tensor([PROMPTS[0]]), return_dict_in_generate=True, **settings)
    ids = torch.cat([begun.sequences, torch.tensor([LONGER])], dim=1)
    continued = fake.model.generate(ids, past_key_values=begun.past_key_values, **settings)
    assert continued[0, ids.shape[1] :].tolist() == generate(fake, "ancestral", ids[0].tolist())[0]


def test_a_streamer_gets_the_tokens_as_they_come(fake: models.LanguageModel) -> None:
    streamer = TextIteratorStreamer(fake.tokenizer, skip_prompt=True, timeout=60)
    settings = {"streamer": streamer, "max_new_tokens": STEPS}
    thread = Thread(target=lambda: generate(fake, "ba-eta=0.05", PROMPTS[0], **settings))
    thread.start()
    text = "".join(streamer)
    thread.join()
    assert text == fake.tokenizer.decode(generate(fake, "ba-eta=0.05", PROMPTS[0])[0])


def test_a_basis_or_a_transformers_model_serve_as_well(fake: models.LanguageModel, tmp_path: Path) -> None:
    expected = generate(fake, "ba-eta=0.05", *PROMPTS)
    assert generate(fake, RuleSampler(fake.basis(8), "ba-eta=0.05"), *PROMPTS) == expected
    sampler = RuleSampler(fake.model, bat.get_rule("ba-eta", 0.05), constraints=8)
    assert generate(fake, sampler, *PROMPTS) == expected
    assert list(tmp_path.glob("basis-*.npz"))  # the second time, it is read


def complaint(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInputError) as caught:
        act()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("top_k", 10, 0),
        ("top_p", 0.9, 1.0),
        ("min_p", 0.1, None),
        ("typical_p", 0.9, 1.0),
        ("epsilon_cutoff", 0.001, 0.0),
        ("eta_cutoff", 0.001, 0.0),
        ("top_h", 0.4, None),
    ],
)
@pytest.mark.parametrize("do_sample", [None, True])
def test_other_truncations_are_invalid_and_the_advice_works(
    fake: models.LanguageModel,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: float,
    advice: float | None,
    do_sample: bool | None,
) -> None:
    def run(**given: Any) -> Any:
        return generate(fake, "ancestral", *PROMPTS, do_sample=do_sample, **given)

    assert f"{name} must be" in complaint(lambda: run(**{name: value}))
    monkeypatch.setattr(fake.model.generation_config, name, value)
    message = complaint(run)
    assert f"got {value}" in message
    assert message.endswith(f"Pass {name}={advice}.")
    assert run(**{name: advice})


@pytest.mark.parametrize("make", [lambda _: TopPLogitsWarper(0.9), lambda _: TopKLogitsWarper(50)])
@pytest.mark.parametrize("do_sample", [None, True])
def test_truncating_processors_are_invalid(
    fake: models.LanguageModel,
    make: Callable[[models.LanguageModel], LogitsProcessor],
    do_sample: bool | None,
) -> None:
    settings = {"logits_processor": [make(fake)], "do_sample": do_sample}
    assert "Warper" in complaint(lambda: generate(fake, "ancestral", *PROMPTS, **settings))


def test_a_second_rule_is_invalid(fake: models.LanguageModel) -> None:
    settings = {"logits_processor": [CandidateSetProcessor(fake, "eta=0.01")]}
    assert "CandidateSetProcessor" in complaint(lambda: generate(fake, "ancestral", *PROMPTS, **settings))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"num_beams": 2}, "beam search"),
        ({"num_beams": 2, "do_sample": True}, "beam sample"),
        ({"penalty_alpha": 0.6}, "contrastive search"),
        ({"prompt_lookup_num_tokens": 2}, "assisted generation"),
    ],
)
def test_searches_are_invalid(fake: models.LanguageModel, settings: dict[str, Any], named: str) -> None:
    assert named in complaint(lambda: generate(fake, "ancestral", PROMPTS[0], **settings))


def test_an_assistant_is_invalid(fake: models.LanguageModel) -> None:
    settings = {"assistant_model": fake.model}
    assert "assisted" in complaint(lambda: generate(fake, "ancestral", PROMPTS[0], **settings))


def test_prompts_without_ids_are_invalid(fake: models.LanguageModel) -> None:
    embeddings = fake.model.get_input_embeddings()(torch.tensor(PROMPTS))
    sampler = RuleSampler(fake, "ancestral")
    settings = {"custom_generate": sampler, "max_new_tokens": 2}
    assert "token ids" in complaint(lambda: fake.model.generate(inputs_embeds=embeddings, **settings))
    both = fake.model.generate(torch.tensor(PROMPTS), inputs_embeds=embeddings, **settings)
    assert both[:, -2:].tolist() == [tokens[:2] for tokens in generate(fake, "ancestral", *PROMPTS)]


def test_another_model_is_invalid(fake: models.LanguageModel) -> None:
    other = models.load("fake:v=1000,d=32,seed=4", device="cpu")
    assert "made from" in complaint(lambda: generate(other, RuleSampler(fake, "ancestral"), *PROMPTS))
    narrow = models.load("fake:v=300,d=8", device="cpu")
    assert "1000" in complaint(lambda: generate(narrow, RuleSampler(fake.basis(8), "ancestral"), *PROMPTS))


def test_models_the_theory_does_not_cover_are_invalid() -> None:
    capped = tiny_models.family("gemma2", head_dim=8)
    assert "final_logit_softcapping" in complaint(lambda: RuleSampler(capped, "ba-eta=0.02", constraints=4))
    ids = torch.tensor(PROMPTS)
    sampled = capped.generate(ids, custom_generate=RuleSampler(capped, "eta=0.02"), max_new_tokens=2)
    assert sampled.shape == (2, 7)  # a plain rule asks nothing of the output layer
    translator = T5ForConditionalGeneration(
        T5Config(vocab_size=50, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    )
    assert "encoder" in complaint(lambda: RuleSampler(translator, "ba-eta=0.02"))
    assert "got str" in complaint(lambda: RuleSampler("gpt2", "ba-eta=0.02"))  # type: ignore[arg-type]


def test_an_output_bias_is_welcome() -> None:
    model = tiny_models.family("phi")
    assert model.get_output_embeddings().bias is not None
    sampler = RuleSampler(model, "ba-eta=0.05", constraints=4)
    found = model.generate(
        torch.tensor([PROMPTS[0]]), custom_generate=sampler, max_new_tokens=4, eos_token_id=256
    )
    expected = by_hand(model, sampler.basis, "ba-eta=0.05", PROMPTS[0], 4)
    assert found[0, 5:].tolist() == expected


@pytest.mark.model
def test_the_demo_model(demo_model: models.LanguageModel) -> None:
    model, tokenizer = demo_model.model, demo_model.tokenizer
    texts = ["The mayor said", "When the committee met on Tuesday, it"]
    prompts = [tokenizer(text).input_ids for text in texts]
    length = max(map(len, prompts))
    pad = [[tokenizer.pad_token_id] * (length - len(prompt)) for prompt in prompts]
    ids = torch.tensor([[*left, *prompt] for left, prompt in zip(pad, prompts, strict=True)])
    mask = torch.tensor(
        [[0] * len(left) + [1] * len(prompt) for left, prompt in zip(pad, prompts, strict=True)]
    )
    sampler = RuleSampler(model, "ba-eta=0.02", seed=0)
    found = model.generate(ids, attention_mask=mask, custom_generate=sampler, max_new_tokens=4)
    basis = demo_model.basis()
    expected = [by_hand(model, basis, "ba-eta=0.02", prompt, 4) for prompt in prompts]
    assert found[:, length:].tolist() == expected
    accepted = np.concatenate([step.samples.acceptance for step in sampler.steps])
    assert set(accepted) <= {bat.Acceptance.THRESHOLD, bat.Acceptance.CERTIFIED}


def test_the_documents_code_runs(fake: models.LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    tokenizer = fake.tokenizer
    names: dict[str, Any] = {"model": fake.model, "tokenizer": tokenizer}
    side = tokenizer.padding_side
    try:
        for block in blocks:
            exec(compile(block, str(DOCUMENT), "exec"), names)
    finally:
        tokenizer.padding_side = side
    assert capsys.readouterr().out
