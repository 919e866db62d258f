"""The files of configs/cluster, as far as a machine without a cluster can tell.

The scripts run for real, but `ray`, `srun` and the like only write down what they were asked; then the real
commands are asked whether they know every option.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from ray.scripts.scripts import cli as ray_command

from harness import cli
from harness.config import load_config

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "configs" / "cluster"
SWEEP = "configs/paper/comparison.yaml"

# Writes its name and arguments to a file of their own, then does what the test has asked for.
STUB = """#!/bin/bash
printf '%s\\n' "${0##*/}" "$@" >"$CALLS/$(date +%s%N)-$$"
"""
RUN_THE_REST = 'while [[ $1 == --* ]]; do shift; done\n"$@"'  # as srun does, after its own options


class Machine:
    """A place for scripts to run in, with commands that only write down what they are asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._bin, self._calls = folder, folder / "bin", folder / "calls"
        self._bin.mkdir()
        self._calls.mkdir()
        (self._bin / "python").symlink_to(sys.executable)
        (self._bin / "python3").symlink_to(sys.executable)
        self.environment = {
            "PATH": f"{self._bin}:/usr/bin:/bin",
            "HOME": str(folder),
            "CALLS": str(self._calls),
            "BAT_HARNESS_DB": "postgresql://me@there/results",
        }
        for name in ("ray", "bat-harness", "scontrol"):
            self.stub(name)
        self.stub("srun", RUN_THE_REST)
        self.stub("hostname", 'case "$1" in --ip-address) echo 10.0.0.1 10.0.0.2 ;; *) echo first ;; esac')

    def stub(self, name: str, body: str = "") -> None:
        file = self._bin / name
        file.write_text(f"{STUB}{body}\n")
        file.chmod(0o755)

    def start(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(CLUSTER / script), *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, *arguments: str) -> tuple[int, str]:
        process = self.start(script, *arguments)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def calls(self, name: str) -> list[list[str]]:
        """What a command was asked, every time."""
        found = [file.read_text().splitlines() for file in sorted(self._calls.iterdir())]
        return [arguments for called, *arguments in found if called == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def parse(command: Any, arguments: list[str]) -> dict[str, Any]:
    """The values of the options, by the command's own parser; unknown options are an error."""
    context = command.make_context(command.name, list(arguments), resilient_parsing=False)
    while hasattr(command, "commands"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    values: dict[str, Any] = context.params
    return values


def parse_ours(arguments: list[str]) -> dict[str, Any]:
    return parse(typer.main.get_command(cli.app), arguments)


def test_the_parser_of_these_tests_fails_on_what_commands_do_not_have() -> None:
    assert parse_ours(["run", SWEEP, "--workers", "3"])["workers"] == 3
    with pytest.raises(Exception, match="--no-such-option"):
        parse_ours(["run", SWEEP, "--no-such-option"])
    with pytest.raises(Exception, match="--no-such-option"):
        parse(ray_command, ["start", "--no-such-option"])


def test_by_hand(machine: Machine) -> None:
    assert machine.run("start-by-hand.sh", "head") == (0, "")
    assert machine.run("start-by-hand.sh", "join", "first") == (0, "")
    token, head, join = machine.calls("ray")
    assert parse(ray_command, token) == {"generate": True}
    assert parse(ray_command, head)["head"]
    assert parse(ray_command, join)["address"] == f"first:{parse(ray_command, head)['port']}"


@pytest.mark.parametrize("arguments", [[], ["tail"], ["join"]])
def test_by_hand_without_saying_what(arguments: list[str], machine: Machine) -> None:
    code, errors = machine.run("start-by-hand.sh", *arguments)
    assert code != 0
    assert "start-by-hand.sh join HOST" in errors
    assert machine.calls("ray") == []


def on_slurm(machine: Machine, nodes: int = 3) -> Machine:
    machine.environment |= {
        "SLURM_JOB_ID": "123456",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_CPUS_PER_TASK": "32",
        "SLURM_GPUS_PER_NODE": "a100:4",
    }
    return machine


@pytest.mark.parametrize(("nodes", "code"), [(3, 0), (1, 0), (2, 3), (2, 130)])
def test_slurm(nodes: int, code: int, machine: Machine) -> None:
    on_slurm(machine, nodes).stub("bat-harness", f"exit {code}")
    assert machine.run("slurm.sbatch", SWEEP) == (code, "")
    [arguments] = machine.calls("bat-harness")
    driver = parse_ours(arguments)
    assert (str(driver["sweep"]), driver["address"]) == (SWEEP, "10.0.0.1:23456")
    assert driver["workers"] == 4 * nodes
    asked = [parse(ray_command, arguments) for arguments in machine.calls("ray") if arguments[0] == "start"]
    heads = [one for one in asked if one["head"]]
    others = [one for one in asked if not one["head"]]
    assert [(one["port"], one["num_cpus"], one["block"]) for one in heads] == [(23456, 32, True)]
    # One srun starts all others: here its command ran once.
    assert [one["address"] for one in others] == [driver["address"]] * (nodes > 1)
    assert all(parse(ray_command, arguments) for arguments in machine.calls("ray"))
    # A sweep that was stopped is put into the queue again; one with failed jobs waits for somebody to look.
    assert machine.calls("scontrol") == ([["requeue", "123456"]] if code == 130 else [])
    assert not list(machine.folder.glob(".ray-token*"))


def test_slurm_passes_on_that_the_time_is_nearly_over(machine: Machine) -> None:
    on_slurm(machine).stub(
        "bat-harness", "trap 'sleep 0.5; exit 130' TERM\ntouch started\nwhile :; do sleep 0.05; done"
    )
    process = machine.start("slurm.sbatch", SWEEP)
    deadline = time.monotonic() + 60
    while not (machine.folder / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.1)  # for the script to know whom it started
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert machine.calls("scontrol") == [["requeue", "123456"]]


def test_slurm_is_asked_for_what_the_script_relies_on() -> None:
    text = (CLUSTER / "slurm.sbatch").read_text()
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(.*))?$", text, re.MULTILINE))
    assert {"nodes", "ntasks-per-node", "cpus-per-task", "gpus-per-node", "time", "requeue"} <= set(options)
    assert options["ntasks-per-node"] == "1"
    assert options["signal"].startswith("B:TERM@")
    # Slurm reads no option after the first command.
    assert text.rindex("#SBATCH") < text.index("\nset -euo")


@pytest.mark.parametrize(
    ("missing", "advice"), [("BAT_HARNESS_DB", "Set it to a PostgreSQL database"), ("sweep", "Give a sweep")]
)
def test_slurm_needs_a_sweep_and_a_database(missing: str, advice: str, machine: Machine) -> None:
    on_slurm(machine).environment.pop(missing, None)
    code, errors = machine.run("slurm.sbatch", *([] if missing == "sweep" else [SWEEP]))
    assert code != 0
    assert advice in errors
    assert machine.calls("ray") == []


def test_job_submit(machine: Machine) -> None:
    machine.environment |= {"RAY_API_SERVER_ADDRESS": "http://head:8265", "HF_HOME": "/models with spaces"}
    sweep = machine.folder / "a sweep.yaml"
    sweep.write_text("name: tiny")
    assert machine.run("job-submit.sh", str(sweep), "--workers", "4") == (0, "")
    [arguments] = machine.calls("ray")
    asked = parse(ray_command, arguments)
    assert json.loads(asked["runtime_env_json"]) == {
        "env_vars": {"BAT_HARNESS_DB": "postgresql://me@there/results", "HF_HOME": "/models with spaces"}
    }
    program, *entry = asked["entrypoint"]
    assert program == "bat-harness"
    driver = parse_ours(entry)
    assert (str(driver["sweep"]), driver["address"], driver["workers"]) == ("a sweep.yaml", "auto", 4)
    assert not Path(asked["working_dir"]).exists()  # it was there while it was sent


@pytest.mark.parametrize("missing", ["BAT_HARNESS_DB", "RAY_API_SERVER_ADDRESS"])
def test_job_submit_needs_a_cluster_and_a_database(missing: str, machine: Machine) -> None:
    machine.environment["RAY_API_SERVER_ADDRESS"] = "http://head:8265"
    del machine.environment[missing]
    code, errors = machine.run("job-submit.sh", SWEEP)
    assert code != 0
    assert f"{missing}: Set it to" in errors


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    found = yaml.safe_load_all((CLUSTER / "kuberay.yaml").read_text())
    return {manifest["kind"]: manifest for manifest in found}


def test_kuberay(manifests: dict[str, Any]) -> None:
    assert {kind: found["apiVersion"] for kind, found in manifests.items()} == {
        "PersistentVolumeClaim": "v1",
        "RayJob": "ray.io/v1",
    }
    job = manifests["RayJob"]["spec"]
    program, *entry = shlex.split(job["entrypoint"])
    assert program == "bat-harness"
    driver = parse_ours(entry)
    cluster = job["rayClusterSpec"]
    [group] = cluster["workerGroupSpecs"]
    assert driver["address"] == "auto"
    assert driver["workers"] == group["replicas"]
    assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    assert cluster["authOptions"] == {"mode": "token"}
    pinned = re.search(r"^ray==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert cluster["rayVersion"] == pinned[1]


def test_every_pod_of_kuberay_has_what_a_worker_of_the_sweep_needs(manifests: dict[str, Any]) -> None:
    job = manifests["RayJob"]["spec"]
    cluster = job["rayClusterSpec"]
    templates = [
        cluster["headGroupSpec"]["template"]["spec"],
        *(group["template"]["spec"] for group in cluster["workerGroupSpecs"]),
    ]
    for template in templates:
        [container] = template["containers"]
        assert {variable["name"] for variable in container["env"]} >= {"BAT_HARNESS_DB", "HF_HOME"}
        assert {mount["name"] for mount in container["volumeMounts"]} == {
            volume["name"] for volume in template["volumes"]
        }
        claimed = [volume["persistentVolumeClaim"]["claimName"] for volume in template["volumes"][:1]]
        assert claimed == [manifests["PersistentVolumeClaim"]["metadata"]["name"]]
        assert container["resources"]["requests"] == container["resources"]["limits"]
    sweep = Path(shlex.split(job["entrypoint"])[2])
    assert str(sweep.parent) in {mount["mountPath"] for mount in container["volumeMounts"]}
    needed = load_config(ROOT / "configs" / "paper" / sweep.name).config.resources
    assert int(container["resources"]["limits"]["cpu"]) >= needed.num_cpus
    assert container["resources"]["limits"]["nvidia.com/gpu"] >= needed.num_gpus


def commands_in(text: str) -> list[str]:
    """Commands of this project in comments, code and texts, one for each line that begins with it."""
    return re.findall(r"^(?:#? {4,})?(bat-harness .+?)(?:  .*)?$", text, re.MULTILINE)


FILES = [*sorted(CLUSTER.iterdir()), ROOT / "docs" / "cluster.md"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_commands_that_are_shown_exist_and_files_are_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for command in commands_in(text):
        if "$" not in command:  # those were run above
            parse_ours(shlex.split(command, comments=True)[1:])
    named = re.findall(r"(?<![\w/])configs/[\w./-]+\w", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    if file.suffix == ".sh":
        assert os.access(file, os.X_OK)
