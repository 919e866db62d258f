"""A real model in vLLM: texts equal those of our own generation, and lie in the candidate sets."""

from __future__ import annotations

from itertools import takewhile

import pytest

import bat
from tests.vllm_engine.engines import engine_request, logits_along
from workers.corpora import open_corpus
from workers.generation import Generation, GenerationSettings, generate
from workers.models import LanguageModel
from workers.prefixes import Prefix, prefixes
from workers.requests import Worker

SETTINGS = GenerationSettings(bat.get_rule("ba-eta", 0.036), max_tokens=32, batch_size=12)


@pytest.fixture(scope="module")
def news(demo_model: LanguageModel) -> tuple[Prefix, ...]:
    return prefixes(open_corpus("news"), demo_model.tokenizer, n=12).prefixes


@pytest.fixture(scope="module")
def texts(news: tuple[Prefix, ...], worker: Worker) -> list[Generation]:
    return worker.load_engine(engine_request("smollm2-135m", 12)).generate(news, SETTINGS)


@pytest.mark.model
def test_texts_are_those_of_our_own_generation_until_rounding_shows(
    demo_model: LanguageModel,
    news: tuple[Prefix, ...],
    texts: list[Generation],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Both run in float32, whose rounding moves an edge between tokens by about 1e-6. So hardly any of 384
    tokens should differ; after one that does, the rest of its text may."""
    ours = generate(demo_model, news, SETTINGS)
    agreeing = sum(_tokens_in_common(own, text) for own, text in zip(ours, texts, strict=True))
    total = sum(len(own.token_ids) for own in ours)
    with capsys.disabled():
        print(f" {agreeing} of {total} tokens come before the first difference in their text ", end="")  # noqa: T201
    assert agreeing >= 0.9 * total


def _tokens_in_common(own: Generation, other: Generation) -> int:
    """The number of tokens before the first difference."""
    pairs = zip(own.token_ids.tolist(), other.token_ids.tolist(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.model
def test_every_token_lies_in_the_candidate_set(
    demo_model: LanguageModel, news: tuple[Prefix, ...], texts: list[Generation]
) -> None:
    """Decided afterwards, from transformers' logits, for all tokens but those of the fallback."""
    decided = below = 0
    for prefix, text in zip(news, texts, strict=True):
        logits = logits_along(demo_model, prefix.token_ids, text.token_ids.tolist())
        probs = bat.softmax(logits)
        taus = SETTINGS.rule.thresholds(probs)  # type: ignore[attr-defined]
        kept = text.trace.acceptance <= bat.Acceptance.CERTIFIED
        # A threshold that rounding moved must not decide: the engine's own was within a relative 1e-4.
        assert text.trace.thresholds == pytest.approx(taus, rel=1e-3)
        decisions = bat.decide(
            demo_model.basis(20), probs[kept], text.token_ids[kept], taus[kept] * (1 - 1e-3)
        )
        assert all(verdict is bat.Verdict.ACCEPT for verdict in decisions.verdicts)
        decided += int(kept.sum())
        below += int((text.trace.acceptance[kept] == bat.Acceptance.CERTIFIED).sum())
    assert decided > 300
    assert below > 10  # not only tokens that any rule would accept
