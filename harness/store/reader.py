"""Reading a store: runs, results, prefixes, and any SQL. Queries about jobs: harness.store.job_reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from bat.errors import InvalidInputError
from harness.jobs import PrefixEntry
from harness.scoring.scores import StoredScore
from harness.store import deletion, hashing, plans, results, runs
from harness.store.addresses import shown
from harness.store.error_messages import detail_of
from harness.store.job_reader import JobReader
from harness.store.records import (
    Deletion,
    GeneratedText,
    Instance,
    LocalInput,
    QueryRows,
    Resolution,
    Run,
    StoredPrefixSet,
)
from harness.store.statements import get_done_keys
from harness.store.tables import JobRow, PrefixRow, PrefixSetRow, ResolutionJobRow, ResolutionRow, RunRow
from harness.store.time_limits import limited, was_stopped
from workers.measurement_record import Measurement, concatenate
from workers.time_use import TimeUse

if TYPE_CHECKING:  # brings in torch
    from workers.generation import Generation


class Reader(JobReader):
    """A store opened for reading. Any number of readers may be open while others write; none of them waits.

    Each query is answered from one snapshot. Methods whose answer could be large return iterators, which
    hold one job's result in memory at a time.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def address(self) -> str:
        """The address to show to people, without the password."""
        return shown(self._database.url)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    # Runs

    def runs(self) -> list[Run]:
        """All runs, the latest started first."""
        with self._database.reading() as connection:
            return runs.read(connection)

    def find_run(self, name: str | int) -> Run | None:
        """The run with that number, or the latest run with that name."""
        with self._database.reading() as connection:
            is_it = RunRow.id == name if isinstance(name, int) else RunRow.name == name
            matching = runs.read(connection, is_it)
        return matching[0] if matching else None

    def find_run_id(
        self, name: str, config: Mapping[str, Any], inputs: Sequence[LocalInput] = ()
    ) -> int | None:
        """The number of the run with this name, configuration and local files, if it was started before."""
        with self._database.reading() as connection:
            identity = runs.identity_of(name, config, inputs)
            return connection.scalar(select(RunRow.id).where(RunRow.identity == identity))

    def get_run(self, name: str | int) -> Run:
        """The run with that number or name, or an error that lists the runs there are."""
        run = self.find_run(name)
        if run is None:
            names = ", ".join(dict.fromkeys(repr(run.name) for run in self.runs())) or "none"
            raise InvalidInputError(f"there is no run {name!r} in {self.address}. Its runs: {names}.")
        return run

    def resolutions(self, run_id: int) -> list[Resolution]:
        """The values that a run's unresolved parameters got, in the order in which they were resolved."""
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
        """What a run does, in the order of its sweep. Reading a large sweep is faster without its jobs."""
        with self._database.reading() as connection:
            return plans.read_instances(connection, run_id, with_jobs=with_jobs)

    def count_deletion(self, run_id: int) -> Deletion:
        """What deleting a run would delete."""
        with self._database.reading() as connection:
            return deletion.count(connection, run_id)

    # Results; a job that is not done is an error

    def measurement(self, job_ids: Sequence[str]) -> Measurement:
        """The results of measure jobs, concatenated."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            return concatenate([results.read_measurement(connection, key) for key in keys.values()])

    def generations(self, job_ids: Sequence[str]) -> Iterator[tuple[str, Generation]]:
        """The texts of generate jobs with their traces, each with the id of its job."""
        for job_id, key in self._done_keys(job_ids).items():
            with self._database.reading() as connection:
                entries = results.read_generations(connection, key)
            yield from ((job_id, entry.to_generation()) for entry in entries)

    def texts(self, job_ids: Sequence[str]) -> Iterator[GeneratedText]:
        """The texts of generate jobs, without their traces."""
        for job_id, key in self._done_keys(job_ids).items():
            with self._database.reading() as connection:
                texts = results.read_texts(connection, key, job_id)
            yield from texts

    def texts_by_prefix(self, job_id: str) -> dict[str, str]:
        """The texts of one generate job, by the ids of the prefixes."""
        return {text.prefix_id: text.text for text in self.texts([job_id])}

    def features(self, job_ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of featurize jobs, concatenated, [n, d]."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            parts = [results.read_features(connection, key) for key in keys.values()]
        parts = [part for part in parts if len(part)]
        widths = sorted({part.shape[1] for part in parts})
        if len(widths) > 1:
            raise InvalidInputError(
                f"features must all have the same width; the features of these jobs have widths {widths}."
            )
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def scores(self, job_ids: Sequence[str]) -> list[StoredScore]:
        """The scores of score jobs, in the order of the jobs, then by name."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            by_key = results.read_scores(connection, keys.values())
        return [
            StoredScore(job_id, score.name, score.value, score.low, score.high, score.detail)
            for job_id, key in keys.items()
            for score in by_key[key]
        ]

    def solver_cost(self, job_ids: Sequence[str]) -> tuple[int, float]:
        """The number of tokens that generate jobs wrote, and the seconds spent on their linear programs."""
        with self._database.reading() as connection:
            return results.read_solver_cost(connection, get_done_keys(connection, job_ids).values())

    def time_use(self, job_ids: Sequence[str]) -> TimeUse | None:
        """What workers spent on done jobs, all together; None if nothing is known, as of older databases."""
        with self._database.reading() as connection:
            keys = get_done_keys(connection, job_ids)
            return TimeUse.total(results.read_time_use(connection, list(keys.values())))

    # Prefixes

    def prefixes(self, prefix_set_id: str, start: int = 0, stop: int | None = None) -> list[PrefixEntry]:
        """The prefixes of a set from position `start` up to, not including, `stop`."""
        columns = PrefixRow.id, PrefixRow.token_ids, PrefixRow.text, PrefixRow.continuation_ids
        with self._database.reading() as connection:
            key = _get_prefix_set_key(connection, prefix_set_id)
            statement = (
                select(*columns, PrefixRow.continuation)
                .where(PrefixRow.prefix_set_key == key, PrefixRow.item >= start)
                .order_by(PrefixRow.item)
            )
            if stop is not None:
                statement = statement.where(PrefixRow.item < stop)
            return [
                PrefixEntry(
                    row.id, tuple(row.token_ids), row.text, tuple(row.continuation_ids), row.continuation
                )
                for row in connection.execute(statement)
            ]

    def prefix_set(self, prefix_set_id: str) -> StoredPrefixSet:
        """The description of a set of prefixes; raises when it is not stored."""
        columns = PrefixSetRow.id, PrefixSetRow.corpus, PrefixSetRow.revision, PrefixSetRow.split
        with self._database.reading() as connection:
            key = _get_prefix_set_key(connection, prefix_set_id)
            row = connection.execute(select(*columns).where(PrefixSetRow.key == key)).one()
            count = connection.scalar(select(func.count()).where(PrefixRow.prefix_set_key == key))
            return StoredPrefixSet(*row, prefixes=int(count or 0))

    def has_prefix_set(self, prefix_set_id: str) -> bool:
        """Whether a set of prefixes is stored."""
        with self._database.reading() as connection:
            return _find_prefix_set_key(connection, prefix_set_id) is not None

    def results_hash(self, run_id: int, by_job: Mapping[str, str] | None = None) -> str:
        """One hash of all results of a run: equal results have equal hashes, wherever they were computed."""
        with self._database.reading() as connection:
            return hashing.results_hash(connection, run_id, by_job)

    def result_hashes(self, run_id: int, progress: Callable[[int], None] | None = None) -> dict[str, str]:
        """The hash of the result of each done job of a run, by job id."""
        with self._database.reading() as connection:
            return hashing.result_hashes(connection, run_id, progress)

    def _done_keys(self, job_ids: Sequence[str]) -> dict[str, int]:
        with self._database.reading() as connection:
            return get_done_keys(connection, job_ids)

    # Anything else

    @contextmanager
    def query(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, seconds: float | None = None
    ) -> Iterator[QueryRows]:
        """The rows of an SQL query, read as they are needed.

        `:name` in the SQL stands for a parameter. Statements that would change the database raise an error,
        and so does a query that is not answered and read within the seconds, if there is a limit.
        """
        # Without parameters, colons are literal, as in '12:30' or a cast.
        statement = text(sql if parameters else sql.replace(":", r"\:"))
        with (
            self._database.reading() as connection,
            nullcontext() if seconds is None else limited(connection, seconds),
        ):
            try:
                result = connection.execution_options(yield_per=500).execute(statement, parameters or {})
            except DBAPIError as error:
                if error.connection_invalidated or was_stopped(error):
                    raise
                raise InvalidInputError(
                    f"{self.address} cannot answer this query: {detail_of(error)}. The tables and views are "
                    "described in docs/database.md."
                ) from error
            if not result.returns_rows:
                raise InvalidInputError(
                    f"a query must return rows; got {sql.strip()[:60]!r}. Begin with SELECT."
                )
            yield QueryRows(tuple(result.keys()), (tuple(row) for row in result))


def _deciding_jobs(connection: Connection, resolution_id: int) -> tuple[str, ...]:
    ids = connection.scalars(
        select(JobRow.id)
        .join(ResolutionJobRow, ResolutionJobRow.job_key == JobRow.key)
        .where(ResolutionJobRow.resolution_id == resolution_id)
        .order_by(JobRow.key)
    )
    return tuple(ids)


def _find_prefix_set_key(connection: Connection, prefix_set_id: str) -> int | None:
    return connection.scalar(select(PrefixSetRow.key).where(PrefixSetRow.id == prefix_set_id))


def _get_prefix_set_key(connection: Connection, prefix_set_id: str) -> int:
    key = _find_prefix_set_key(connection, prefix_set_id)
    if key is None:
        raise InvalidInputError(f"the set of prefixes {prefix_set_id} is not in this database.")
    return key
