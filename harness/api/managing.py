"""Runs renamed, tagged and deleted, the differences between two, and the hash of the results of one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bat.errors import InvalidInputError
from harness.api.runs import Database, RunName, choose_run, reading
from harness.api.sweeps import StepProgress
from harness.config.sections import NAME_RULE, is_name
from harness.status.run_status import lease_owners, live_drivers
from harness.store import Deletion, Reader, Run, open_store
from harness.words import counted

Address = str | os.PathLike[str]

_HOW_TO_WRITE_HASHES = "`bat-harness runs hash --jobs > FILE` writes such a file."


def rename_run(db: Address, run: RunName, name: str) -> Run:
    """Give a run another name, and return it as it was.

    Its sweep resumes it under the new name only: started under the old name, it is a new run, which shares
    all jobs.
    """
    _check_name("a run's name", name)
    with open_store(db, create=False) as store:
        chosen = choose_run(store, run)
        _check_idle(store, chosen, "renamed")
        store.rename_run(chosen, name)
    return chosen


def tag_run(db: Address, run: RunName, tags: str | Iterable[str]) -> Run:
    """Add tags to a run, and return it with all its tags."""
    words = [tags] if isinstance(tags, str) else list(tags)
    for tag in words:
        _check_name("a tag", tag)
    with open_store(db, create=False) as store:
        chosen = choose_run(store, run)
        store.add_tags(chosen.id, words)
        return store.get_run(chosen.id)


def untag_run(db: Address, run: RunName, tags: str | Iterable[str]) -> Run:
    """Remove tags from a run, and return it with those that are left."""
    words = [tags] if isinstance(tags, str) else list(tags)
    with open_store(db, create=False) as store:
        chosen = choose_run(store, run)
        for tag in words:
            if tag not in chosen.tags:
                has = f"has the tags {', '.join(chosen.tags)}" if chosen.tags else "has no tags"
                raise InvalidInputError(f"run {chosen.label} has no tag {tag!r}; it {has}.")
        store.remove_tags(chosen.id, words)
        return store.get_run(chosen.id)


@dataclass(frozen=True, slots=True)
class DeletedRun:
    """A run that was deleted, or would be, and what goes with it."""

    run: Run
    deletion: Deletion
    database: str  # its address

    def __str__(self) -> str:
        counts = self.deletion
        results = f"{counts.done:,} of them done, with {counted(counts.texts, 'text')}"
        sentence = f"Run {self.run.label} in {self.database}: {counted(counts.jobs, 'job')}, {results}."
        if counts.shared:
            shared = counted(counts.shared, "job")
            sentence += f" Other runs use {shared} of it, which {'stays' if counts.shared == 1 else 'stay'}."
        return sentence


def count_deletion(db: Database, run: RunName) -> DeletedRun:
    """What `delete_run` would delete; raises if the run cannot be deleted now."""
    with reading(db) as reader:
        chosen = choose_run(reader, run)
        _check_idle(reader, chosen, "deleted")
        return DeletedRun(chosen, reader.count_deletion(chosen.id), reader.address)


def delete_run(db: Address, run: RunName, *, progress: Callable[[int], None] | None = None) -> DeletedRun:
    """Delete a run and the results that no other run uses. Drivers of other runs may be at work.

    `progress` is called with the number of jobs deleted so far. If it is interrupted, call it again.
    """
    with open_store(db, create=False) as store:
        deleted = count_deletion(store, run)
        jobs = 0
        while batch := store.delete_jobs_of(deleted.run.id):
            jobs += batch
            if progress is not None:
                progress(jobs)
            _check_idle(store, deleted.run, "deleted")
        store.delete_run(deleted.run.id)
    return deleted


def _check_idle(reader: Reader, run: Run, what: str) -> None:
    owners = [driver.owner for driver in live_drivers(reader, run)]
    owners += [owner.owner for owner in lease_owners(reader, run) if not owner.expired]
    if owners:
        raise InvalidInputError(
            f"a run can be {what} only while no driver works on it; {owners[0]} works on {run.label}. Stop "
            "it with Ctrl-C, then repeat this command."
        )


def _check_name(what: str, name: str) -> None:
    if not is_name(name):
        raise InvalidInputError(f"{what} {NAME_RULE}; got {name!r}.")


@dataclass(frozen=True, slots=True)
class RunHash:
    """What the results of a run are, in 64 digits; and those of each of its jobs that are done."""

    run: Run
    jobs: int  # also those that are not done
    sha256: str
    by_job: Mapping[str, str]

    def check(self, by_job: Mapping[str, str]) -> HashCheck:
        """Compare the jobs that are done with those of another run, by their hashes."""
        shared = [job for job in self.by_job if job in by_job]
        different = [job for job in shared if self.by_job[job] != by_job[job]]
        return HashCheck(len(shared), tuple(different), len(self.by_job) - len(shared))


@dataclass(frozen=True, slots=True)
class HashCheck:
    """How the results of two runs compare."""

    shared: int  # jobs that are done in both
    different: tuple[str, ...]  # ids of those whose results differ
    others: int  # jobs that are done in this run only


def hash_run(db: Database, run: RunName = None, *, progress: StepProgress | None = None) -> RunHash:
    """The hash of all results of a run: equal for equal results, wherever they were computed.

    Times, attempts and workers are left out. Jobs that are not done are, too.
    """
    with reading(db) as reader:
        chosen = choose_run(reader, run)
        counts = reader.progress(chosen.id)
        done = sum(kind.done for kind in counts)
        shown = None if progress is None else progress("Reading results", done)
        by_job = reader.result_hashes(chosen.id, shown)
        jobs = sum(kind.total for kind in counts)
        return RunHash(chosen, jobs, reader.results_hash(chosen.id, by_job), by_job)


def read_hashes(path: Path) -> dict[str, str]:
    """Read what `runs hash --jobs` wrote: on each line the hash and the id of a job."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. {_HOW_TO_WRITE_HASHES}") from error
    hashes = {}
    for number, line in enumerate(lines, start=1):
        if not (parts := re.fullmatch("([0-9a-f]{64})  ([0-9a-f]{64})", line)):
            raise InvalidInputError(
                f"every line must have the hash and the id of a job, two spaces between them; got "
                f"{line[:80]!r} in {path}, line {number}. {_HOW_TO_WRITE_HASHES}"
            )
        hashes[parts[2]] = parts[1]
    return hashes


@dataclass(frozen=True, slots=True)
class Difference:
    """A key in which two runs differ, and the value in each; None where a run has no such key."""

    key: str
    first: Any
    second: Any


def diff_runs(db: Database, first: RunName, second: RunName) -> list[Difference]:
    """The differences between two runs: configuration, content of local files, versions of libraries."""
    with reading(db) as reader:
        runs = [choose_run(reader, run) for run in (first, second)]
    configs = [{key: value for key, value in run.config.items() if key != "result_version"} for run in runs]
    files = [{entry.key: entry.revision for entry in run.inputs} for run in runs]
    return [
        *_differences("", *configs),
        *_differences("content of ", *files),
        *_differences("version of ", *(run.versions for run in runs)),
    ]


def _differences(prefix: str, first: Any, second: Any) -> Iterator[Difference]:
    left, right = _parts(first), _parts(second)
    if left is None or right is None:
        if first != second:
            yield Difference(prefix.removesuffix("."), first, second)
        return
    separator = prefix if not prefix or prefix.endswith((" ", ".")) else f"{prefix}."
    for key in dict.fromkeys([*left, *right]):
        yield from _differences(f"{separator}{key}", left.get(key), right.get(key))


def _parts(value: Any) -> Mapping[str, Any] | None:
    """The named parts of a value: of a mapping, or of a list whose entries have names."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        names = [str(entry.get("label") or entry.get("name") or number) for number, entry in enumerate(value)]
        if len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None
