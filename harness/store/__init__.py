"""The database of a sweep: results, and the queue of jobs. `harness.store.store` states the contract.

open_store      for a driver: claim jobs and complete them
open_reader     for everyone else: queries, which do not block a running sweep
migrate         upgrade an older database to this version

Inside, store.py writes; reader.py and job_reader.py read. runs.py, plans.py, queue.py, results.py and
deletion.py hold the statements of their transactions. merging.py, merging_runs.py and merging_studies.py
bring the results of one database into another. studies.py reads human evaluation, and judging.py writes it.
"""

from harness.store.errors import (
    NoStoreError,
    SchemaVersionError,
    StoreError,
    StoreLostError,
    StoreUnavailableError,
)
from harness.store.queue import Lease, RetryPolicy
from harness.store.reader import Reader
from harness.store.records import (
    AttemptOutcome,
    Deletion,
    DriverPresence,
    FailedJob,
    GeneratedText,
    Instance,
    InstanceKind,
    InstanceState,
    JobGroup,
    JobState,
    LeaseOwner,
    LocalInput,
    Progress,
    QueryRows,
    Rate,
    Resolution,
    Run,
    StoredJob,
    StoredPrefixSet,
    WorkerActivity,
)
from harness.store.store import Store, open_reader, open_store
from harness.store.versions import SCHEMA_VERSION, migrate

__all__ = [
    "SCHEMA_VERSION",
    "AttemptOutcome",
    "Deletion",
    "DriverPresence",
    "FailedJob",
    "GeneratedText",
    "Instance",
    "InstanceKind",
    "InstanceState",
    "JobGroup",
    "JobState",
    "Lease",
    "LeaseOwner",
    "LocalInput",
    "NoStoreError",
    "Progress",
    "QueryRows",
    "Rate",
    "Reader",
    "Resolution",
    "RetryPolicy",
    "Run",
    "SchemaVersionError",
    "Store",
    "StoreError",
    "StoreLostError",
    "StoreUnavailableError",
    "StoredJob",
    "StoredPrefixSet",
    "WorkerActivity",
    "migrate",
    "open_reader",
    "open_store",
]
