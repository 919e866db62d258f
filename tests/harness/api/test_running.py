"""run_sweep: progress by callbacks, stopped and resumed, failing, in a thread, with and without Ray."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import harness
from bat.compiled import EntryPoint
from harness.api import running
from harness.driver import cluster
from harness.driver.log import LOGGER
from harness.store import open_reader
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep
from workers import pretrained


def hash_of(file: Path) -> str:
    with open_reader(file) as reader:
        return reader.results_hash(reader.get_run("tiny").id)


@pytest.fixture(scope="module")
def expected(text_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the results of an undisturbed run."""
    file = tmp_path_factory.mktemp("expected") / "r.db"
    with open_quick_store(file) as store:
        assert make_driver(store, tiny_sweep(text_corpus), LocalPool).run().complete
    return hash_of(file)


def test_a_run_that_only_measures_does_not_wait_for_what_samples(
    text_corpus: Path, file: Path, without_ray: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed: list[EntryPoint] = []
    monkeypatch.setattr(running, "is_compiled", lambda *entries: needed.extend(entries) or True)
    measuring = [{"name": "measure", "kind": "measure"}]
    outcome = harness.run_sweep(tiny_sweep(text_corpus, stages=measuring), file)
    assert outcome.complete
    assert needed == [EntryPoint.BATCH]


def test_a_run_and_the_same_again(
    text_corpus: Path,
    file: Path,
    expected: str,
    without_ray: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts: list[dict[str, tuple[int, int]]] = []
    steps: list[str] = []
    notes: list[str] = []
    needed: list[EntryPoint] = []
    monkeypatch.setattr(running, "is_compiled", lambda *entries: needed.extend(entries))
    outcome = harness.run_sweep(
        tiny_sweep(text_corpus),
        file,
        progress=lambda kinds: counts.append({kind.kind.value: (kind.done, kind.total) for kind in kinds}),
        step=steps.append,
        note=notes.append,
    )
    assert (outcome.run, outcome.name, outcome.done, outcome.complete) == (1, "tiny", 17, True)
    assert outcome.database == f"sqlite:///{file}"
    assert hash_of(file) == expected
    # Workers start while the driver loads its own libraries and reads what it plans from.
    assert steps == ["Loading Ray", "Starting Ray", "Planning", "Waiting for workers"]
    assert sum(done for done, _ in counts[-1].values()) == 17
    assert notes[0] == f"Run 'tiny' in sqlite:///{file}, log in {outcome.log}"
    assert needed == [EntryPoint.BATCH, EntryPoint.STEP]
    assert notes[1] == "Compiling the solver, which takes about a minute, once per installation."
    assert "rejects" in notes[2]
    assert outcome.log is not None
    assert "planned" in outcome.log.read_text()
    assert capsys.readouterr() == ("", "")  # callbacks instead of printing

    monkeypatch.setattr(cluster, "connected", None)  # would fail if it were called
    again = harness.run_sweep(tiny_sweep(text_corpus), str(file))
    assert (again.done, again.complete, again.log) == (0, True, None)
    replanned = harness.run_sweep(tiny_sweep(text_corpus), str(file), replan=True)
    assert (replanned.done, replanned.complete) == (0, True)


def test_stopped_by_another_thread_and_resumed(
    text_corpus: Path, file: Path, expected: str, monkeypatch: pytest.MonkeyPatch, without_ray: None
) -> None:
    stop = harness.Stop()
    answered: list[int] = []

    def after_answer() -> None:
        answered.append(1)
        if len(answered) == 3:
            thread = threading.Thread(target=stop.request)
            thread.start()
            thread.join()

    monkeypatch.setattr(cluster, "make_pool", lambda *_: LocalPool(after_answer=after_answer))
    outcome = harness.run_sweep(tiny_sweep(text_corpus), file, stop=stop)
    assert outcome.stopped
    assert not outcome.complete
    assert 3 <= outcome.done < 17
    assert str(harness.get_status(file)).startswith("Stopped: ")
    rest = harness.run_sweep(tiny_sweep(text_corpus), file)
    assert rest.complete
    assert rest.done == 17 - outcome.done
    assert hash_of(file) == expected


def test_an_interrupt_of_the_main_thread_finishes_running_jobs(
    text_corpus: Path, file: Path, monkeypatch: pytest.MonkeyPatch, without_ray: None
) -> None:
    before = signal.getsignal(signal.SIGINT)
    pool = LocalPool(after_answer=lambda: signal.raise_signal(signal.SIGINT) if pool.answered == 2 else None)
    monkeypatch.setattr(cluster, "make_pool", lambda *_: pool)
    assert harness.run_sweep(tiny_sweep(text_corpus), file).stopped
    assert signal.getsignal(signal.SIGINT) is before

    twice = LocalPool(after_answer=lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(cluster, "make_pool", lambda *_: twice)
    with pytest.raises(KeyboardInterrupt):
        harness.run_sweep(tiny_sweep(text_corpus), file)
    with open_reader(file) as reader:
        assert reader.owners() == []


def test_failed_jobs_are_in_the_outcome_and_can_be_retried(
    text_corpus: Path, file: Path, expected: str, without_ray: None
) -> None:
    once = {"lease_seconds": 2, "max_attempts": 1}
    failing = tiny_sweep(text_corpus, "fake:v=300,d=8,fail_at=1", resources=once)
    outcome = harness.run_sweep(failing, file)
    assert (outcome.failed, outcome.complete, len(outcome.failures)) == (1, False, 1)
    assert "RuntimeError" in (outcome.failures[0].error or "")
    assert outcome.unresolved[0].startswith("compare: ba-eta on fake")
    assert harness.retry_failed(file).retried == 1
    assert harness.run_sweep(tiny_sweep(text_corpus), file).complete
    assert hash_of(file) == expected


def test_mistakes_are_sentences(text_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(harness.BatError, match=r"the folder .*missing of the database must exist"):
        harness.run_sweep(tiny_sweep(text_corpus), tmp_path / "missing" / "r.db")
    with pytest.raises(harness.BatError, match="Ray cannot be reached at 'nowhere'"):
        harness.run_sweep(tiny_sweep(text_corpus), tmp_path / "r.db", address="nowhere")


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own, which differ from release to release
def test_ray_in_a_thread_while_the_main_thread_prints(
    text_corpus: Path, file: Path, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: list[Any] = []
    started = threading.Event()

    def progress(_: object) -> None:
        print("from a callback")  # noqa: T201
        started.set()

    def run() -> None:
        outcomes.append(harness.run_sweep(tiny_sweep(text_corpus), file, workers=1, progress=progress))

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(120)
    print("from the notebook")  # noqa: T201
    assert harness.list_runs(file)[0].total >= 12
    thread.join(120)
    assert outcomes[0].complete
    assert hash_of(file) == expected
    printed = capsys.readouterr().out.splitlines()
    assert set(printed) == {"from a callback", "from the notebook"}


def test_what_ray_prints_goes_to_the_log_and_what_others_print_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(cluster.ray, "init", lambda **_: None)
    monkeypatch.setattr(cluster.ray, "shutdown", lambda: None)
    monkeypatch.setattr(LOGGER, "info", lambda form, *values: logged.append(form % values))
    with cluster.connected("local"):
        print("ours")  # noqa: T201
        thread = threading.Thread(target=print, args=("a worker died",))
        thread.start()
        thread.join()
    assert capsys.readouterr().out == "ours\n"
    assert logged == ["Ray: a worker died"]


def test_a_model_that_cannot_be_loaded_is_tried_once(
    text_corpus: Path, file: Path, without_ray: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetch(name: str, revision: str | None) -> str:
        asked.append(name)
        raise OSError("no network")

    monkeypatch.setattr(pretrained, "fetch_commit", fetch)
    with pytest.raises(harness.BatError, match="loading it from the hub failed"):
        harness.run_sweep(tiny_sweep(text_corpus, "nobody/nothing"), file)
    assert asked == ["nobody/nothing"]
    with open_reader(file) as reader:
        assert reader.runs() == []
