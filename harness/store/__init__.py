"""The database of a sweep: results, and the queue of jobs. `harness.store.store` states the contract.

open_store      for a driver: claim jobs, complete them
open_reader     for everybody else: questions, while others write
migrate         bring an older database to this version
"""

from harness.store.errors import NoStoreError, SchemaVersionError, StoreError, StoreUnavailableError
from harness.store.payloads import (
    FeatureRows,
    GenerationEntry,
    GenerationRows,
    MeasurementRows,
    Payload,
    PrefixEntry,
    PrefixRows,
    ScoreEntry,
    ScoreRows,
)
from harness.store.reader import Reader
from harness.store.records import (
    AttemptOutcome,
    DriverPresence,
    FailedJob,
    GeneratedText,
    JobState,
    Lease,
    LeaseOwner,
    Progress,
    QueryRows,
    Rate,
    Resolution,
    RetryPolicy,
    Run,
    StoredJob,
    StoredPrefixSet,
    StoredScore,
    WorkerActivity,
)
from harness.store.store import Store, open_reader, open_store
from harness.store.versions import SCHEMA_VERSION, migrate

__all__ = [
    "SCHEMA_VERSION",
    "AttemptOutcome",
    "DriverPresence",
    "FailedJob",
    "FeatureRows",
    "GeneratedText",
    "GenerationEntry",
    "GenerationRows",
    "JobState",
    "Lease",
    "LeaseOwner",
    "MeasurementRows",
    "NoStoreError",
    "Payload",
    "PrefixEntry",
    "PrefixRows",
    "Progress",
    "QueryRows",
    "Rate",
    "Reader",
    "Resolution",
    "RetryPolicy",
    "Run",
    "SchemaVersionError",
    "ScoreEntry",
    "ScoreRows",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "StoredJob",
    "StoredPrefixSet",
    "StoredScore",
    "WorkerActivity",
    "migrate",
    "open_reader",
    "open_store",
]
