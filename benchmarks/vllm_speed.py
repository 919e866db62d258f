"""vLLM with its own sampling, with our rules, and our own generation: the demo model, 64 texts at a time.

Runs where vLLM is installed (`make setup-vllm`), in a process of its own with all cores. On a CPU the model
takes nearly all of the time, so the ratios say that the plug-in is right, not how it does beside a fast GPU.

With a thread on every core, a single other process makes a forward pass ten times slower. A ratio of a
disturbed run to an undisturbed one says nothing, so only runs that had the cores to themselves count.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import bat
from benchmarks.record import Figure, figures_of, write_figures
from workers import models
from workers.corpora import open_corpus
from workers.generation import GenerationSettings, generate
from workers.prefixes import prefixes
from workers.requests import EngineRequest, ModelRequest
from workers.vllm_plugin.installation import get_version
from workers.vllm_plugin.parameters import write_parameters

MODEL = "smollm2-135m"
TEXTS = 64
NEW_TOKENS = 32
ROUNDS = 2
MAX_ROUNDS = 8  # if other processes get in the way
MAX_OTHERS = 0.1  # cores that other processes may use in a run that counts
PLAIN, AWARE = bat.get_rule("eta", 0.002), bat.get_rule("ba-eta", 0.036)  # the same rejection rate
TOP_P = 0.95


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    get_version()  # one sentence if there is none
    return figures_of("benchmarks.vllm_speed")


def _figures() -> Iterator[Figure]:
    group = f"vLLM {get_version()} on CPU, {TEXTS} texts of {NEW_TOKENS} tokens"
    names = (
        *(f"vLLM alone, top-p {TOP_P}", "vLLM alone, no truncation"),
        *(f"vLLM with {PLAIN}", f"vLLM with {AWARE}", f"our own generation, {AWARE}"),
    )
    runs = _undisturbed(_contenders())
    for name, seconds in zip(names, runs, strict=True):
        note = "" if seconds else "not measured: other processes used the cores in every run"
        yield Figure(group, name, TEXTS * NEW_TOKENS / seconds if seconds else 0.0, "tokens/s", note)
    top_p, untruncated, plain, aware, own = runs
    for name, base, seconds, target in (
        ("eta / vLLM alone", top_p, plain, None),
        ("ba-eta / vLLM alone", top_p, aware, 0.8),
        ("ba-eta / vLLM alone, no truncation", untruncated, aware, None),
        ("our own generation / vLLM alone", top_p, own, None),
    ):
        if base is not None and seconds is not None:
            ratio = base / seconds
            verdict = ("", None) if target is None else (f">= {target}x", ratio >= target)
            yield Figure(group, name, ratio, "x", "", *verdict)


def _undisturbed(contenders: Sequence[Callable[[], object]]) -> list[float | None]:
    """The best time of each without other processes beside it, in turns; None if there never was one."""
    best: list[float | None] = [None] * len(contenders)
    for number in range(MAX_ROUNDS):
        for index, contender in enumerate(contenders):
            busy, own, began = _busy_seconds(), time.process_time(), time.perf_counter()
            contender()
            seconds = time.perf_counter() - began
            others = (_busy_seconds() - busy - (time.process_time() - own)) / seconds
            if others < MAX_OTHERS:
                best[index] = min(seconds, best[index] or seconds)
        if number + 1 >= ROUNDS and None not in best:
            break
    return best


def _busy_seconds() -> float:
    """What all processes of the machine have used of its cores since it started."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _contenders() -> list[Callable[[], object]]:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "4")  # GiB
    os.environ["VLLM_LOGGING_STREAM"] = "ext://sys.stderr"  # figures go to the other
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from vllm import SamplingParams

    from workers.vllm_plugin.engine import Engine

    settings = GenerationSettings(AWARE, max_tokens=NEW_TOKENS, batch_size=TEXTS)
    demo = models.load(MODEL, "cpu")
    endless = dataclasses.replace(demo, info=dataclasses.replace(demo.info, end_tokens=()))
    news = prefixes(open_corpus("news"), demo.tokenizer, n=TEXTS).prefixes
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

    sampled = [
        [SamplingParams(**length, top_p=TOP_P) for _ in news],
        [SamplingParams(**length) for _ in news],
        under(PLAIN),
        under(AWARE),
    ]
    for params in sampled:  # read the basis and compile
        llm.generate(prompts[:1], params[:1], use_tqdm=False)
    generate(endless, news[:2], dataclasses.replace(settings, max_tokens=2))
    return [*(partial(run, params) for params in sampled), lambda: generate(endless, news, settings)]


if __name__ == "__main__":
    write_figures(_figures())
