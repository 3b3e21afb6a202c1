"""Fault points: wrappers of the store and the cloud that inject faults into a process.

Used by the simulated processes.  At each commit and each call, time may pass, an error
may be returned, or the process may be killed before or after the effect.  The code
under test cannot distinguish the wrappers from a real database and a real cloud.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from heat_convergence.clients.circuit_breaker import CircuitBreakers, Endpoint, FailureScope
from heat_convergence.common import errors
from heat_convergence.common.evaluation.deferred_evaluation import EvaluationRequired
from heat_convergence.common.failures import (
    ConcurrentTransaction,
    Conflict,
    OverQuota,
    ResourceFailure,
    TemporaryFailure,
    Throttled,
    Unavailable,
)
from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.observation import WatchGroup, WatchResult
from heat_convergence.convergence.drift.repository import WatchRepository
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import JobRef
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.leases import LeaseRepository, UnblockedResources
from heat_convergence.convergence.ports.store import (
    Store,
    SweepRepository,
    Transaction,
    WorkerRepository,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.testing.simulation.process import SimulatedProcess

Result = TypeVar("Result")
_CALL_TIMEOUT_S = 5.0
_ERRORS: dict[str, Callable[[], errors.Error]] = {
    "throttled": lambda: Throttled("too many requests", retry_after_s=3.0),
    "conflict": lambda: Conflict("another operation is under way"),
    "over-quota": lambda: OverQuota("no more of these"),
    "temporary": lambda: TemporaryFailure("the service is unavailable"),
    "permanent": lambda: ResourceFailure("the service refuses"),
    "timeout-after": lambda: TemporaryFailure("no answer in time"),
    "lost-reply": lambda: TemporaryFailure("the connection was closed"),
}
_AFTER = ("timeout-after", "lost-reply", "crash-after")


class FaultInjectingLeases(LeaseRepository):
    """Leases where another worker may have locked some rows."""

    def __init__(self, inner: LeaseRepository, process: SimulatedProcess) -> None:
        self._inner = inner
        self._process = process
        self._fault: str | None = None
        self._is_fault_drawn = False

    def get_unblocked(self, ids: Mapping[str, Collection[str]]) -> UnblockedResources:
        """Read rows as the store does."""
        return self._inner.get_unblocked(ids)

    def claim_unchanged(
        self, row: Resource, transition: JobTransition, columns: Mapping[str, object]
    ) -> bool:
        """Claim a row, at a fault not, as if another worker had just claimed it."""
        if self._is_skipped():
            return False
        return self._inner.claim_unchanged(row, transition, columns)

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock rows, at a fault without the first, as if it were locked already."""
        rows = self._inner.lock_claimable(ids)
        return rows[1:] if rows and self._is_skipped() else rows

    def _is_skipped(self) -> bool:
        """Return whether a row is locked: there is one fault for each transaction."""
        if not self._is_fault_drawn:
            self._fault, self._is_fault_drawn = self._process.next_fault("claim"), True
        return self._fault == "skip"

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock rows, and count how often some were leased to another worker meanwhile."""
        held = self._inner.lock_held(ids, token)
        if len(held) < len(set(ids)):
            self._process.simulation.occurrences["lease lost"] += 1
        return held


class _Wrapper:
    """An object with the attributes of another, each of which is looked up there once."""

    def __init__(self, wrapped: object) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        setattr(self, name, value)
        return value


class FaultInjectingTransaction(_Wrapper):
    """A transaction of one process, whose leases are fault points."""

    def __init__(self, inner: Transaction, process: SimulatedProcess) -> None:
        super().__init__(inner)
        self.leases = FaultInjectingLeases(inner.leases, process)


class FaultInjectingStore:
    """The store of one process, whose commits are fault points."""

    def __init__(self, inner: Store, process: SimulatedProcess) -> None:
        self._inner = inner
        self._process = process
        self.sweeps = FaultInjectingSweeps(self, inner.sweeps)
        self.workers = FaultInjectingWorkers(self, inner.workers)
        self.watch = FaultInjectingWrites(self, inner.watch)
        self.repairs = FaultInjectingWrites(self, inner.repairs)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction whose commit may fail, or after which the process may end.

        A transaction that needs an evaluation was only a read.
        """
        process = self._process
        try:
            with self._inner.transaction() as tx:
                yield FaultInjectingTransaction(tx, process)
                fault = self._before_commit()
        except EvaluationRequired:
            self._after_read(process.next_fault("read"))
            raise
        self._after_commit(fault)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction for reading, after which the process may end.

        At a fault it takes long to evaluate what was read, and rows change meanwhile.
        """
        process = self._process
        fault = process.next_fault("read")
        if fault == "unavailable":
            raise Unavailable("the connection was lost")
        with self._inner.read() as tx:
            yield tx
        self._after_read(fault)

    def _after_read(self, fault: str | None) -> None:
        if fault == "crash-after":
            self._process.crash()
        if fault == "slow":
            self._process.pause_randomly(0.002, 5.0)

    def _before_commit(self) -> str | None:
        fault = self._process.next_fault("commit")
        if fault == "crash-before":
            self._process.crash()
        if fault == "deadlock":
            raise ConcurrentTransaction("deadlock found")
        if fault == "unavailable":
            raise Unavailable("the connection was lost")
        return fault

    def _after_commit(self, fault: str | None) -> None:
        self._process.on_commit()
        if fault == "crash-after":
            self._process.crash()
        self._process.pause_randomly(0.002, 0.3)

    def check_reads(self, watch: WatchRepository, result: WatchResult) -> None:
        """Check the age of what the watch has recorded."""
        simulation = self._process.simulation
        simulation.invariant_checker.violations.extend(
            simulation.read_ages.find_old(watch, result)
        )

    def commit(self, method: Callable[..., Result], *args: Any) -> Result:
        """Call a method that is a transaction of its own, whose commit may fail."""
        fault = self._before_commit()
        result = method(*args)
        self._process.on_commit()
        if fault == "crash-after":
            self._process.crash()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class FaultInjectingSweeps(_Wrapper):
    """The sweeps of one process; those that write commit at a fault point."""

    def __init__(self, store: FaultInjectingStore, inner: SweepRepository) -> None:
        super().__init__(inner)
        self._store = store
        self._inner = inner

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """Take lost jobs as the store does."""
        return self._store.commit(self._inner.take_lost_jobs, now, posted_before, limit)

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Take due observations as the store does."""
        return self._store.commit(self._inner.take_due_observations, now, until, limit)

    def advance_observations(self, hints: ChangeHints, now: datetime, limit: int) -> int:
        """Advance observations as the store does."""
        return self._store.commit(self._inner.advance_observations, hints, now, limit)

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        """Take snapshots as the store does."""
        return self._store.commit(self._inner.take_snapshots_to_delete, now, until, limit)


class FaultInjectingWorkers(WorkerRepository):
    """The worker records of one process, whose commits are fault points."""

    def __init__(self, store: FaultInjectingStore, inner: WorkerRepository) -> None:
        self._store = store
        self._inner = inner

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        """Extend leases as the store does."""
        return self._store.commit(self._inner.renew_leases, owner, tokens, until)

    def take_jobs_of_ended(
        self, owners: Collection[str], now: datetime, limit: int
    ) -> list[JobRef]:
        """Take the jobs of ended workers as the store does."""
        return self._store.commit(self._inner.take_jobs_of_ended, owners, now, limit)

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        """Record a heartbeat as the store does."""
        self._store.commit(self._inner.record_heartbeat, service, now)

    def remove_worker(self, worker_id: str) -> None:
        """Remove a record as the store does."""
        self._store.commit(self._inner.remove_worker, worker_id)


class FaultInjectingWrites:
    """A repository of the watch or of repairs, whose writes commit at a fault point."""

    _WRITES = frozenset({"add_groups", "take_due_groups", "record", "grant", "undo"})

    def __init__(self, store: FaultInjectingStore, inner: Any) -> None:
        self._store = store
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._WRITES:
            return method

        if name == "record":
            method = partial(self._record, method)
        return partial(self._store.commit, method)

    def _record(self, method: Callable[..., int], group: WatchGroup, result: WatchResult) -> int:
        """Record what the watch has read, and check how old it is."""
        count = method(group, result)
        self._store.check_reads(self._inner, result)
        return count


class FaultInjectingCalls:
    """``resource_types.CallInterceptor`` for the calls of one process."""

    def __init__(self, process: SimulatedProcess) -> None:
        self._process = process
        self._breakers = CircuitBreakers(now_s=lambda: process.elapsed_s)

    def before_call(self, action: Action, view: ResourceContext) -> None:
        """Let time pass before the effect of a call; kill the process or raise an error."""
        process = self._process
        self._call_service(view)
        process.on_call(action, view)
        fault = process.next_fault("call", f"{view.name} {action.lower()}")
        if fault == "crash-before":
            process.crash()
        started_s = process.elapsed_s
        process.pause_randomly(0.01, 2.0)
        if process.elapsed_s - started_s > _CALL_TIMEOUT_S:
            raise self._error("temporary", view)
        if fault in _ERRORS and fault not in _AFTER:
            raise self._error(fault, view)
        process.current_task.pending_fault = fault

    def after_call(self, action: Action, view: ResourceContext) -> None:
        """Let time pass after the effect of a call; kill the process or raise an error."""
        task = self._process.current_task
        fault, task.pending_fault = task.pending_fault, None
        self._process.simulation.read_ages.note_change(view, self._process.elapsed_s)
        if fault == "crash-after":
            self._process.crash()
        self._process.pause_randomly(0.01, 0.5)
        if fault in _ERRORS:
            raise self._error(fault, view)

    def before_observe(self, views: Sequence[ResourceContext]) -> None:
        """Let time pass before a read; raise an error."""
        self._call_service(views[0])
        fault = self._process.next_fault("observe", " ".join(view.name for view in views))
        self._process.pause_randomly(0.01, 0.5)
        if fault is not None:
            raise _ERRORS[fault]()
        self._process.simulation.read_ages.note_read(views, self._process.elapsed_s)

    def answered(self, results: Mapping[str, VerbResult]) -> Mapping[str, VerbResult]:
        """Return the results; at a fault the answer comes late."""
        if self._process.next_fault("answer") == "late":
            self._process.pause_randomly(5.0, 40.0)
        return results

    def _call_service(self, view: ResourceContext) -> None:
        """Pass the circuit breaker of the resource's service, which may be out of order."""
        process = self._process
        outage = process.simulation.outages.by_type.get(view.type)
        with self._breakers.attempt(Endpoint(view.type, "", view.project_id)) as attempt:
            if outage is None:
                attempt.succeed()
                return
            outage.call_times.setdefault(process.name, []).append(process.elapsed_s)
            process.wait(outage.answer_s)
            error = TemporaryFailure("the service fails", retry_after_s=outage.retry_after_s)
            attempt.fail(FailureScope.ENDPOINT, error)
            process.simulation.record_failed_call(view, error)
            raise error

    def work_duration_s(self, action: Action, view: ResourceContext) -> float:
        """Return how long the cloud takes for the action."""
        return self._process.simulation.work_duration_s(action, view.name)

    def provision_fault(self, view: ResourceContext) -> str | None:
        """Return how the creation of an object goes wrong, if it does."""
        fault = self._process.next_fault("provision", view.name)
        if fault is not None:
            self._process.simulation.expect_failure(view.stack_id, f"{view.name} came up {fault}")
        return fault

    def note_signal_wait(self, view: ResourceContext) -> None:
        """Note that a stack may fail because a signal does not arrive."""
        self._process.simulation.expect_failure(view.stack_id, f"{view.name} waits for a signal")

    @contextmanager
    def record_failures(self, view: ResourceContext) -> Iterator[None]:
        """Note errors raised by the cloud itself, which may explain a failed stack."""
        try:
            yield
        except errors.Error as error:
            self._process.simulation.record_failed_call(view, error)
            raise

    def _error(self, fault: str, view: ResourceContext) -> errors.Error:
        error = _ERRORS[fault]()
        self._process.simulation.record_failed_call(view, error)
        return error
