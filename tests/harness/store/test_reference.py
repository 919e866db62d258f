"""The documentation of the database: up to date, and its queries and example run."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bat.rules import get_rule
from harness.jobs import JobKind
from harness.jobs.rows import MeasurementRows
from harness.store import Store, open_reader
from harness.store.queries import QUERIES, NamedQuery
from harness.store.reference import render
from harness.store.tables import Base
from harness.store.tables.texts import STOP_REASONS
from harness.store.views import ALL
from tests.harness.jobs import specs
from tests.harness.store import examples
from workers.generation import StopReason
from workers.measurement_record import concatenate
from workers.rejection import rejection_rate

PAGE = Path(__file__).parents[3] / "docs" / "database.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), (
        "run: python -m harness.store.reference docs/database.md"
    )


def test_every_table_and_column_has_its_meaning() -> None:
    for table in Base.metadata.tables.values():
        assert f"### {table.name}\n" in render()
        assert [column.name for column in table.columns if not column.doc] == []
    assert set(STOP_REASONS) == set(StopReason)


def test_the_example_runs(sqlite_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.store import open_store

    with open_store(sqlite_address) as store:
        examples.fill(store)
    monkeypatch.chdir(Path(sqlite_address.removeprefix("sqlite:///")).parent)
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.group(1), "database.md", "exec"), {})
    assert len(printed.getvalue().splitlines()) == len(JobKind)


def test_there_are_ten_questions() -> None:
    assert len(QUERIES) == len({query.name for query in QUERIES}) == 10


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with results of each kind, a failed job and one that was tried twice."""
    examples.fill(store)
    examples.add(store, examples.score_job(1), examples.score_job(2), name="second")
    store.fail(examples.claim_one(store), "no luck", retry=False)
    store.fail(examples.claim_one(store), "try again")
    return store


def test_each_question_has_an_answer(filled: Store, address: str) -> None:
    with open_reader(address) as reader:
        answers = {query.name: answer(reader, query) for query in QUERIES}
    assert all(answers.values()), "a question without an answer tells nothing"
    assert answers["failures"][0]["error"] == "no luck"
    assert len(answers["progress"]) == len(JobKind) + 1
    (best,) = answers["best"]
    assert (best["model"], best["corpus"], best["method"]) == ("gpt2", "news validation", "tight")
    assert (best["constraints"], best["parameter"]) == (20, 0.024)
    assert len(answers["side-by-side"]) == 4
    assert answers["endings"][0]["texts"] == 4
    assert {row["status"] for row in answers["effort"]} == {"closed", "unfinished", "above cap"}
    assert answers["resolutions"][0]["decided_by_jobs"] == 1
    assert {row["outcome"] for row in answers["owners"]} == {"done", "failed"}


def answer(reader: object, query: NamedQuery) -> list[dict[str, object]]:
    with reader.query(query.sql) as found:  # type: ignore[attr-defined]
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_rejection_rates_are_those_of_the_rules(store: Store) -> None:
    parts = [examples.make_measurement(200, seed) for seed in range(2)]
    jobs = [specs.measure(documents=(f"d{shard}",)).job for shard in range(2)]
    other = specs.measure(tolerance=1e-9).job  # labelled alike
    first = examples.sample_instances()[0]
    measured_by = [
        replace(first, jobs=[("measurement", job.id) for job in jobs]),
        replace(first, name="another", position=1, jobs=[("measurement", other.id)]),
    ]
    run_id = store.add_run("demo", examples.CONFIG, examples.VERSIONS)
    store.add_plan(run_id, [*jobs, other], [0, 0, 0], measured_by)
    for lease, part in zip(store.claim("driver", 3, 600.0), [*parts, parts[0]], strict=True):
        assert store.complete(lease, MeasurementRows(part))
    measured = concatenate(parts)
    with store.query("SELECT * FROM hrr_view WHERE tokens = 400") as found:
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert {row["rule"] for row in rows} == {"epsilon", "ba-epsilon", "eta", "ba-eta"}
    assert len(rows) == 9 * 2 * 3  # parameters, rules, plain and two basis sizes
    for row in rows:
        rule = get_rule(row["rule"], row["parameter"])
        expected = rejection_rate(measured, rule, row["basis_size"] or 0, replicates=0)
        np.testing.assert_allclose(row["rejected"], expected.value, atol=1e-12)
        np.testing.assert_allclose(row["undecided"], expected.undecided, atol=1e-12)
    assert len({row["rejected"] for row in rows}) > 10
    assert max(row["undecided"] for row in rows) > 0
    assert {view.name for view in ALL} >= {"hrr_view", "scores_view"}
