"""The loop that drives a sweep: claim jobs, send them to workers, store results, plan again.

Only the driver writes to the store. What it keeps in memory can be lost: if it is killed, stored results
stay, its leases expire or are taken back, and running the same command again resumes the sweep.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bat.errors import BatError
from harness.driver.log import LOGGER
from harness.driver.pool import Failure, FailureKind, Outcome, Pool
from harness.driver.stopping import Stop
from harness.jobs import JobSpec, Rows
from harness.planning.materials import Materials, SweepInputs
from harness.planning.planner import Plan, enqueue
from harness.store import Lease, Progress, Store, StoreLostError
from harness.store.owners import is_gone, new_owner
from harness.store.patience import patient
from harness.words import counted
from workers.requests import Answer, ModelRequest

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_REPORTS = 0.5  # at least: counting the jobs of a large run takes a while
_SHARE_OF_REPORTS = 0.05  # of the driver's time, at most
_SECONDS_BETWEEN_BEATS = 5.0


@dataclass
class Summary:
    """What one driver did."""

    done: int = 0
    late: int = 0  # answers that were dropped because their lease had expired
    failed_attempts: int = 0
    stopped: bool = False
    failed: int = 0  # jobs
    blocked: int = 0  # jobs that need failed ones
    unresolved: list[str] = field(default_factory=list)  # parameters that wait for results
    unresolvable: list[str] = field(default_factory=list)  # parameters that cannot be resolved, and why

    @property
    def complete(self) -> bool:
        """Whether the sweep is done."""
        incomplete = self.failed or self.blocked or self.unresolved or self.unresolvable
        return not (self.stopped or incomplete)


class Driver:
    """Drives one run until nothing is left that can be done."""

    def __init__(
        self,
        store: Store,
        run_id: int,
        materials: Materials,
        pool: Callable[[], Pool],
        *,
        report: Callable[[list[Progress]], None] | None = None,
        note: Callable[[str], None] | None = None,
        stop: Stop | None = None,
        owner: str | None = None,
    ) -> None:
        self.run_id, self.materials = run_id, materials
        self.start_pool = pool
        self.report = report or (lambda _: None)
        self.note = note or (lambda _: None)
        resources = materials.config.resources
        self.store = patient(store, resources.database_patience_seconds, self._note_outage, self._return_to)
        self.stop = stop or Stop()
        self.owner = owner or new_owner()
        self.lease_seconds = float(resources.lease_seconds)
        self.inputs = SweepInputs(materials, self.store)
        self.leases: dict[str, Lease] = {}  # by ticket
        self._queues: defaultdict[str, list[str]] = defaultdict(list)  # tickets of each worker, in order
        self._model_labels: dict[ModelRequest, str] = {}  # of models that workers may have loaded
        # For each unresolved parameter, the jobs that decide it and are not done.
        self._awaited: list[set[str]] = []
        self._decided = False  # whether all jobs that decide one of these parameters are done
        self._unresolvable: set[str] = set()  # parameters that cannot be resolved, and were reported
        self.summary = Summary()
        self._renewed = self._reported = self._beaten = time.monotonic()
        self._report_pause = _SECONDS_BETWEEN_REPORTS

    def run(self) -> Summary:
        """Do all jobs that can be done now. Workers are started only if there are any."""
        self._take_back_from_dead_drivers()
        lost = self.store.retry_lost(self.run_id)
        if lost:
            self.note(
                f"{counted(lost, 'job')} failed only because drivers or workers died, and will be retried."
            )
        pool: Pool | None = None
        try:
            self._beat("planning")
            plan = self._enqueue()
            while not self.stop.requested:
                if self._decided:  # now, so that no worker waits until all others have finished
                    plan = self._enqueue()
                if not self.leases and self._open_jobs() == 0:
                    if plan.complete:
                        break
                    before = len(plan.jobs)
                    plan = self._enqueue()
                    if len(plan.jobs) == before and self._open_jobs() == 0:
                        break  # the rest is blocked by failed jobs
                if pool is None:
                    self._beat("starting workers")
                    pool = self.start_pool()
                self._renew_leases()  # first, because claiming takes back expired leases, ours too
                self._hand_out(pool)
                self._collect(pool)
            while pool is not None and self.leases:  # stopping: finish the running jobs
                self._renew_leases()
                self._collect(pool)
        finally:
            try:
                if pool is not None:
                    pool.close()
            finally:
                self._release_leases()
        return self._conclude(plan)

    def _release_leases(self) -> None:
        """Give back all leases, now that no worker runs any more."""
        try:
            # Also those that were claimed at the moment of an interrupt, which are not among ours.
            self.store.release_others(self.owner, ())
            self.store.leave(self.owner)
        except StoreLostError as error:
            LOGGER.warning("leases are left to expire: %s", error)

    def _note_outage(self, text: str) -> None:
        LOGGER.warning("%s", text)
        self.note(text)

    def _return_to(self, store: Store) -> None:
        """Hold our leases again, before a claim takes back those that have expired meanwhile."""
        store.renew(list(self.leases.values()), self.lease_seconds)
        store.release_others(self.owner, list(self.leases.values()))
        self._renewed = time.monotonic()

    def _take_back_from_dead_drivers(self) -> None:
        """Take back the leases of drivers that are known to be dead, before they expire."""
        holders = {holder.owner for holder in self.store.owners(self.run_id)}
        present = {driver.owner for driver in self.store.drivers(self.run_id)}
        for owner in sorted(holders | present):
            if is_gone(owner, self.store.address):
                taken = self.store.take_back(owner)
                self.store.leave(owner)
                LOGGER.info("%s is dead, %d leases taken back", owner, taken)

    def _beat(self, doing: str) -> None:
        self.store.beat(self.owner, self.run_id, doing)
        self._beaten = time.monotonic()

    def _enqueue(self) -> Plan:
        plan = enqueue(self.store, self.run_id, self.materials)
        for resolution in plan.resolutions:
            text = f"{resolution.parameter}: {resolution.value:.6g}, {resolution.how}"
            LOGGER.info("resolved %s", text)
            self.note(text)
        for name, reason in plan.unresolvable.items():
            if name not in self._unresolvable:
                self._unresolvable.add(name)
                LOGGER.warning("cannot resolve %s: %s", name, reason)
                self.note(f"{name} cannot be resolved: {reason}")
        LOGGER.info("planned %d jobs, %d settings unresolved", len(plan.jobs), len(plan.unresolved))
        done = self.store.done_ids(job_id for ids in plan.deciding for job_id in ids)
        self._awaited = [set(ids - done) for ids in plan.deciding]
        self._decided = False
        return plan

    def _hand_out(self, pool: Pool) -> None:
        """Fill vacancies, preferring jobs of the model that a worker has loaded."""
        vacancies = pool.vacancies()
        while vacancies and not self.stop.requested:
            model = vacancies[0].model
            same_model = [vacancy for vacancy in vacancies if vacancy.model == model]
            label = None if model is None else self._model_labels.get(model)
            claimed = self.store.claim(
                self.owner,
                len(same_model),
                self.lease_seconds,
                self.run_id,
                label,
                workers=[vacancy.location for vacancy in same_model],
                queued=[vacancy.queued for vacancy in same_model],
            )
            self.leases |= {_ticket(lease): lease for lease in claimed}
            for vacancy, lease in zip(same_model, claimed, strict=False):
                self._submit(pool, vacancy.worker, lease)
            if len(claimed) < len(same_model):
                return  # nothing more is ready
            vacancies = [vacancy for vacancy in vacancies if vacancy not in same_model]

    def _submit(self, pool: Pool, worker: str, lease: Lease) -> None:
        try:
            spec = lease.parse()
            request = spec.request(self.inputs, (lease.adjustment or {}).get("batch_size"))
        except StoreLostError:
            raise  # it says nothing about the job
        except BatError as error:
            self._fail(lease, Failure(FailureKind.INVALID, str(error)))
            del self.leases[_ticket(lease)]
            return
        if request.model_request is not None and spec.working_model is not None:
            self._model_labels[request.model_request] = spec.working_model.label
        self._queues[worker].append(_ticket(lease))
        pool.submit(worker, _ticket(lease), request)
        LOGGER.info("%s %s attempt %d to %s", lease.kind, lease.job_id[:12], lease.attempt, worker)

    def _collect(self, pool: Pool) -> None:
        """Store the outcomes that have arrived, and report progress."""
        outcomes = pool.wait(_SECONDS_BETWEEN_LOOKS)
        if not outcomes and not self.leases:
            time.sleep(_SECONDS_BETWEEN_LOOKS)  # the jobs that are left wait after an error
        self._write(outcomes)
        now = time.monotonic()
        if now - self._beaten > _SECONDS_BETWEEN_BEATS:
            idle = "waiting for jobs that can start" if pool.vacancies() else "waiting for workers"
            self._beat("working" if self.leases else idle)
        if now - self._reported > self._report_pause:
            self.report(self.store.progress(self.run_id))
            self._reported = time.monotonic()
            self._report_pause = max(_SECONDS_BETWEEN_REPORTS, (self._reported - now) / _SHARE_OF_REPORTS)

    def _renew_leases(self) -> None:
        now = time.monotonic()
        if now - self._renewed > self.lease_seconds / 4 and self.leases:
            self._renewed = now
            self.store.renew(list(self.leases.values()), self.lease_seconds)

    def _write(self, outcomes: list[Outcome]) -> None:
        completions: list[tuple[Lease, Rows]] = []
        time_use: dict[int, dict[str, Any]] = {}
        begun = self._next_in_line(outcomes)
        for outcome in outcomes:
            lease, result = self.leases[outcome.ticket], outcome.result
            if isinstance(result, Failure):
                self._fail(lease, result)
                continue
            spec = lease.parse()
            problem = _model_mismatch(spec, result)
            if problem is not None:
                self._fail(lease, Failure(FailureKind.INVALID, problem))
                continue
            try:
                completions.append((lease, spec.rows(result.value)))
                if result.time_use is not None:
                    time_use[lease.job_key] = result.time_use.to_json()
            except BatError as error:
                self._fail(lease, Failure(FailureKind.INVALID, str(error)))
        if completions:
            ours = self._complete(completions, time_use, begun)
            self.summary.done += sum(ours)
            self.summary.late += len(ours) - sum(ours)
            for (lease, _), kept in zip(completions, ours, strict=True):
                LOGGER.info("%s %s %s", lease.kind, lease.job_id[:12], "done" if kept else "arrived too late")
                if kept:
                    self._cross_off(lease.job_id)
        elif begun:
            self.store.begin(begun)
        # Only now, so that these leases are held until their results are stored.
        for outcome in outcomes:
            del self.leases[outcome.ticket]

    def _next_in_line(self, outcomes: list[Outcome]) -> list[Lease]:
        """The jobs that workers have begun, now that they have finished others."""
        for outcome in outcomes:
            if outcome.ticket in self._queues[outcome.worker]:
                self._queues[outcome.worker].remove(outcome.ticket)
        queues = [self._queues[worker] for worker in dict.fromkeys(one.worker for one in outcomes)]
        return [self.leases[queue[0]] for queue in queues if queue]

    def _complete(
        self,
        completions: list[tuple[Lease, Rows]],
        time_use: dict[int, dict[str, Any]],
        begun: list[Lease],
    ) -> list[bool]:
        """Store results, and return which are stored."""
        ours = self.store.complete_many(completions, time_use, begun)
        if all(ours):
            return ours
        # A connection that breaks during a commit leaves open whether it took place.
        stored = self.store.completed(lease for lease, _ in completions)
        return [kept or lease.job_id in stored for kept, (lease, _) in zip(ours, completions, strict=True)]

    def _cross_off(self, job_id: str) -> None:
        """Record a result, and those of other drivers: the driver that stores the last one sees all."""
        for ids in self._awaited:
            if job_id in ids:
                ids -= self.store.done_ids(ids)
                self._decided |= not ids

    def _fail(self, lease: Lease, failure: Failure) -> None:
        if failure.kind is FailureKind.NOT_BEGUN:
            self.store.release([lease])  # does not count as an attempt
            LOGGER.warning("%s %s %s: %s", lease.kind, lease.job_id[:12], failure.kind, failure.text)
            return
        self.summary.failed_attempts += 1
        retry = failure.kind is not FailureKind.INVALID
        adjustment = _smaller_batches(lease) if failure.kind is FailureKind.OUT_OF_MEMORY else None
        if failure.kind is FailureKind.OUT_OF_MEMORY and adjustment is None:
            retry = False  # batches of one are as small as they get
        state = self.store.fail(lease, f"{failure.kind}: {failure.text}", retry=retry, adjustment=adjustment)
        LOGGER.warning(
            "%s %s %s, now %s: %s", lease.kind, lease.job_id[:12], failure.kind, state, failure.text
        )

    def _open_jobs(self) -> int:
        return sum(progress.open for progress in self.store.progress(self.run_id))

    def _conclude(self, plan: Plan) -> Summary:
        progress = self.store.progress(self.run_id)
        self.report(progress)
        self.summary.stopped = self.stop.requested
        self.summary.failed = sum(counts.failed for counts in progress)
        self.summary.blocked = sum(counts.blocked for counts in progress)
        self.summary.unresolved = list(dict.fromkeys(case.resolution_name for case in plan.awaiting))
        self.summary.unresolvable = [f"{name}: {reason}" for name, reason in plan.unresolvable.items()]
        return self.summary


def _ticket(lease: Lease) -> str:
    return f"{lease.job_id}:{lease.attempt}"


def _smaller_batches(lease: Lease) -> dict[str, int] | None:
    """Half the batch size of the attempt that ran out of memory; None when it cannot be halved."""
    size = (lease.adjustment or {}).get("batch_size") or lease.parse().planned_batch_size
    return {"batch_size": size // 2} if isinstance(size, int) and size > 1 else None


def _model_mismatch(spec: JobSpec[Any], answer: Answer[Any]) -> str | None:
    """An error sentence if the worker's model is not the job's model."""
    expected = spec.working_model
    if answer.model is None or expected is None or expected.weights == answer.model.weight_fingerprint:
        return None
    return (
        f"the weights of {answer.model.name} must be the same on all machines; the worker has "
        f"{answer.model.weight_fingerprint}, the plan {expected.weights}. Pin the revision or copy the files."
    )
