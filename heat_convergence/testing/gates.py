"""Where the world takes hold of the code under test: its store, and its calls.

Used by ``testing.processes``.  At each commit and each call time may pass, an error
may come back, or the process may end, before or after.  The code under test cannot
tell these from a real database and a real cloud.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from heat_convergence.common import errors
from heat_convergence.convergence.model import Action, Resource, SavedStack, Service
from heat_convergence.convergence.ports import Store, Sweepable, Transaction
from heat_convergence.resources.plugin import View

if TYPE_CHECKING:
    from heat_convergence.testing.processes import Process

_CALL_TIMEOUT_S = 5.0
_ERRORS: dict[str, Callable[[], errors.Error]] = {
    "throttled": lambda: errors.Throttled("too many requests", after_s=3.0),
    "conflict": lambda: errors.Conflict("another operation is under way"),
    "over-quota": lambda: errors.OverQuota("no more of these"),
    "temporary": lambda: errors.TemporaryFailure("the service is unavailable"),
    "permanent": lambda: errors.ResourceFailure("the service refuses"),
    "timeout-after": lambda: errors.TemporaryFailure("no answer in time"),
    "lost-reply": lambda: errors.TemporaryFailure("the connection was closed"),
}
_AFTER = ("timeout-after", "lost-reply", "crash-after")


class GatedTransaction:
    """A transaction in which some rows may be held by somebody else."""

    def __init__(self, inner: Transaction, process: Process) -> None:
        self._inner = inner
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def claimable(self, ids: Collection[str]) -> list[Resource]:
        rows = self._inner.claimable(ids)
        if rows and self._process.strike("claim") == "skip":
            return rows[1:]
        return rows

    def lock_leased(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        held = self._inner.lock_leased(ids, token)
        if len(held) < len(set(ids)):
            self._process.world.happened["swap lost"] += 1
        return held


class GatedStore:
    """A store as one process sees it."""

    def __init__(self, inner: Store, process: Process) -> None:
        self._inner = inner
        self._process = process

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        process = self._process
        with self._inner.transaction() as tx:
            yield GatedTransaction(tx, process)  # type: ignore[misc]
            fault = self._before_commit()
        self._after_commit(fault)

    def _before_commit(self) -> str | None:
        fault = self._process.strike("commit")
        if fault == "crash-before":
            self._process.crash()
        if fault == "deadlock":
            raise errors.ConcurrentTransaction("deadlock found")
        if fault == "unavailable":
            raise errors.Unavailable("the connection was lost")
        return fault

    def _after_commit(self, fault: str | None) -> None:
        self._process.committed()
        if fault == "crash-after":
            self._process.crash()
        self._process.rest(0.002, 0.3)

    @contextmanager
    def _whole(self) -> Iterator[Store]:
        """Around a verb that is a transaction by itself."""
        fault = self._before_commit()
        yield self._inner
        self._process.committed()
        if fault == "crash-after":
            self._process.crash()

    def lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[Sweepable]:
        with self._whole() as store:
            return store.lost_jobs(now, posted_before, limit)

    def due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        with self._whole() as store:
            return store.due_observations(now, until, limit)

    def doomed_snapshots(
        self, now: datetime, until: datetime, limit: int
    ) -> list[SavedStack]:
        with self._whole() as store:
            return store.doomed_snapshots(now, until, limit)

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        with self._whole() as store:
            return store.renew_leases(owner, tokens, until)

    def beat(self, service: Service, now: datetime) -> None:
        with self._whole() as store:
            store.beat(service, now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class CallGate:
    """``testing.types.Gate`` for the calls of one process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def before(self, verb: Action, view: View) -> None:
        process = self._process
        process.calling(verb, view)
        fault = process.strike("call", f"{view.name} {verb.lower()}")
        if fault == "crash-before":
            process.crash()
        began_s = process.at_s
        process.rest(0.01, 2.0)
        if process.at_s - began_s > _CALL_TIMEOUT_S:
            raise self._error("temporary", view)
        if fault in _ERRORS and fault not in _AFTER:
            raise self._error(fault, view)
        process.work_now.pending = fault

    def after(self, verb: Action, view: View) -> None:
        fault, self._process.work_now.pending = self._process.work_now.pending, None
        if fault == "crash-after":
            self._process.crash()
        self._process.rest(0.01, 0.5)
        if fault in _ERRORS:
            raise self._error(fault, view)

    def looking(self, views: Sequence[View]) -> None:
        fault = self._process.strike("look", " ".join(view.name for view in views))
        self._process.rest(0.01, 0.5)
        if fault is not None:
            raise _ERRORS[fault]()

    def takes_s(self, verb: Action, view: View) -> float:
        return self._process.world.takes_s(verb, view.name)

    def birth(self, view: View) -> str | None:
        fault = self._process.strike("birth", view.name)
        if fault is not None:
            self._process.world.excuse(view.stack_id, f"{view.name} came up {fault}")
        return fault

    def waiting(self, view: View) -> None:
        self._process.world.excuse(view.stack_id, f"{view.name} waits for a signal")

    @contextmanager
    def noted(self, view: View) -> Iterator[None]:
        """Around the cloud's own refusals, which may explain a failure."""
        try:
            yield
        except errors.Error as error:
            self._process.world.failed_call(view, error)
            raise

    def _error(self, fault: str, view: View) -> errors.Error:
        error = _ERRORS[fault]()
        self._process.world.failed_call(view, error)
        return error


