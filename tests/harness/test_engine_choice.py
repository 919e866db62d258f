"""generation.engine: what it does to a sweep, to ids, to workers and to a report. Without vLLM itself."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bat
from bat.errors import BatError, InvalidInputError
from harness.api import running
from harness.config import load_config
from harness.config.canonical import from_identity, run_identity
from harness.jobs import Generate
from harness.planning.materials import Materials
from harness.planning.planner import make_plan
from harness.report.provenance import _Seen
from harness.store import JobState, open_reader
from tests.harness.config.sweeps import changed, complaint
from tests.harness.driver.sweeps import tiny_sweep, write_corpus
from tests.harness.jobs import specs
from tests.harness.stores import run_command
from workers.generation_record import GenerationSettings
from workers.models import load
from workers.prefixes import Prefix
from workers.requests import EngineRequest, GenerateRequest, GenerateWithVllmRequest, ModelRequest, Worker
from workers.vllm_plugin import engine, installation

CONFIGS = Path(__file__).parents[2] / "configs"
FAKE = ModelRequest("fake:v=300,d=8")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A model with files."""
    fake = load(FAKE.name, "cpu")
    fake.model.save_pretrained(tmp_path / "model")
    fake.tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def planned(folder: str, tmp_path: Path, **generation: Any) -> list[Generate]:
    sweep = tiny_sweep(
        write_corpus(tmp_path / "corpus"), folder, generation={"max_tokens": 6, "batch_size": 2, **generation}
    )
    return [job for _, job in make_plan(sweep, Materials(sweep)).jobs if isinstance(job, Generate)]


class TestSweep:
    def test_the_default_leaves_identities_as_they_were(self) -> None:
        config = load_config(CONFIGS / "smoke.yaml").config
        assert config.generation.engine == "transformers"
        assert not {"engine", "engine_options"} & run_identity(config)["generation"].keys()
        named = load_config(CONFIGS / "smoke.yaml", ["generation.engine=transformers"]).config
        assert run_identity(named) == run_identity(config)

    def test_vllm_is_part_of_a_runs_identity(self, folder: str, tmp_path: Path) -> None:
        options = {"engine": "vllm", "engine_options": {"enforce_eager": True, "gpu_memory_utilization": 0.5}}
        sweep = tiny_sweep(write_corpus(tmp_path / "corpus"), folder, generation=options)
        identity = run_identity(sweep)
        assert identity["generation"]["engine_options"] == options["engine_options"]
        assert run_identity(from_identity(identity)) == identity

    @pytest.mark.parametrize(
        ("generation", "sentence"),
        [
            ("engine: vlm", "generation.engine"),
            (
                "engine_options: {enforce_eager: true}",
                "generation.engine_options: options such as enforce_eager are for vLLM.",
            ),
            (
                "engine: vllm\n  engine_options: {dtype: float16}",
                "generation.engine_options.dtype: dtype cannot be set here: the sweep decides about it.",
            ),
            ("engine: vllm", "vLLM reads a model from its files, and 'fake:v=1000,d=16' has none."),
        ],
    )
    def test_what_does_not_fit_is_said(self, generation: str, sentence: str, tmp_path: Path) -> None:
        text = changed(("  seeds: [0, 1]\n", f"  seeds: [0, 1]\n  {generation}\n"))
        assert any(sentence in line for line in complaint(tmp_path, text))

    def test_without_vllm_a_run_ends_with_the_command_that_installs_it(
        self, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installation, "find_version", lambda: None)
        with pytest.raises(
            BatError, match=r"vLLM, which is not installed .* Run: python -m pip install vllm"
        ):
            planned(folder, tmp_path, engine="vllm")

    def test_a_misspelt_option_is_said_before_anything_runs(
        self, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """From the source of vLLM, of which this is what is read."""
        source = tmp_path / "packages" / "vllm" / "engine" / "arg_utils.py"
        source.parent.mkdir(parents=True)
        (source.parents[1] / "__init__.py").write_text("raise AssertionError('must not be imported')")
        source.write_text("class EngineArgs:\n    model: str\n    enforce_eager: bool = False\n")
        monkeypatch.syspath_prepend(tmp_path / "packages")
        monkeypatch.setattr(installation, "find_version", lambda: "0.32.0")
        assert planned(folder, tmp_path, engine="vllm", engine_options={"enforce_eager": True})
        sweep = tiny_sweep(
            write_corpus(tmp_path / "corpus"),
            folder,
            generation={"engine": "vllm", "engine_options": {"enforce_eger": True}},
        )
        for begin in (lambda: make_plan(sweep, Materials(sweep)), lambda: running._check_engine(sweep)):
            with pytest.raises(InvalidInputError, match=r"got 'enforce_eger'\. Did you mean 'enforce_eager'"):
                begin()
        source.write_text("class EngineArgs(Others): ...\n")  # names that cannot be told from here are left
        installation._option_names.cache_clear()
        installation.check_options(["anything"])


class TestJobs:
    def test_engine_version_and_options_are_part_of_ids(
        self, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours = {job.id for job in planned(folder, tmp_path)}
        ids = [ours]
        for version, options in (("0.32.0", None), ("0.33.0", None), ("0.32.0", {"enforce_eager": True})):
            monkeypatch.setattr(installation, "find_version", lambda version=version: version)
            jobs = planned(folder, tmp_path, engine="vllm", engine_options=options)
            assert {(job.engine, job.engine_version) for job in jobs} == {("vllm", version)}
            assert all(job.engine_options == options for job in jobs)
            ids.append({job.id for job in jobs})
        assert len(set.union(*ids)) == sum(map(len, ids))
        assert all("engine" not in key for job in planned(folder, tmp_path) for key in job.job.spec)

    def test_a_job_says_what_is_not_promised(self) -> None:
        spec = specs.generate(engine="vllm", engine_version="0.32.0", engine_options={"seed": 3})
        assert specs.generate().reproducibility is None
        assert spec.reproducibility is not None
        assert spec.reproducibility.startswith("texts by vllm 0.32.0, seed=3: generated again, they are not")
        assert "with vllm" in spec.describe()
        assert spec.pace != specs.generate().pace

    def test_the_report_says_so(self) -> None:
        spec = specs.generate(engine="vllm", engine_version="0.32.0")
        seen = _Seen()
        for number, each in enumerate((spec, spec, specs.generate())):
            done = {"state": JobState.DONE, "finished_at": None, "adjustment": None}
            job: Any = SimpleNamespace(id=f"{number}", parse=lambda each=each: each, **done)
            seen.add(job)
        assert list(seen.limits) == [spec.reproducibility]


class TestWorker:
    def test_holds_one_engine_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stand-in for vLLM tells when it is opened and closed."""
        told: list[str] = []

        class Engine:
            def __init__(self, request: EngineRequest, device: str) -> None:
                told.append(f"open {request.batch_size} on {device}")
                self.info = load(FAKE.name, "cpu").info

            def generate(self, prefixes: object, settings: object) -> list[Any]:
                return []

            def close(self) -> None:
                told.append("close")

        monkeypatch.setattr(engine, "Engine", Engine)
        settings = GenerationSettings(bat.get_rule("eta", 0.1), max_tokens=2, batch_size=3)
        prefixes = (Prefix("p", (1, 2), ()),)
        ours = GenerateRequest(FAKE, prefixes, settings)
        theirs = GenerateWithVllmRequest(FAKE, prefixes, settings, "0.32.0", {"enforce_eager": True})
        fewer = dataclasses.replace(theirs, settings=dataclasses.replace(settings, batch_size=2))
        worker = Worker("cpu")
        for request in (ours, theirs, pickle.loads(pickle.dumps(theirs)), fewer, ours):
            answer = worker.answer(request)
            assert answer.model is not None
            assert (worker._loaded is None) == (request is not ours)
        assert told == ["open 3 on cpu", "close", "open 2 on cpu", "close"]


def test_the_command_line_says_it_in_one_sentence(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "find_version", lambda: None)
    overrides = (
        *(f"models=[{{name: {folder}}}]", "generation.engine=vllm"),
        *("stages=[{name: compare, split: test}]", "methods=[{rule: eta, parameter: 0.1}]"),
    )
    arguments = [part for each in overrides for part in ("--set", each)]
    database = f"sqlite:///{tmp_path / 'results.db'}"
    for command in (("plan",), ("run", "--db", database)):  # the latter without starting Ray
        said = run_command(capsys, *command, str(CONFIGS / "smoke.yaml"), *arguments, code=1)
        assert " ".join(said.split()).endswith(
            "generation.engine: vllm needs vLLM, which is not installed in this environment. "
            "Run: python -m pip install vllm, or set generation.engine: transformers."
        )
    assert "Starting Ray" not in said
    with open_reader(database) as reader:
        assert list(reader.runs()) == []
