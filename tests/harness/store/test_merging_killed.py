"""A merge whose process is killed, at moments spread over all of it: the next one completes it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import sqlalchemy as sa

import harness
from harness.store import merging, open_reader, open_store
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.store.test_merging import check, content

MOMENTS = 12


def merge_and_die(source: str, target: str, statement: int) -> None:
    """Merge, and kill this process before it executes a statement of that number."""
    left = statement

    def count(*_: object) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    merging._JOBS = 2  # so that there are several transactions
    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    sa.event.listen(sa.Engine, "commit", count)
    harness.merge_databases(source, target)
    os._exit(left)


def in_a_process(source: str, target: str, statement: int) -> int:
    # Forked: no connection is open here, and a new interpreter would take seconds to import everything.
    process = multiprocessing.get_context("fork").Process(
        target=merge_and_die, args=(source, target, statement)
    )
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def test_the_next_merge_completes_one_that_was_killed(tmp_path: Path) -> None:
    source = stores.filled(tmp_path)
    with open_store(source) as store:
        examples.add(store, examples.score_job(5), name="second")
    before = tmp_path / "before.db"
    with open_store(before) as store:  # the target has a run of its own, of which some jobs are the source's
        run_id = store.add_run("own", {"name": "own"}, {})
        jobs = examples.sample_jobs()[:2]
        store.add_prefix_set(examples.make_prefix_rows())
        store.add_jobs(run_id, [*jobs, examples.score_job(7)])
        [lease, *_] = store.claim("driver", 1, 600.0, run_id)
        assert store.complete(lease, examples.result_of(lease))
    with open_reader(source) as reader:
        given = content(reader)  # type: ignore[arg-type]

    def start(name: str) -> str:
        shutil.copy(before, tmp_path / name)
        return f"sqlite:///{tmp_path / name}"

    whole = start("whole.db")
    most = 250  # fits an exit code, and is more than there are statements
    statements = most - in_a_process(source, whole, most)
    assert MOMENTS < statements < most
    with open_store(whole) as store:
        expected = content(store)
    assert expected["demo"][1] == given["demo"][1]  # hashes of the results
    runs_seen = set()
    for moment in range(MOMENTS):
        target = start(f"killed-{moment}.db")
        killed_at = moment * (statements - 1) // (MOMENTS - 1)
        assert in_a_process(source, target, killed_at) == -signal.SIGKILL
        with open_store(target) as store:
            check(store)  # what was stored before the kill is sound
            runs_seen.add(len(store.runs()))
        harness.merge_databases(source, target)
        with open_store(target) as store:
            check(store)
            assert content(store) == expected, f"killed before statement {killed_at}"
        with open_reader(source) as reader:
            assert content(reader) == given  # type: ignore[arg-type]
    assert runs_seen == {1, 2, 3}  # killed before, between and after the two runs of the source
