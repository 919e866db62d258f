"""A shard of prefixes through vLLM."""

from __future__ import annotations

import dataclasses

import pytest

import bat
from bat.errors import BatError
from tests.vllm_engine.engines import CONSTRAINTS, prompts_of
from workers.generation import GenerationSettings, generate
from workers.generation_record import StopReason
from workers.models import LanguageModel
from workers.prefixes import Prefix
from workers.vllm_plugin.engine import Engine

SETTINGS = GenerationSettings(bat.get_rule("ba-eta", 0.05), CONSTRAINTS, max_tokens=12, seed=2, batch_size=4)


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        dataclasses.replace(SETTINGS, rule=bat.get_rule("eta", 0.01), temperature=0.7),
        dataclasses.replace(SETTINGS, temperature=0.7, fallback="exact", max_tries=2, sample=1, run="r"),
    ],
    ids=["ba-eta", "eta at 0.7", "ba-eta at 0.7"],
)
def test_texts_and_traces_are_those_of_our_own_generation(
    engine: Engine, small: LanguageModel, settings: GenerationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this model no random number falls where the rounding of the two could be seen."""
    prompts = prompts_of(10)
    # Many tokens end a text here, as these texts are short.
    ends = dataclasses.replace(small.info, end_tokens=tuple(range(100)))
    monkeypatch.setattr(engine, "info", ends)
    ours = generate(dataclasses.replace(small, info=ends), prompts, settings)
    theirs = engine.generate(prompts, settings)
    assert {one.stop_reason for one in ours} == {StopReason.END, StopReason.LENGTH}
    for one, other in zip(ours, theirs, strict=True):
        assert (one.prefix_id, one.key, one.text) == (other.prefix_id, other.key, other.text)
        assert one.stop_reason is other.stop_reason
        for column in ("token_ids", "acceptance", "rejections", "undecided", "programs", "rejected_tokens"):
            assert getattr(one.trace, column).tolist() == getattr(other.trace, column).tolist()
        for column in ("probabilities", "thresholds"):
            expected = pytest.approx(getattr(one.trace, column), rel=1e-3)
            assert getattr(other.trace, column) == expected


def test_a_text_ends_where_the_context_does(engine: Engine) -> None:
    long = Prefix("long", tuple(range(100)) * 10, ())  # of 1,024
    [text] = engine.generate([long], dataclasses.replace(SETTINGS, max_tokens=50))
    assert (text.stop_reason, len(text.token_ids)) in (
        (StopReason.CONTEXT, 24),
        (StopReason.END, len(text.token_ids)),
    )
    with pytest.raises(BatError, match="must leave room in the context"):
        engine.generate([Prefix("longer", tuple(range(100)) * 11, ())], SETTINGS)


def test_a_text_whose_rule_cannot_be_applied_fails_its_job(engine: Engine) -> None:
    with pytest.raises(
        BatError, match=r"prefix 'p0' could not be continued: constraints must be at most the rank"
    ):
        engine.generate(prompts_of(1), dataclasses.replace(SETTINGS, constraints=500))
