"""How runs stand, read from what their plans stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bat.errors import InvalidInputError
from harness.planning import resolve
from harness.planning.finished import is_finished
from harness.status.run_status import RunState, RunStatus, gather, say
from harness.store import Store
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep
from workers.measurement_record import Measurement
from workers.rejection import Estimate


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_quick_store(tmp_path / "r.db") as opened:
        yield opened


def status_of(store: Store, run_id: int) -> RunStatus:
    return gather(store, store.get_run(run_id))


def stage_counts(status: RunStatus) -> dict[tuple[str | None, str], int]:
    return {(counts.stage, counts.kind.value): counts.total for counts in status.stages}


def test_a_run_with_a_rate_out_of_reach_is_not_done(
    store: Store, text_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = resolve.parameter_at_rate

    def with_a_limit(measurement: Measurement, rule: str, rate: float, *rest: Any) -> Estimate:
        if rate > 0.9:
            raise InvalidInputError("the rate must lie in [0, 0.9]; got 0.99.")
        return real(measurement, rule, rate, *rest)

    monkeypatch.setattr(resolve, "parameter_at_rate", with_a_limit)
    methods = [{"name": "rates", "rule": "eta", "parameter": {"hrr": [0.1, 0.99]}}]
    config = tiny_sweep(text_corpus, methods=methods)
    driver = make_driver(store, config, LocalPool)
    summary = driver.run()
    status = status_of(store, driver.run_id)
    assert not summary.complete
    assert [resolution.parameter for resolution in status.resolutions] == [
        "compare: rates on fake: eta rejecting 10%"
    ]
    assert status.state is RunState.UNRESOLVED
    assert status.open_parameters == ()
    ((name, reason),) = status.unresolvable
    assert name == "compare: rates on fake: eta rejecting 99%"
    assert reason == "the rate must lie in [0, 0.9]; got 0.99."
    verdict = say(status)
    assert "Done" not in verdict
    assert f"The parameter of {name} cannot be resolved: {reason}" in verdict
    assert not is_finished(store, driver.run_id)


def test_a_parameter_is_open_until_results_decide_it(store: Store, text_corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(text_corpus), LocalPool)
    driver._enqueue()
    name = "compare: ba-eta on fake: ba-eta rejecting as much as eta=0.01 (c=4)"
    assert status_of(store, driver.run_id).open_parameters == (name,)
    driver.run()
    status = status_of(store, driver.run_id)
    assert (status.open_parameters, status.state) == ((), RunState.DONE)


def test_jobs_that_two_runs_share_are_filed_under_the_stage_of_each(store: Store, text_corpus: Path) -> None:
    first = tiny_sweep(text_corpus)  # measure, compare
    stages = [
        {"name": "select", "split": "validation", "methods": ["eta"]},
        *({"name": s.name, "kind": s.kind} for s in first.stages),
    ]
    second = tiny_sweep(text_corpus, name="other", stages=stages)
    runs = []
    for config in (first, second):
        driver = make_driver(store, config, LocalPool)
        driver._enqueue()
        runs.append(stage_counts(status_of(store, driver.run_id)))
    before, after = runs
    assert before["measure", "measure"] == after["measure", "measure"] == 2
    assert after["select", "measure"] == 2  # the likelihood of human continuations
    assert {stage for stage, _ in after} == {"select", "measure", "compare"}
    # A run's own stages, whatever another run made of the same jobs.
    assert stage_counts(status_of(store, 1)) == before
