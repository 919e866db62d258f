"""Plan and run sweeps, store their results, score and report them.

This package has the database, the Ray driver, the reports and the command line. `workers` runs the models,
and `bat` makes the sampling decisions.

load_sweep       a sweep from a YAML file or a mapping, checked
plan_sweep       its jobs, and how much work is left
run_sweep        run it, or resume it; Stop ends it early
list_runs        the runs of a database
get_status       how a run stands
retry_failed     put failed jobs back into the queue
rename_run       give a run another name
tag_run          add tags to a run
untag_run        remove tags from a run
delete_run       delete a run, and the results that no other run uses
diff_runs        in what two runs differ
hash_run         a hash of the results of a run, to compare with that of a rerun
merge_databases  bring the results of one database into another
open_results     scores, texts, tokens and human text as pandas DataFrames
write_report     tables and figures as files

Every error that a user can mend is a BatError with one sentence. `docs/notebook.md` has a worked example.
A name is imported from its module when it is first used, so `import harness` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bat.errors import BatError as BatError
    from harness.api.managing import DeletedRun as DeletedRun
    from harness.api.managing import Difference as Difference
    from harness.api.managing import HashCheck as HashCheck
    from harness.api.managing import RunHash as RunHash
    from harness.api.managing import delete_run as delete_run
    from harness.api.managing import diff_runs as diff_runs
    from harness.api.managing import hash_run as hash_run
    from harness.api.managing import rename_run as rename_run
    from harness.api.managing import tag_run as tag_run
    from harness.api.managing import untag_run as untag_run
    from harness.api.merging import MergeOutcome as MergeOutcome
    from harness.api.merging import merge_databases as merge_databases
    from harness.api.reports import WrittenReport as WrittenReport
    from harness.api.reports import write_report as write_report
    from harness.api.results import RunResults as RunResults
    from harness.api.results import open_results as open_results
    from harness.api.running import RunOutcome as RunOutcome
    from harness.api.running import run_sweep as run_sweep
    from harness.api.runs import RetryOutcome as RetryOutcome
    from harness.api.runs import get_status as get_status
    from harness.api.runs import list_runs as list_runs
    from harness.api.runs import retry_failed as retry_failed
    from harness.api.sweeps import SweepPlan as SweepPlan
    from harness.api.sweeps import load_sweep as load_sweep
    from harness.api.sweeps import plan_sweep as plan_sweep
    from harness.config import SweepConfig as SweepConfig
    from harness.driver.stopping import Stop as Stop
    from harness.status.run_status import RunStatus as RunStatus

# No public name is that of a subpackage here: importing that one would put it in the name's place.
_MODULES = {
    "BatError": "bat.errors",
    "DeletedRun": "harness.api.managing",
    "Difference": "harness.api.managing",
    "HashCheck": "harness.api.managing",
    "MergeOutcome": "harness.api.merging",
    "RetryOutcome": "harness.api.runs",
    "RunHash": "harness.api.managing",
    "RunOutcome": "harness.api.running",
    "RunResults": "harness.api.results",
    "RunStatus": "harness.status.run_status",
    "Stop": "harness.driver.stopping",
    "SweepConfig": "harness.config",
    "SweepPlan": "harness.api.sweeps",
    "WrittenReport": "harness.api.reports",
    "delete_run": "harness.api.managing",
    "diff_runs": "harness.api.managing",
    "get_status": "harness.api.runs",
    "hash_run": "harness.api.managing",
    "list_runs": "harness.api.runs",
    "load_sweep": "harness.api.sweeps",
    "merge_databases": "harness.api.merging",
    "open_results": "harness.api.results",
    "plan_sweep": "harness.api.sweeps",
    "rename_run": "harness.api.managing",
    "retry_failed": "harness.api.runs",
    "run_sweep": "harness.api.running",
    "tag_run": "harness.api.managing",
    "untag_run": "harness.api.managing",
    "write_report": "harness.api.reports",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value  # found from now on without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_MODULES})
