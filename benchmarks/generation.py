"""Text generation with the demo model: our sampling against transformers', and against the model alone.

Runs in a separate process with all cores, because the other sections use one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import torch
from transformers import DynamicCache

import bat
from benchmarks.record import Figure, best_in_turns, figures_of, write_figures
from workers import models
from workers.corpora import open_corpus
from workers.generation import GenerationSettings, generate
from workers.kv_cache import make_cache
from workers.measurement import measure as measure_human_text
from workers.models import LanguageModel
from workers.positions import draw_from_corpus
from workers.prefixes import Prefix, prefixes
from workers.reading import read
from workers.rejection import matching_parameter
from workers.traces import encode_trace

NEW_TOKENS = 128
BATCHES = (1, 16, 64)
# Runs per batch size; the best counts. Short runs are noisier, so they are repeated more often.
REPEATS = {1: 7, 16: 3, 64: 2}
PLAIN = bat.get_rule("eta", 0.002)
CONSTRAINTS = 20
POSITIONS = 240
POSITIONS_PER_DOCUMENT = 4


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    return figures_of("benchmarks.generation")


def _figures() -> Iterator[Figure]:
    demo = models.load("smollm2-135m", device="cpu")
    # No text ends early, so that all contenders generate the same number of tokens.
    endless = dataclasses.replace(demo, info=dataclasses.replace(demo.info, end_tokens=()))
    demo.model.generation_config.eos_token_id = None
    parameter = yield from _human_text(demo)
    aware = bat.get_rule("ba-eta", parameter)
    news = prefixes(open_corpus("news"), demo.tokenizer, n=max(BATCHES)).prefixes
    generate(endless, news[:2], GenerationSettings(aware, max_tokens=4))  # compile
    for size in BATCHES:
        yield from _batch(endless, news[:size], aware)


def _human_text(demo: LanguageModel) -> Iterator[Figure]:
    """Compare measuring human text with reading it; return the basis-aware parameter that matches PLAIN."""
    drawn = draw_from_corpus(
        open_corpus("news", split="all"), demo.tokenizer, POSITIONS, POSITIONS_PER_DOCUMENT
    )
    measure_human_text(demo, drawn[0][:2], positions=drawn[1])  # compile
    measurement = None

    def run() -> None:
        nonlocal measurement
        measurement = measure_human_text(demo, *drawn[:1], positions=drawn[1])

    reading, whole = best_in_turns(
        [lambda: sum(len(batch.tokens) for batch in read(demo, *drawn)), run], repeats=2
    )
    assert measurement is not None
    group = f"human text, {POSITIONS_PER_DOCUMENT} positions per document"
    yield Figure(group, "forward passes alone", POSITIONS / reading, "positions/s")
    yield Figure(group, "all rejection rates measured", POSITIONS / whole, "positions/s", "c = 20")
    ratio = whole / reading
    yield Figure(group, "measured / forward alone", ratio, "x the time", "", "<= 2x", ratio <= 2.0)
    match = matching_parameter(measurement, PLAIN, "ba-eta", replicates=0)
    yield Figure(
        group,
        f"ba-eta parameter that rejects as much as {PLAIN}",
        match.parameter.value,
        "",
        f"{match.rate.value:.1%} of {POSITIONS} human tokens",
    )
    return match.parameter.value


def _batch(demo: LanguageModel, shard: tuple[Prefix, ...], aware: bat.Rule) -> Iterator[Figure]:
    size = len(shard)
    settings = GenerationSettings(PLAIN, CONSTRAINTS, max_tokens=NEW_TOKENS)
    aware_settings = dataclasses.replace(settings, rule=aware)
    generations_of = {}  # by rule

    def ours(chosen: GenerationSettings) -> None:
        generations_of[chosen.rule.name] = generate(demo, shard, chosen)

    bare, stock_bare, stock, plain, basis_aware = best_in_turns(
        [
            lambda: _forward_loop(demo, shard, stock_cache=False),
            lambda: _forward_loop(demo, shard, stock_cache=True),
            lambda: _stock_generate(demo, shard),
            lambda: ours(settings),
            lambda: ours(aware_settings),
        ],
        REPEATS[size],
    )
    group = f"generation, batch {size}, {NEW_TOKENS} new tokens"
    tokens = size * NEW_TOKENS
    for name, seconds in (
        ("forward passes alone", bare),
        ("forward passes alone, transformers' cache", stock_bare),
        ("transformers.generate, eta_cutoff", stock),
        (f"ours, {PLAIN}", plain),
        (f"ours, {aware.name}={aware.parameter:.2g}", basis_aware),
    ):
        yield Figure(group, name, tokens / seconds, "tokens/s")
    yield _ratio(group, "eta: ours / transformers", stock / plain, 1.2 if size == 64 else 1.0)
    yield _ratio(group, "eta: ours / forward alone", bare / plain, 0.9)
    yield _ratio(group, "ba-eta / eta, ours", plain / basis_aware, 0.9)
    traces = [generation.trace for generation in generations_of[aware.name]]
    programs = sum(int(trace.programs.sum()) for trace in traces) / tokens
    yield Figure(group, "programs per token, ba-eta", programs, "")
    for name, generations in generations_of.items():
        stored = sum(len(encode_trace(generation.trace)) for generation in generations) / tokens
        yield Figure(group, f"trace, {name}", stored, "bytes per token")


def _ratio(group: str, name: str, ratio: float, target: float) -> Figure:
    return Figure(group, name, ratio, "x", "", f">= {target:g}x", ratio >= target)


@torch.inference_mode()
def _forward_loop(demo: LanguageModel, shard: tuple[Prefix, ...], stock_cache: bool) -> None:
    """The model alone: the same passes, with given tokens."""
    model, length = demo.model, len(shard[0].token_ids)
    cache = DynamicCache(config=model.config) if stock_cache else make_cache(model, length + NEW_TOKENS)
    tokens = torch.tensor([prefix.token_ids for prefix in shard])
    following = torch.tensor([shard[0].continuation_ids])  # human tokens, the same for every row
    for step in range(NEW_TOKENS):
        model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        tokens = following[:, step % following.shape[1]].expand(len(shard))[:, None]


def _stock_generate(demo: LanguageModel, shard: tuple[Prefix, ...]) -> None:
    tokens = torch.tensor([prefix.token_ids for prefix in shard])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        generated = demo.model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=True,
            eta_cutoff=PLAIN.parameter,
            top_k=0,
            max_new_tokens=NEW_TOKENS,
            pad_token_id=0,
        )
    assert generated.shape[1] == tokens.shape[1] + NEW_TOKENS


if __name__ == "__main__":
    write_figures(_figures())
