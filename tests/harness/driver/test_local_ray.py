"""A Ray of our own, as `bat-harness run` starts it: what workers import, and who can reach them."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.clashes import find_clash
from harness.store import open_reader
from tests.harness.driver.sweeps import tiny_sweep
from workers.actors import Origin, arrange

ROOT = Path(__file__).parents[3]
PROGRAM = Path(sys.executable).with_name("bat-harness")

RULE = '''
from bat.rules import Summary, ThresholdRule


class Half(ThresholdRule):
    """Keep tokens with at least a share of the largest probability."""

    parameter: float
    plain_name = "half"
    rises = True
    example = 0.5

    def thresholds(self, probs):
        rows = Summary.of(probs)
        return rows.capped(self.parameter * rows.maximum)

    @classmethod
    def invert(cls, rows, levels, ties_kept):
        return levels / rows.maximum
'''


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A working directory with modules of our packages' names, and with a rule."""
    folder = tmp_path / "work"
    (folder / "bat").mkdir(parents=True)
    for name in ("workers.py", "harness.py", "bat/__init__.py"):
        (folder / name).write_text("raise RuntimeError('a stranger was imported')\n")
    (folder / "my_rule.py").write_text(RULE)
    return folder


def run(folder: Path, *arguments: str, path: tuple[Path, ...]) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONSAFEPATH": ""}
    command = [str(PROGRAM), *arguments]
    output = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output, text=True)


def listening(process_id: int, programs: dict[int, str]) -> set[tuple[str, str]]:
    """The processes that descend from one, itself included, and the addresses on which they listen.

    `programs` gets the name of the program or script that each process runs.
    """
    import ray  # noqa: F401  it brings psutil
    import psutil  # isort: skip

    found = set()
    try:
        top = psutil.Process(process_id)
        family = [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return set()
    for process in family:
        try:
            name = "driver" if process.pid == process_id else process.name()
            scripts = [part for part in process.cmdline() if part.endswith(".py")]
            # The system keeps 15 letters of a name, and psutil finds the others at times.
            programs[process.pid] = Path(scripts[0]).name if scripts else name.partition(".")[0][:15]
            sockets = process.net_connections("inet")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it has just ended
        found |= {(name, one.laddr.ip) for one in sockets if one.status == psutil.CONN_LISTEN}
    return found


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own, which differ from release to release
def test_a_sweep_in_a_folder_of_strangers_listens_on_this_machine_only(
    hostile: Path, text_corpus: Path
) -> None:
    config = tiny_sweep(text_corpus, methods=[], stages=[{"name": "measure", "kind": "measure"}])
    sweep = config.model_dump(mode="json", exclude_unset=True)
    sweep["methods"] = [{"rule": "my_rule:Half", "parameter": 0.1}]  # which this process cannot import
    sweep |= {"stages": [{"name": "compare", "split": "test"}], "resources": {"workers": 1}}
    (hostile / "sweep.yaml").write_text(json.dumps(sweep))
    process = run(hostile, "run", "sweep.yaml", "--db", "r.db", path=(ROOT, hostile))
    seen: set[tuple[str, str]] = set()
    programs: dict[int, str] = {}
    try:
        while process.poll() is None:
            seen |= listening(process.pid, programs)
            try:
                process.wait(0.3)
            except subprocess.TimeoutExpired:
                continue
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, output + errors
    with open_reader(hostile / "r.db") as reader, reader.query("SELECT DISTINCT method FROM jobs") as rows:
        assert ("my_rule:Half",) in list(rows.rows)
    # The driver, Ray's servers and the worker were there, each of them on the loopback interface.
    assert {name for name, _ in seen} >= {"driver", "gcs_server", "raylet", "ray::Executor"}
    outside = {(name, address) for name, address in seen if not _is_loopback(address)}
    assert outside == set()
    # Nothing was started that a sweep on this machine does not use: each process takes a while to import Ray.
    assert Counter(programs.values()) == Counter(
        name[:15]
        for name in (
            "driver",
            "gcs_server",
            "raylet",
            "ray::DashboardAgent",
            "ray::RuntimeEnvAgent",
            "ray::Executor",
        )
    )


def _is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


@pytest.mark.parametrize("name", ["workers.py", "bat.py"])
def test_a_module_that_hides_a_package_is_named(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("")
    process = run(tmp_path, "query", "SELECT 1", "--db", "r.db", path=(tmp_path, ROOT))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    package = name.removesuffix(".py")
    assert errors.startswith(f"error: {file} on "), errors
    assert f"hides the package {package} of bat-harness: No module named" in errors
    assert errors.endswith("Rename it, or take its folder off PYTHONPATH.\n")
    assert errors.count("\n") == 1


def test_a_missing_library_hides_nothing() -> None:
    assert find_clash(ModuleNotFoundError("No module named 'psycopg'", name="psycopg")) is None


DRIVER = Origin(host="here", prefix="/venv", paths=["/venv/bin", "/lib"], root="/repo", folder="/work")
RAYS = ["/work", "/ray", "/lib"]  # as Ray leaves it: the driver's working directory first


def test_workers_import_as_the_driver_does_and_from_its_folder_last() -> None:
    assert arrange(RAYS, DRIVER, "here", "/venv") == ["/venv/bin", "/lib", "/ray", "/repo", "/work"]
    # Another machine, or another Python: its own paths.
    assert arrange(RAYS, DRIVER, "there", "/venv") == ["/ray", "/lib", "/work"]
    assert arrange(RAYS, DRIVER, "here", "/other") == ["/ray", "/lib", "/work"]
    # A driver that imports from its working directory, such as a notebook.
    at_home = Origin(**{**DRIVER, "paths": ["/work", "/lib"], "root": "/work"})  # type: ignore[typeddict-item]
    assert arrange(RAYS, at_home, "here", "/venv") == ["/work", "/lib", "/ray"]
    assert arrange(RAYS, at_home, "there", "/venv") == RAYS
