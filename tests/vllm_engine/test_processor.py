"""The plug-in in the real engine. The model is random but seeded, so nothing here fails by luck.

Equal tokens mean equal up to rounding: a random number would have to fall within a relative 1e-6 of the edge
between two tokens to show the difference between vLLM's logits and transformers'.
"""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality

import bat
from bat.errors import InvalidInputError
from tests.vllm_engine.engines import CONSTRAINTS, logits_along, prompts_of, tokens_chosen
from workers.models import LanguageModel
from workers.plugin import RuleSampler
from workers.prefixes import Prefix
from workers.prompts import prompt_name
from workers.vllm_plugin.bases import ModelBases
from workers.vllm_plugin.engine import Engine
from workers.vllm_plugin.processor import BatchRules, RuleProcessor, SlotRules

RULES = ("ba-eta=0.05", "eta=0.01", "ba-nucleus=0.7", "ancestral")


def rule_params(rule: str, seed: int, max_tokens: int = 8, **extra_args: Any) -> SamplingParams:
    asked = {"bat_rule": rule, "bat_seed": seed, "bat_constraints": CONSTRAINTS, **extra_args}
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True, detokenize=False, extra_args=asked)


def written(engine: Engine, prompts: list[Prefix], params: list[SamplingParams]) -> list[list[int]]:
    assert engine.llm is not None
    asked = [{"prompt_token_ids": list(prompt.token_ids)} for prompt in prompts]
    return [
        list(output.outputs[0].token_ids) for output in engine.llm.generate(asked, params, use_tqdm=False)
    ]


def test_rows_that_join_leave_and_move_keep_their_rule_seed_and_step(
    engine: Engine, small: LanguageModel
) -> None:
    """Fourteen requests of different lengths in four rows: some join while others are in the middle."""
    prompts = prompts_of(14)
    rules = [RULES[number % len(RULES)] for number in range(14)]
    lengths = [3 + 5 * number % 17 for number in range(14)]
    params = [rule_params(rules[number], number % 3, lengths[number]) for number in range(14)]
    plain = SamplingParams(max_tokens=12, temperature=0.0, ignore_eos=True, detokenize=False)
    params[4], params[9] = plain, plain  # these have no rule
    texts = written(engine, prompts, params)
    for number, (prompt, tokens) in enumerate(zip(prompts, texts, strict=True)):
        if params[number] is plain:
            expected = logits_along(small, prompt.token_ids, tokens).argmax(dim=1).tolist()
        else:
            assert len(tokens) == lengths[number]
            key = bat.Key(number % 3, "", prompt_name(prompt.token_ids), 0)
            expected = tokens_chosen(small, rules[number], key, prompt.token_ids, tokens)
        assert tokens == expected, number


def test_a_prompt_draws_what_it_draws_in_transformers(engine: Engine, small: LanguageModel) -> None:
    [prompt] = prompts_of(1)
    sampler = RuleSampler(small, "ba-eta=0.05", seed=3, constraints=CONSTRAINTS)
    ids = torch.tensor([prompt.token_ids])
    output = small.model.generate(ids, max_new_tokens=8, custom_generate=sampler, eos_token_id=None)
    [tokens] = written(engine, [prompt], [rule_params("ba-eta=0.05", 3)])
    assert tokens == output[0, ids.shape[1] :].tolist()


def test_what_cannot_be_sampled_is_an_answer_and_the_engine_goes_on(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    [prompt] = prompts_of(1)
    before = written(engine, [prompt], [rule_params("eta=0.01", 0)])
    for wrong, sentence in (
        (SamplingParams(top_p=0.9, extra_args={"bat_rule": "eta=0.01"}), "top_p must be 1.0 beside bat_rule"),
        (SamplingParams(extra_args={"bat_rule": "etta=0.01"}), "etta"),
        (SamplingParams(n=2, extra_args={"bat_rule": "eta=0.01"}), "n must be 1 beside bat_rule"),
    ):
        with pytest.raises(VLLMValidationError, match=sentence):
            written(engine, [prompt], [wrong])
    # More constraints than the model has dimensions show only when its files are read.
    params = rule_params("ba-eta=0.05", 0, bat_constraints=500)
    [endless] = written(engine, [prompt], [params])
    assert len(endless) == 8  # as it asks to ignore the token that ends texts
    params.ignore_eos = False
    [ended] = written(engine, [prompt], [params])
    assert ended == endless[:1] == list(engine.info.end_tokens)
    assert caplog.text.count("A text under ba-eta=0.05 ends at step 0") == 2
    assert written(engine, [prompt], [rule_params("eta=0.01", 0)]) == before


def made_config(model: LanguageModel, **additional: Any) -> Any:
    """As much of vLLM's configuration as a processor reads."""
    config = SimpleNamespace(
        model=model.info.name,
        revision=None,
        dtype=torch.float32,
        get_vocab_size=lambda: model.info.vocabulary_size,
    )
    return SimpleNamespace(model_config=config, additional_config=additional)


def expected_token(
    model: LanguageModel, logits: torch.Tensor, params: SamplingParams, prompt: list[int], step: int
) -> list[int]:
    asked = params.extra_args
    numbers = bat.uniforms([bat.Key(asked["bat_seed"], "", prompt_name(prompt), 0)], step, 11)
    rule = bat.get_rule(asked["bat_rule"])
    return bat.sample(model.basis(CONSTRAINTS), logits[None], rule, numbers).tokens.tolist()


def finite(logits: torch.Tensor) -> list[int]:
    return logits.isfinite().nonzero().flatten().tolist()


def test_rows_are_followed_through_every_update_of_a_batch(small: LanguageModel) -> None:
    """vLLM's own records of what happened: removed, added, moved one way and swapped."""
    processor = RuleProcessor(made_config(small), torch.device("cpu"), False)
    assert isinstance(processor, BatchRules)
    assert not processor.is_argmax_invariant()
    prompts = [[1, 2], [3], [4, 5, 6], [7, 8]]
    params = [rule_params(rule, seed) for seed, rule in enumerate(RULES)]
    outputs: list[list[int]] = [[], [10, 11], [12], [13, 14, 15]]
    added = [(row, params[row], prompts[row], outputs[row]) for row in range(3)]
    processor.update_state(BatchUpdate(3, removed=[], added=added, moved=[]))
    # Row 1 leaves, request 3 takes its place, then 0 and 2 swap, and 1 moves to the end.
    moved = [(0, 2, MoveDirectionality.SWAP), (1, 3, MoveDirectionality.UNIDIRECTIONAL)]
    update = BatchUpdate(4, removed=[], added=[(1, params[3], prompts[3], outputs[3])], moved=moved)
    processor.update_state(update)
    outputs[2].append(16)  # as vLLM does after each step
    processor.update_state(None)
    seen = torch.tensor(np.random.default_rng(0).normal(0, 2, (4, 1000)), dtype=torch.float32)
    logits = processor.apply(seen.clone())
    for row, request in ((0, 2), (2, 0), (3, 3)):
        step = len(outputs[request])
        expected = expected_token(small, seen[row], params[request], prompts[request], step)
        assert finite(logits[row]) == expected
    assert torch.equal(logits[1], seen[1])  # nobody is there
    processor.update_state(BatchUpdate(1, removed=[0, 2, 3], added=[], moved=[]))
    assert torch.equal(processor.apply(seen.clone()), seen)


def test_the_second_runner_takes_the_plug_in(small: LanguageModel) -> None:
    """Model runner V2 without a GPU: its own loader, and its own records with tensors of the CPU."""
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsContext, LogitsProcRequestState
    from vllm.v1.worker.gpu.sample.logits_processor.loader import _load_v2_logitsprocs

    assert RuleProcessor in _load_v2_logitsprocs([])
    prompts = {0: [1, 2], 2: [4, 5, 6], 3: [7]}
    table = torch.zeros(4, 16, dtype=torch.int32)
    for slot, prompt in prompts.items():
        table[slot, : len(prompt)] = torch.tensor(prompt)
    lengths = np.array([2, 0, 3, 1])
    states = LogitsProcRequestState(
        device=torch.device("cpu"),
        max_num_reqs=4,
        vocab_size=1000,
        all_token_ids=SimpleNamespace(gpu=table),  # type: ignore[arg-type]
        prompt_len=SimpleNamespace(np=lengths),  # type: ignore[arg-type]
        prefill_len=SimpleNamespace(np=lengths),  # type: ignore[arg-type]
        total_len=SimpleNamespace(gpu=torch.from_numpy(lengths)),  # type: ignore[arg-type]
    )
    processor = RuleProcessor(made_config(small), states)
    assert isinstance(processor, SlotRules)
    params = {slot: rule_params(RULES[number], slot) for number, slot in enumerate(prompts)}
    assert [processor.add_request(slot, params[slot]) for slot in prompts] == [True] * 3
    assert not processor.add_request(1, SamplingParams())
    # Rows are reordered, and the request in slot 2 has two, for it and for a draft token.
    slots, positions = [3, 1, 2, 2, 0], [4, 9, 2, 3, 1]
    context = LogitsContext(
        expanded_idx_mapping=torch.tensor(slots),
        idx_mapping=torch.tensor([3, 1, 2, 0]),
        idx_mapping_np=np.array([3, 1, 2, 0]),
        expanded_local_pos=torch.tensor([0, 0, 0, 1, 0]),
        input_ids=torch.zeros(5, dtype=torch.int32),
        pos=torch.tensor(positions),
        seq_lens_upper_bound_np=np.array([5, 10, 4, 2]),
    )
    seen = torch.tensor(np.random.default_rng(1).normal(0, 2, (5, 1000)), dtype=torch.float32)
    logits = processor.apply(seen.clone(), context)
    for row, (slot, position) in enumerate(zip(slots, positions, strict=True)):
        if slot == 1:
            assert torch.equal(logits[row], seen[row])
            continue
        step = position + 1 - len(prompts[slot])
        assert finite(logits[row]) == expected_token(small, seen[row], params[slot], prompts[slot], step)
    # A slot that is used again forgets who had it.
    processor.add_request(2, SamplingParams())
    assert torch.equal(processor.apply(seen.clone(), context)[2], seen[2])


def test_bases_can_be_prepared_when_the_engine_starts(
    small: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ModelBases, "__call__", lambda self, constraints: asked.append(constraints))
    RuleProcessor(made_config(small, bat_constraints=[4, CONSTRAINTS]), torch.device("cpu"), False)
    assert asked == [4, CONSTRAINTS]
    with pytest.raises(InvalidInputError, match=r"must be a list of integers such as \[20\]; got 20"):
        RuleProcessor(made_config(small, bat_constraints=20), torch.device("cpu"), False)


def test_a_vllm_without_the_second_runner_takes_the_plug_in() -> None:
    script = (
        "import sys; sys.modules['vllm.v1.worker.gpu.sample.logits_processor.interface'] = None; "
        "from workers.vllm_plugin.processor import BatchInterface, RuleProcessor; "
        "print(issubclass(RuleProcessor, BatchInterface))"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "True"


def test_vllm_finds_the_plug_in_by_itself() -> None:
    from vllm.v1.sample.logits_processor import _load_custom_logitsprocs

    assert RuleProcessor in _load_custom_logitsprocs(None)
