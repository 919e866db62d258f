"""vLLM in workers and sweeps."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import vllm
from vllm.engine.arg_utils import EngineArgs

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import BatError
from harness import write_report
from harness.jobs import Generate
from harness.store import open_reader
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from tests.vllm_engine.engines import CONSTRAINTS, engine_request, prompts_of
from workers.generation import GenerationSettings
from workers.models import LanguageModel
from workers.requests import GenerateRequest, GenerateWithVllmRequest, Worker
from workers.vllm_plugin.installation import _option_names, get_version

SETTINGS = GenerationSettings(bat.get_rule("ba-eta", 0.05), CONSTRAINTS, max_tokens=12, seed=2, batch_size=4)


def test_options_are_told_from_the_source_of_vllm() -> None:
    names = [field.name for field in dataclasses.fields(EngineArgs)]
    assert list(_option_names(Path(vllm.__file__).parent)) == names


def test_a_worker_frees_one_engine_before_it_loads_another(worker: Worker, small: LanguageModel) -> None:
    asked = engine_request(small.info.name)
    prompts = tuple(prompts_of(3))
    with_vllm = GenerateWithVllmRequest(asked.model, prompts, SETTINGS, asked.version, asked.options)
    theirs = worker.answer(with_vllm)
    assert worker._engine is not None
    engine = worker._engine[1]
    worker.answer(with_vllm)
    assert worker._engine[1] is engine
    ours = worker.answer(GenerateRequest(asked.model, prompts, SETTINGS))
    assert worker._engine is None
    assert engine.llm is None
    assert theirs.model == ours.model
    assert [text.text for text in theirs.value] == [text.text for text in ours.value]
    with pytest.raises(BatError, match="after it was closed"):
        engine.generate(prompts, SETTINGS)


@pytest.mark.parametrize(
    ("version", "options", "sentence"),
    [
        ("0.1.0", {}, r"^the job was planned for vLLM 0\.1\.0, but this worker has"),
        (None, {"gpu_memory_utilisation": 0.5}, "Did you mean 'gpu_memory_utilization'"),
        (None, {"gpu_memory_utilization": 7.0}, r"^vLLM does not start with \S+: gpu_memory_utilization .+"),
        (None, {"max_model_len": 10**9}, r"^vLLM does not start with \S+: .*max_model_len.*"),
    ],
)
def test_what_vllm_cannot_do_is_said_in_a_sentence(
    version: str | None, options: dict[str, object], sentence: str, worker: Worker, small: LanguageModel
) -> None:
    asked = engine_request(small.info.name)
    request = GenerateWithVllmRequest(asked.model, (), SETTINGS, version or get_version(), options)
    with pytest.raises(BatError, match=sentence) as caught:
        worker.answer(request)
    assert "input_value" not in str(caught.value)  # nor anything else that pydantic adds


def test_a_sweep_from_measuring_to_its_report(
    worker: Worker, small: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    sweep = tiny_sweep(
        write_corpus(tmp_path / "corpus"),
        small.info.name,
        generation={
            "max_tokens": 6,
            "batch_size": 4,
            "engine": "vllm",
            "engine_options": {"enforce_eager": True},
        },
        prefixes={"count": 6, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 6},
        resources={"lease_seconds": 3600},  # however long an engine takes to start
    )
    pool = LocalPool()
    pool._worker = worker
    make_driver(open_quick_store(tmp_path / "results.db"), sweep, lambda: pool).run()
    database = f"sqlite:///{tmp_path / 'results.db'}"
    with open_reader(database) as reader:
        [run] = reader.runs()
        jobs = list(reader.jobs(run.id))
        assert {job.state.value for job in jobs} == {"done"}
        specs = [spec for job in jobs if isinstance(spec := job.parse(), Generate)]
        assert {(spec.engine, spec.engine_version) for spec in specs} == {("vllm", get_version())}
    page = write_report(database, tmp_path / "report").page.read_text(encoding="utf-8")
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert f"texts by vllm {get_version()}, enforce_eager=True: generated again, they are not" in words
