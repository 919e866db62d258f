"""vLLM with its own sampling, with our rules, and our own generation: the demo model, 64 texts at a time.

Runs where vLLM is installed (`make setup-vllm`), in a process of its own with all cores. On a CPU the model
takes nearly all of the time, so the ratios say that the plug-in is right, not how it does beside a fast GPU.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import bat
from benchmarks.record import Figure, best_in_turns, best_of, figures_of, write_figures
from workers import models
from workers.corpora import open_corpus
from workers.generation import GenerationSettings, generate
from workers.prefixes import Prefix, prefixes
from workers.requests import EngineRequest, ModelRequest
from workers.vllm_plugin.installation import get_version
from workers.vllm_plugin.parameters import write_parameters

MODEL = "smollm2-135m"
TEXTS = 64
NEW_TOKENS = 32
REPEATS = 2
PLAIN, AWARE = bat.get_rule("eta", 0.002), bat.get_rule("ba-eta", 0.036)  # the same rejection rate
TOP_P = 0.95


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    get_version()  # one sentence if there is none
    return figures_of("benchmarks.vllm_speed")


def _figures() -> Iterator[Figure]:
    group = f"vLLM {get_version()} on CPU, {TEXTS} texts of {NEW_TOKENS} tokens"
    settings = GenerationSettings(AWARE, max_tokens=NEW_TOKENS, batch_size=TEXTS)
    news, own = _own_generation(settings)
    alone, plain, aware = _with_vllm(news, settings)
    tokens = TEXTS * NEW_TOKENS
    for name, seconds in (
        (f"vLLM alone, top-p {TOP_P}", alone),
        (f"vLLM with {PLAIN}", plain),
        (f"vLLM with {AWARE}", aware),
        (f"our own generation, {AWARE}", own),
    ):
        yield Figure(group, name, tokens / seconds, "tokens/s")
    yield Figure(group, "eta / vLLM alone", alone / plain, "x")
    ratio = alone / aware
    yield Figure(group, "ba-eta / vLLM alone", ratio, "x", "", ">= 0.8x", ratio >= 0.8)
    yield Figure(group, "our own generation / vLLM alone", alone / own, "x")


def _own_generation(settings: GenerationSettings) -> tuple[tuple[Prefix, ...], float]:
    """The prefixes, and our own time. First, because vLLM binds the threads of its process to cores."""
    demo = models.load(MODEL, "cpu")
    endless = dataclasses.replace(demo, info=dataclasses.replace(demo.info, end_tokens=()))
    news = prefixes(open_corpus("news"), demo.tokenizer, n=TEXTS).prefixes
    generate(endless, news[:2], dataclasses.replace(settings, max_tokens=2))  # compile
    return news, best_of(lambda: generate(endless, news, settings), REPEATS)


def _with_vllm(news: tuple[Prefix, ...], settings: GenerationSettings) -> list[float]:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "4")  # GiB
    os.environ["VLLM_LOGGING_STREAM"] = "ext://sys.stderr"  # figures go to the other
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from vllm import SamplingParams

    from workers.vllm_plugin.engine import Engine

    engine = Engine(
        EngineRequest(ModelRequest(MODEL), get_version(), {"enforce_eager": True}, batch_size=TEXTS), "cpu"
    )
    assert engine.llm is not None
    llm = engine.llm
    prompts: list[Any] = [{"prompt_token_ids": list(prefix.token_ids)} for prefix in news]
    length: dict[str, Any] = {"max_tokens": NEW_TOKENS, "ignore_eos": True, "detokenize": False}

    def run(params: list[SamplingParams]) -> None:
        outputs = llm.generate(prompts, params, use_tqdm=False)
        assert all(len(output.outputs[0].token_ids) == NEW_TOKENS for output in outputs)

    def under(rule: bat.Rule) -> list[SamplingParams]:
        chosen = dataclasses.replace(settings, rule=rule)
        return [SamplingParams(**length, extra_args=write_parameters(chosen, prefix.id)) for prefix in news]

    own = [SamplingParams(**length, top_p=TOP_P) for _ in news]
    contenders = [own, under(PLAIN), under(AWARE)]
    for params in contenders:  # read the basis and compile
        llm.generate(prompts[:1], params[:1], use_tqdm=False)
    return best_in_turns([lambda params=params: run(params) for params in contenders], REPEATS)  # type: ignore[misc]


if __name__ == "__main__":
    write_figures(_figures())
