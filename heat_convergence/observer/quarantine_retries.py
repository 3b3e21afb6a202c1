"""The deletion of resources in quarantine, tried again with growing pauses.

Called by the observer's sweep, which starts the calls among its polls; its next round records
what they have deleted. An entry that is taken is not due again before its call has ended or its
time limit has passed, so that one observer at a time acts on a resource (RULE 3).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import InternalError, ResourceGone
from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import send_messages
from heat_convergence.convergence.lifecycle.quarantine.nested_removal import (
    NestedRemoval,
    remove_nested_stack,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import JobStep, has_nested_stack
from heat_convergence.convergence.planning.step_selection import select_removal_step
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.quarantine.entry import QuarantineEntry
from heat_convergence.observer.poll_pool import PollsInProgress
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.resources.protocol.call_groups import call_groups
from heat_convergence.resources.protocol.removal import SnapshotPending, remove_physical
from heat_convergence.resources.protocol.resource_context import (
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import (
    CloudFactory,
    ResourceContext,
    VerbResult,
)
from heat_convergence.resources.redaction import redact_secrets
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.stacks.event_log import EventLog

LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
_STILL_THERE = "It still exists"
_NO_ROW = "Its row was purged: delete it by hand, and dismiss it here"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A deletion that has ended.

    Attributes:
        entry: The entry as it was taken.
        is_removed: Whether the physical resource is gone, or left on purpose.
        reason: Why it is not.
        physical_id: Its id as far as is known now.
    """

    entry: QuarantineEntry
    is_removed: bool
    reason: str = ""
    physical_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """Entries that were due, and what is known of them.

    Attributes:
        blockers: Ids of entries, and of stacks with entries, that some of them wait for.
    """

    entries: Sequence[QuarantineEntry]
    rows: Mapping[str, Resource]
    stacks: Mapping[str, Stack]
    blockers: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRetries:
    """The deletions of one observer.

    Attributes:
        cloud_of: Returns the cloud of a stack tree.
        polls: The calls under way.
        request_round: Makes the observer's next round record results soon.
    """

    services: DaemonServices
    bus: Bus
    cloud_of: CloudFactory
    polls: PollsInProgress
    request_round: Callable[[], None]
    boundary: StackBoundary
    _ended: deque[_Attempt] = field(default_factory=deque)

    def retry_due(self, now: datetime) -> None:
        """Start the deletions that are due, and record those that have ended."""
        taken = self._write(partial(self._take, now=now))
        waiting: list[str] = []
        for entry in taken.entries:
            row, stack = taken.rows.get(entry.resource_id), taken.stacks.get(entry.stack_id)
            if row is None or stack is None:
                self._ended.append(_Attempt(entry, is_removed=False, reason=_NO_ROW))
            elif taken.blockers.intersection(entry.waits_for) or row.lease.is_active(now):
                waiting.append(entry.resource_id)
            else:
                self._start(entry, row, stack, now)
        self._postpone(waiting, now)
        self.record_results(now)

    @property
    def has_results(self) -> bool:
        """Return whether deletions have ended that were not recorded."""
        return bool(self._ended)

    def record_results(self, now: datetime) -> None:
        """Record the deletions that have ended."""
        while self._ended:
            attempt = self._ended.popleft()
            record = partial(self._record, attempt, now)
            self.boundary.run(attempt.entry.stack_id, record)

    def _take(self, tx: Transaction, now: datetime) -> _Taken:
        settings = self.services.settings
        until = now + timedelta(seconds=settings.observation_limit_s + settings.lease_s)
        entries = tx.quarantine.take_due(now, until, settings.sweep_limit)
        if not entries:
            return _Taken((), {}, {}, frozenset())
        rows = tx.resources.get([each.resource_id for each in entries])
        awaited = {key for each in entries for key in each.waits_for}
        return _Taken(
            entries,
            {row.id: row for row in rows},
            tx.stacks.get_many({each.stack_id for each in entries}),
            tx.quarantine.find_blockers({each.root_id for each in entries}, awaited),
        )

    def _postpone(self, ids: Sequence[str], now: datetime) -> None:
        """Look at entries again after a pause; the end of what they wait for wakes them."""
        until = now + timedelta(seconds=self.services.settings.quarantine.pause_s)
        if ids:
            self._write(partial(_postpone, ids=ids, until=until))

    def _start(self, entry: QuarantineEntry, row: Resource, stack: Stack, now: datetime) -> None:
        if has_nested_stack(row):
            start = partial(self._remove_nested, entry, row, now)
        else:
            start = partial(self._remove, entry, row, stack, now)
        error_id = self.boundary.run(entry.stack_id, start)
        if error_id is not None:
            self._ended.append(_failed(entry, InternalError(error_id).message))

    def _remove_nested(self, entry: QuarantineEntry, row: Resource, now: datetime) -> None:
        services, log = self.services, EventLog(self.services.errors)
        context = TraversalContext(now, services.ids, services.settings, report=log.add)

        def remove(tx: Transaction) -> NestedRemoval:
            return remove_nested_stack(tx, row, context)

        removal = self._write(remove)
        log.flush()
        send_messages(self.bus, removal.outgoing_messages, services.settings)
        if removal.is_removed:
            self._ended.append(_Attempt(entry, is_removed=True))
        else:
            self._postpone([entry.resource_id], now)

    def _remove(self, entry: QuarantineEntry, row: Resource, stack: Stack, now: datetime) -> None:
        resource_type = self.services.registry.get_for_job(row.desired.implementation)
        inputs = VerbInputs(
            properties=readable_or_empty(row.physical.properties),
            cloud=self.cloud_of(stack.tree_id),
        )
        context = build_context(row, stack, Action.DELETE, now, inputs)
        context = with_name_limit(context, resource_type.physical_name_limit)
        work = partial(self._call, entry, row, resource_type, context)
        groups = call_groups(resource_type, context)
        self.polls.start(("quarantine", entry.resource_id), groups, work)

    def _call(
        self,
        entry: QuarantineEntry,
        row: Resource,
        resource_type: ResourceType,
        context: ResourceContext,
    ) -> None:
        """Delete the physical resource, perhaps in another thread."""

        def delete() -> None:
            result = _delete(select_removal_step(row), resource_type, context)
            is_removed = result.observed is ObservedState.ABSENT
            reason = redact_secrets(result.reason or _STILL_THERE, row, resource_type)
            known = result.physical_id or row.physical.id
            self._ended.append(_Attempt(entry, is_removed, reason, known))

        error_id = self.boundary.run(entry.stack_id, delete)
        if error_id is not None:
            self._ended.append(_failed(entry, InternalError(error_id).message))
        self.request_round()

    def _record(self, attempt: _Attempt, now: datetime) -> None:
        deleted = self._write(partial(self._write_attempt, attempt=attempt, now=now))
        change = "quarantined resource deleted" if deleted else "quarantined resource not deleted"
        level = logging.INFO if deleted else logging.WARNING
        entry = attempt.entry
        LOG.log(
            level,
            f"{change}: stack=%(stack)s resource=%(resource)s tries=%(tries)s reason=%(reason)s",
            {
                "stack": entry.stack_id,
                "resource": entry.resource_name,
                "tries": entry.tries + 1,
                "reason": attempt.reason,
            },
        )

    def _write_attempt(self, tx: Transaction, attempt: _Attempt, now: datetime) -> bool:
        """Delete the entry with its row, or count the try; return whether it was deleted.

        A user may have dismissed it meanwhile.
        """
        entry = attempt.entry
        if not tx.quarantine.get([entry.resource_id]):
            return False
        if attempt.is_removed:
            tx.quarantine.delete([entry.resource_id])
            tx.resources.delete([entry.resource_id])
            tx.quarantine.wake(entry.root_id, now)
            return True
        tries = entry.tries + 1
        pause = timedelta(seconds=self.services.settings.quarantine.pause_after(tries))
        tx.quarantine.update(
            [entry.resource_id],
            tries=tries,
            reason=attempt.reason,
            next_at=now + pause,
            taken_until=None,
            physical_id=attempt.physical_id,
        )
        return False

    def _write(self, work: Callable[[Transaction], Result]) -> Result:
        def attempt() -> Result:
            with self.services.store.transaction() as tx:
                return work(tx)

        return retry_transaction(attempt, wait=self.services.wait)


def _postpone(tx: Transaction, ids: Sequence[str], until: datetime) -> None:
    tx.quarantine.update(ids, next_at=until, taken_until=None)


def _failed(entry: QuarantineEntry, reason: str) -> _Attempt:
    return _Attempt(entry, is_removed=False, reason=reason, physical_id=entry.physical_id)


def _delete(step: JobStep, resource_type: ResourceType, context: ResourceContext) -> VerbResult:
    try:
        return remove_physical(step, resource_type, context)
    except SnapshotPending as pending:
        return pending.result
    except ResourceGone:
        return VerbResult(ObservedState.ABSENT)
    except Error as error:
        return VerbResult.from_error(error)
