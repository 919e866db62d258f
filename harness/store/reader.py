"""Questions to a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DBAPIError

from bat.errors import InvalidInputError
from harness.jobs import JobKind, JobSpec
from harness.jobs.rows import PrefixEntry
from harness.scoring.scores import StoredScore
from harness.store import drivers, hashing, instances, reading, status
from harness.store.addresses import shown
from harness.store.engine import Database
from harness.store.failures import detail_of
from harness.store.records import (
    DriverPresence,
    FailedJob,
    GeneratedText,
    Instance,
    JobState,
    LeaseOwner,
    Progress,
    QueryRows,
    Rate,
    Resolution,
    Run,
    StoredJob,
    StoredPrefixSet,
    WorkerActivity,
)
from harness.store.statements import batches, get_done_keys
from harness.store.tables import JobRow, ResolutionJobRow, ResolutionRow, RunRow
from workers.measurement_record import Measurement, concatenate

if TYPE_CHECKING:  # brings in torch
    from workers.generation import Generation


class Reader:
    """A store that is only read. Any number of them may be open while others write, and none of them waits.

    Each question is answered from one snapshot. Answers that could be large come as iterators; what they
    hold in memory is a job's result at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def address(self) -> str:
        """The address as people may see it, without a password."""
        return shown(self._database.url)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    # Runs

    def runs(self) -> list[Run]:
        """All runs, the one started last first."""
        with self._database.reading() as connection:
            return _runs(connection)

    def find_run(self, name: str | int) -> Run | None:
        """The run of that number, or the one of that name that was started last."""
        with self._database.reading() as connection:
            found = _runs(connection, RunRow.id == name if isinstance(name, int) else RunRow.name == name)
        return found[0] if found else None

    def get_run(self, name: str | int) -> Run:
        """The run of that number or name, or an error that lists those there are."""
        found = self.find_run(name)
        if found is None:
            known = ", ".join(dict.fromkeys(repr(run.name) for run in self.runs())) or "none"
            raise InvalidInputError(f"there is no run {name!r} in {self.address}. Its runs: {known}.")
        return found

    def resolutions(self, run_id: int) -> list[Resolution]:
        """What became of the parameters that a run's configuration left open, in the order of resolving."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(ResolutionRow).where(ResolutionRow.run_id == run_id).order_by(ResolutionRow.id)
            ).all()
            decided_by = {row.id: _deciding_jobs(connection, row.id) for row in rows}
        return [
            Resolution(row.parameter, row.asked, row.how, row.value, decided_by[row.id], row.detail)
            for row in rows
        ]

    def instances(self, run_id: int, *, with_jobs: bool = True) -> list[Instance]:
        """What a run does, in the order of its sweep; a large sweep is read faster without its jobs."""
        with self._database.reading() as connection:
            return instances.read(connection, run_id, with_jobs=with_jobs)

    # Progress

    def progress(self, run_id: int) -> list[Progress]:
        """Counts for each kind of job that the run has."""
        with self._database.reading() as connection:
            return status.count_states(connection, run_id)

    def rates(self, run_id: int, window_seconds: float = 60.0) -> list[Rate]:
        """What was done in the last seconds, for each kind of job of which anything was."""
        with self._database.reading() as connection:
            return status.measure_rates(connection, run_id, window_seconds)

    def owners(self, run_id: int | None = None) -> list[LeaseOwner]:
        """Who holds leases at this moment."""
        with self._database.reading() as connection:
            return status.list_owners(connection, run_id)

    def drivers(self, run_id: int) -> list[DriverPresence]:
        """The drivers of a run that have not said that they ended, the last to be heard of first."""
        with self._database.reading() as connection:
            return drivers.list_present(connection, run_id)

    def workers(self, run_id: int, window_seconds: float = 60.0) -> list[WorkerActivity]:
        """Who is at which job of a run, and what each did in the last seconds."""
        with self._database.reading() as connection:
            return status.list_workers(connection, run_id, window_seconds)

    def failed(self, run_id: int | None = None) -> list[FailedJob]:
        """The jobs that were set aside, with their errors and how many jobs wait for them."""
        with self._database.reading() as connection:
            return status.find_failed(connection, run_id)

    def blocked(self, run_id: int) -> list[str]:
        """Ids of the jobs that wait for a job that was set aside."""
        with self._database.reading() as connection:
            return status.find_blocked(connection, run_id)

    # Jobs

    def jobs(
        self, run_id: int, kind: JobKind | None = None, state: JobState | None = None
    ) -> Iterator[StoredJob]:
        """The jobs of a run in their order."""
        with self._database.reading() as connection:
            yield from status.iterate_jobs(connection, run_id, kind, state)

    def find_jobs(self, job_ids: Iterable[str]) -> dict[str, StoredJob]:
        """Those of the jobs that are there, by id."""
        with self._database.reading() as connection:
            return status.find_jobs(connection, job_ids)

    def parsed_jobs(self, job_ids: Iterable[str]) -> dict[str, JobSpec[Any]]:
        """The typed specifications of those of the jobs that are there, by id."""
        return {job_id: job.parse() for job_id, job in self.find_jobs(job_ids).items()}

    def needs(self, job_ids: Iterable[str]) -> set[str]:
        """Ids of the jobs whose results these jobs read."""
        with self._database.reading() as connection:
            return status.find_needs(connection, job_ids)

    def done_ids(self, job_ids: Iterable[str]) -> set[str]:
        """Those of the jobs that are done."""
        found: set[str] = set()
        with self._database.reading() as connection:
            for batch in batches(dict.fromkeys(job_ids)):
                done = JobRow.state == JobState.DONE
                found.update(connection.scalars(select(JobRow.id).where(JobRow.id.in_(batch), done)))
        return found

    # Results; a job that is not done is an error

    def measurement(self, job_ids: Sequence[str]) -> Measurement:
        """What measure jobs found, one after another."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            return concatenate([reading.read_measurement(connection, key) for key in keys.values()])

    def generations(self, job_ids: Sequence[str]) -> Iterator[tuple[str, Generation]]:
        """What generate jobs wrote, each with the id of its job."""
        for job_id, key in self._done_keys(job_ids).items():
            with self._database.reading() as connection:
                entries = reading.read_generations(connection, key)
            yield from ((job_id, entry.to_generation()) for entry in entries)

    def texts(self, job_ids: Sequence[str]) -> Iterator[GeneratedText]:
        """What generate jobs wrote, without what happened at each token."""
        for job_id, key in self._done_keys(job_ids).items():
            with self._database.reading() as connection:
                texts = reading.read_texts(connection, key, job_id)
            yield from texts

    def texts_by_prefix(self, job_id: str) -> dict[str, str]:
        """What one generate job wrote, by the ids of the prefixes."""
        return {text.prefix_id: text.text for text in self.texts([job_id])}

    def features(self, job_ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of featurize jobs, one after another, [n, d]."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            parts = [reading.read_features(connection, key) for key in keys.values()]
        parts = [part for part in parts if len(part)]
        widths = sorted({part.shape[1] for part in parts})
        if len(widths) > 1:
            raise InvalidInputError(
                f"features must have one width to be put together; these jobs have {widths}."
            )
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def scores(self, job_ids: Sequence[str]) -> list[StoredScore]:
        """The numbers of score jobs, in the order of the jobs, by name."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            return [
                StoredScore(job_id, score.name, score.value, score.low, score.high, score.detail)
                for job_id, key in keys.items()
                for score in reading.read_scores(connection, key)
            ]

    def solver_cost(self, job_ids: Sequence[str]) -> tuple[int, float]:
        """Tokens that generate jobs made, and the seconds their programs took."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            found = [reading.read_solver_cost(connection, key) for key in keys.values()]
        return sum(tokens for tokens, _ in found), sum(seconds for _, seconds in found)

    def prefixes(self, prefix_set_id: str, start: int = 0, stop: int | None = None) -> list[PrefixEntry]:
        """The prefixes of a set, from one position up to another."""
        with self._database.reading() as connection:
            return reading.read_prefixes(connection, prefix_set_id, start, stop)

    def prefix_set(self, prefix_set_id: str) -> StoredPrefixSet:
        """What a set of prefixes is of; an error where there is none of that id."""
        with self._database.reading() as connection:
            return reading.get_prefix_set(connection, prefix_set_id)

    def has_prefix_set(self, prefix_set_id: str) -> bool:
        """Whether a set of prefixes is stored."""
        with self._database.reading() as connection:
            return reading.find_prefix_set(connection, prefix_set_id) is not None

    def results_hash(self, run_id: int) -> str:
        """One number for all results of a run: equal results, whoever made them, have equal numbers."""
        with self._database.reading() as connection:
            return hashing.results_hash(connection, run_id)

    def _done_keys(self, job_ids: Sequence[str]) -> dict[str, int]:
        with self._database.reading() as connection:
            return get_done_keys(connection, job_ids)

    # Anything else

    @contextmanager
    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[QueryRows]:
        """The answer to a question in SQL, read as it is needed.

        With parameters, `:name` stands for one. The database refuses statements that would change anything.
        """
        # Without parameters a colon is a colon, as in '12:30' or a cast.
        statement = text(sql if parameters else sql.replace(":", r"\:"))
        with self._database.reading() as connection:
            try:
                found = connection.execution_options(yield_per=500).execute(statement, parameters or {})
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                raise InvalidInputError(
                    f"{self.address} cannot answer this query: {detail_of(error)}. The tables and views are "
                    "described in docs/database.md."
                ) from error
            if not found.returns_rows:
                raise InvalidInputError(
                    f"a query must give rows; got {sql.strip()[:60]!r}. Begin with SELECT."
                )
            yield QueryRows(tuple(found.keys()), (tuple(row) for row in found))


def _runs(connection: Connection, *conditions: Any) -> list[Run]:
    rows = connection.execute(
        select(RunRow.id, RunRow.name, RunRow.config, RunRow.versions, RunRow.created_at, RunRow.started_at)
        .where(*conditions)
        .order_by(RunRow.started_at.desc(), RunRow.id.desc())
    )
    return [Run(*row) for row in rows]


def _deciding_jobs(connection: Connection, resolution_id: int) -> tuple[str, ...]:
    ids = connection.scalars(
        select(JobRow.id)
        .join(ResolutionJobRow, ResolutionJobRow.job_key == JobRow.key)
        .where(ResolutionJobRow.resolution_id == resolution_id)
        .order_by(JobRow.key)
    )
    return tuple(ids)
