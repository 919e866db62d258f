"""The work of the queue grows with what is asked for, not with what is stored: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from harness.jobs import Job, JobKind, JobLabels
from harness.planning.finished import is_finished
from harness.status.failures import find_failed
from harness.store import Instance, InstanceKind, Store, open_store
from tests.harness.store import examples

FEW, MANY = 400, 4000
_INSTRUCTIONS = 20  # of SQLite between two calls of the counter


@dataclass
class Work:
    """What SQLite did: statements, and instructions of its virtual machine."""

    statements: int = 0
    instructions: int = 0


@contextmanager
def counted_store(path: Path) -> Iterator[tuple[Store, Work]]:
    with open_store(path) as store:
        work = Work()

        def count() -> int:
            work.instructions += _INSTRUCTIONS
            return 0

        def count_statement(*_: Any) -> None:
            work.statements += 1

        engine = store._database.engine
        event.listen(engine, "before_cursor_execute", count_statement)
        event.listen(engine, "checkout", lambda opened, *_: opened.set_progress_handler(count, _INSTRUCTIONS))
        yield store, work


def plan(count: int) -> tuple[list[Job], Instance]:
    """That many jobs: half of them write texts, each of the others needs one of those."""
    label = JobLabels("gpt2")
    generate = [Job(JobKind.GENERATE, {"number": number}, (), label) for number in range(count // 2)]
    score = [Job(JobKind.SCORE, {"of": job.id}, (job.id,)) for job in generate]
    jobs = [*generate, *score]
    instance = Instance(
        name="compare: eta",
        position=0,
        kind=InstanceKind.GENERATE,
        stage="compare",
        stage_position=0,
        split="test",
        model="gpt2",
        jobs=tuple(("texts", job.id) for job in jobs),
    )
    return jobs, instance


def measure(folder: Path, count: int) -> dict[str, Work]:
    """What each step takes with that many jobs in the queue."""
    taken: dict[str, Work] = {}
    jobs, instance = plan(count)
    with counted_store(folder / f"{count}.db") as (store, work):

        def step(name: str, action: Callable[[], Any]) -> Any:
            work.statements = work.instructions = 0
            result = action()
            taken[name] = Work(work.statements, work.instructions)
            return result

        run_id = store.add_run("large", {"name": "large"}, {})
        store.add_prefix_set(examples.make_prefix_rows())
        stages = [0] * count
        step("plan", lambda: store.add_plan(run_id, iter(jobs), stages, [instance]))
        step("plan again", lambda: store.add_plan(run_id, iter(jobs), stages, [instance]))
        leases = step("claim", lambda: store.claim("driver", 16, 600.0, run_id, "gpt2"))
        assert len(leases) == 16
        step("renew", lambda: store.renew(leases, 600.0))
        done = [(lease, examples.result_of(lease)) for lease in leases[:15]]
        step("complete", lambda: store.complete_many(done))
        store.fail(leases[15], "it broke", retry=False)
        assert len(step("failures", lambda: find_failed(store, run_id))) == 1
        counts = step("progress", lambda: store.progress(run_id))
        assert sum(kind.total for kind in counts) == count
        assert sum(kind.blocked for kind in counts) == 1
        with store._database.writing() as connection:
            connection.exec_driver_sql(
                "UPDATE jobs SET state = 'done', owner = NULL, lease_expires_at = NULL"
            )
        assert step("finished", lambda: is_finished(store, run_id))
    return taken


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Work], dict[str, Work]]:
    folder = tmp_path_factory.mktemp("scale")
    return measure(folder, FEW), measure(folder, MANY)


@pytest.mark.parametrize("step", ["claim", "renew", "complete", "failures", "finished"])
def test_what_concerns_a_few_jobs_costs_the_same_in_a_long_queue(
    taken: tuple[dict[str, Work], dict[str, Work]], step: str
) -> None:
    few, many = (work[step] for work in taken)
    assert many.statements == few.statements
    assert many.instructions <= 1.2 * few.instructions + 200


@pytest.mark.parametrize("step", ["plan", "plan again", "progress"])
def test_what_concerns_all_jobs_is_linear(taken: tuple[dict[str, Work], dict[str, Work]], step: str) -> None:
    few, many = (work[step] for work in taken)
    growth = MANY / FEW
    assert many.statements <= growth * few.statements
    assert few.instructions > FEW  # it does concern them all
    assert many.instructions <= 1.2 * growth * few.instructions


def test_a_plan_is_taken_a_batch_at_a_time(tmp_path: Path) -> None:
    """Its jobs need not be in memory at once as rows."""
    jobs, instance = plan(MANY)
    consumed: list[int] = []

    def supply() -> Iterator[Job]:
        for number, job in enumerate(jobs):
            consumed.append(number)
            yield job

    with counted_store(tmp_path / "plan.db") as (store, _):
        run_id = store.add_run("large", {"name": "large"}, {})
        inserted_at: list[int] = []

        def watch(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("INSERT INTO jobs "):
                inserted_at.append(len(consumed))

        event.listen(store._database.engine, "before_cursor_execute", watch)
        assert store.add_plan(run_id, supply(), [0] * MANY, [instance]) == MANY
    assert inserted_at == [1000, 2000, 3000, 4000]
