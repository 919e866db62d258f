"""The documentation of the database: up to date, and its queries and example run."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bat.errors import InvalidInputError
from bat.rules import get_rule
from harness.api.queries import about_runs
from harness.jobs import JobKind, MeasurementRows
from harness.store import Reader, Store, open_reader
from harness.store.queries import NAMED_QUERIES, QUERIES, NamedQuery
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


def test_every_row_of_every_view_knows_its_run(filled: Store) -> None:
    other = examples.fill(filled, name="shares every job")
    for view in ALL:
        with filled.query(f"SELECT DISTINCT run_id, run FROM {view.name}") as found:
            runs = dict(found.rows)
        assert runs[other] == "shares every job", view.name
        assert runs[filled.get_run("demo").id] == "demo", view.name


def test_a_named_query_is_about_the_runs_that_are_asked_for(filled: Store) -> None:
    other = examples.fill(filled, name="shares every job")
    for query in NAMED_QUERIES.values():
        with filled.query(about_runs(filled, query.sql, f"#{other}")) as found:
            assert {row[found.columns.index("run_id")] for row in found.rows} <= {other}, query.name
    with pytest.raises(InvalidInputError, match=r"Write WHERE run_id IN \(:runs\)"):
        about_runs(filled, "SELECT 1", "demo")


def test_methods_are_called_what_the_sweep_calls_them(filled: Store) -> None:
    renamed = [
        replace(instance, name=f"{instance.name}, renamed", method="mine", jobs=instance.jobs)
        for instance in examples.sample_instances()[2:]
    ]
    run_id = filled.get_run("demo").id
    filled.add_plan(run_id, [], [], renamed)
    columns = "kind, rule, method, parameter, constraints"
    for view in ("jobs_view", "attempts_view"):
        with filled.query(f"SELECT DISTINCT {columns} FROM {view} WHERE run_id = {run_id}") as found:
            rows = {(kind, rule): (method, rest) for kind, rule, method, *rest in found.rows}
        assert rows["generate", "eta"] == ("eta", [0.002, None])
        assert rows["score", "ba-eta"] == rows["generate", "ba-eta"]
        methods, rest = rows["score", "ba-eta"]
        assert (set(methods.split(",")), rest) == ({"mine", "tight"}, [0.024, 20])
        assert rows["measure", None] == (None, [None, None])


def answer(reader: Reader, query: NamedQuery) -> list[dict[str, object]]:
    with reader.query(about_runs(reader, query.sql, "all")) as found:
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
