"""vLLM as the engine of workers and sweeps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import BatError
from harness.jobs import Generate
from harness.store import open_reader
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from tests.vllm_engine.engines import CONSTRAINTS, engine_request, prompts_of
from workers.generation import GenerationSettings, generate
from workers.generation_record import StopReason
from workers.models import LanguageModel
from workers.prefixes import Prefix
from workers.requests import GenerateRequest, GenerateWithVllmRequest, Worker
from workers.traces import encode_trace
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


class TestWorker:
    @pytest.fixture(autouse=True)
    def _alone(self, engine: Engine) -> None:
        """Two engines in one process would share what vLLM keeps for the process."""
        engine.close()

    def test_frees_one_engine_before_it_loads_another(self, small: LanguageModel) -> None:
        asked = engine_request(small.info.name)
        prompts = tuple(prompts_of(3))
        worker = Worker("cpu")
        with_vllm = GenerateWithVllmRequest(asked.model, prompts, SETTINGS, asked.version, asked.options)
        ours = worker.answer(GenerateRequest(asked.model, prompts, SETTINGS))
        assert worker._loaded is not None
        theirs = worker.answer(with_vllm)
        assert worker._loaded is None
        assert worker._engine is not None
        first = worker._engine[1]
        worker.answer(with_vllm)
        assert worker._engine[1] is first
        again = worker.answer(GenerateRequest(asked.model, prompts, SETTINGS))
        assert worker._engine is None
        assert first.llm is None
        assert theirs.model == dataclasses.replace(ours.model, device="cpu")
        assert [one.text for one in ours.value] == [one.text for one in theirs.value]
        assert [encode_trace(one.trace) for one in ours.value] == [
            encode_trace(one.trace) for one in again.value
        ]

    def test_another_version_is_refused(self, small: LanguageModel) -> None:
        asked = engine_request(small.info.name)
        request = GenerateWithVllmRequest(asked.model, (), SETTINGS, "0.1.0", {})
        with pytest.raises(BatError, match=r"planned for vLLM 0\.1\.0, but this worker has"):
            Worker("cpu").answer(request)

    def test_an_option_that_vllm_lacks_is_named(self, small: LanguageModel) -> None:
        asked = engine_request(small.info.name, gpu_memory_utilisation=0.5)
        request = GenerateWithVllmRequest(asked.model, (), SETTINGS, asked.version, asked.options)
        with pytest.raises(BatError, match="Did you mean 'gpu_memory_utilization'"):
            Worker("cpu").answer(request)

    def test_a_sweep_from_measuring_to_its_report(
        self, small: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
        generation = {
            "max_tokens": 6,
            "batch_size": 4,
            "engine": "vllm",
            "engine_options": {"enforce_eager": True},
        }
        one_shard = {"count": 6, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 6}
        corpus = write_corpus(tmp_path / "corpus")
        sweep = tiny_sweep(corpus, small.info.name, generation=generation, prefixes=one_shard)
        store = open_quick_store(tmp_path / "results.db")
        make_driver(store, sweep, LocalPool).run()
        with open_reader(f"sqlite:///{tmp_path / 'results.db'}") as reader:
            [run] = reader.runs()
            jobs = list(reader.jobs(run.id))
            assert {job.state.value for job in jobs} == {"done"}
            specs = [spec for job in jobs if isinstance(spec := job.parse(), Generate)]
            assert {spec.engine for spec in specs} == {"vllm"}
