"""What `import harness` offers is pinned here, and costs nothing until it is used."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import pytest

import harness

FUNCTIONS = {
    "delete_run",
    "diff_runs",
    "get_status",
    "hash_run",
    "list_runs",
    "load_sweep",
    "merge_databases",
    "open_results",
    "plan_sweep",
    "rename_run",
    "retry_failed",
    "run_sweep",
    "tag_run",
    "untag_run",
    "write_report",
}
CLASSES = {
    "BatError",
    "DeletedRun",
    "Difference",
    "HashCheck",
    "MergeOutcome",
    "RetryOutcome",
    "RunHash",
    "RunOutcome",
    "RunResults",
    "RunStatus",
    "Stop",
    "SweepConfig",
    "SweepPlan",
    "WrittenReport",
}


def test_the_public_names() -> None:
    assert set(harness.__all__) == FUNCTIONS | CLASSES
    assert set(harness.__all__) <= set(dir(harness))


@pytest.mark.parametrize("name", sorted(FUNCTIONS | CLASSES))
def test_every_name_leads_to_something_that_says_what_it_is(name: str) -> None:
    value = getattr(harness, name)
    assert inspect.getdoc(value)
    if name in FUNCTIONS:
        assert callable(value)
        annotations = inspect.signature(value).parameters.values()
        assert all(parameter.annotation is not parameter.empty for parameter in annotations)
        assert f"\n{name} " in (harness.__doc__ or "")
    else:
        assert inspect.isclass(value)


def test_no_public_name_is_that_of_a_subpackage() -> None:
    assert not set(harness.__all__) & {module.name for module in pkgutil.iter_modules(harness.__path__)}


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'harness' has no attribute 'report_all'"):
        _ = harness.report_all


def test_importing_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'ray', 'pandas', 'sqlalchemy', 'numpy', 'transformers', 'pydantic', 'rich'}"
    script = f"import sys, harness\nloaded = {heavy} & set(sys.modules)\nassert not loaded, loaded"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_running_a_finished_sweep_or_asking_for_its_status_loads_no_torch() -> None:
    script = (
        "import sys, harness\n"
        "harness.load_sweep, harness.run_sweep, harness.get_status\n"
        "loaded = {'torch', 'ray', 'transformers', 'pandas', 'alembic'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
