"""Periodic tasks of an observer process: revoking credentials and housekeeping.

Run by ``workers`` in a thread of its own, since Keystone may be slow and a purge takes many
transactions. Several processes may run the same task at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.common import errors
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.ids import build_uuid7
from heat_convergence.common.time_limit import time_limit
from heat_convergence.db.maintenance import purge
from heat_convergence.db.statements import events

LOG = logging.getLogger(__name__)
MAX_STACKS_PER_RUN = 100  # stacks whose events one run purges
MAX_CREDENTIALS_PER_RUN = 500  # credentials that one run revokes
MAX_DELETED_STACKS_PER_RUN = 200  # deleted stacks that one run purges
STACKS_PER_TRANSACTION = 20
MAX_PLANS_PER_RUN = 500  # expired plans that one run deletes
PLANS_PER_TRANSACTION = 50
CONTENT_PURGE_INTERVAL_S = 86_400.0  # it reads the references of all goals and resources
EVENT_COUNT_INTERVAL_S = 86_400.0  # between counts of the events of all stacks
EVENT_OVERLAP = timedelta(minutes=1)  # longest time from an event's id to its commit
MAX_REVOCATION_S = 60.0  # after which a run begins no further revocation


class PeriodicTasks:
    """The periodic tasks of one process.

    Args:
        components: The components of the process.
        is_stopping: Function that returns whether to stop early.
        monotonic: Clock of the tasks that run once a day.
    """

    def __init__(
        self,
        components: ProcessComponents,
        is_stopping: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._components = components
        self._is_stopping = is_stopping
        self._monotonic = monotonic
        self._contents_purged_at_s = float("-inf")
        self._has_unused_contents = False
        self._events_counted_at: datetime | None = None
        self._all_events_counted_at_s = float("-inf")

    def run_all(self) -> None:
        """Run every task once. Never raises: a failed task is logged and runs again later."""
        boundary = ErrorBoundary(BoundaryName.PERIODIC_TASK, self._components.errors)
        for task in (
            self.revoke_orphaned_credentials,
            self.purge_events,
            self.purge_deleted_stacks,
            self.purge_contents,
            self.purge_plans,
            self.remove_ended_workers,
        ):
            if self._is_stopping():
                return
            boundary.contain(partial(self._run, task))

    def _run(self, task: Callable[[], object]) -> None:
        try:
            task()
        except errors.Error as error:
            LOG.warning(
                "periodic task aborted, retried later: task=%(task)s error=%(error)s",
                {"task": task.__name__, "error": error},
            )

    def revoke_orphaned_credentials(self) -> int:
        """Revoke the credentials of deleted stacks.

        Returns:
            The number of revoked credentials.
        """
        delegation = self._components.delegation
        if delegation is None:
            return 0
        with time_limit(MAX_REVOCATION_S):
            return delegation.revoke_orphaned(self._components.clock(), MAX_CREDENTIALS_PER_RUN)

    def purge_events(self) -> int:
        """Delete the oldest events of stacks that have too many.

        The first run counts the events of all stacks, and so does one each day, for the events
        of hosts whose clocks are wrong.  The others count those of stacks with new events.

        Returns:
            The number of deleted events.
        """
        conf, now, now_s = self._components.conf, self._components.clock(), self._monotonic()
        limit, batch_size = conf.max_events_per_stack, conf.event_purge_batch_size
        if limit == 0:
            return 0
        counts_all = now_s - self._all_events_counted_at_s >= EVENT_COUNT_INTERVAL_S
        since_id = _first_event_id(None if counts_all else self._events_counted_at)
        with self._components.database.read() as conn:
            found = events.find_stacks_over_limit(conn, limit, MAX_STACKS_PER_RUN, since_id)
        deleted = sum(self._purge(stack_id, limit, batch_size) for stack_id in found)
        if len(found) < MAX_STACKS_PER_RUN and not self._is_stopping():
            self._events_counted_at = now
            if counts_all:
                self._all_events_counted_at_s = now_s
        return deleted

    def purge_deleted_stacks(self) -> int:
        """Delete the rows of stacks that were deleted long ago.

        Returns:
            The number of purged stacks.
        """
        components, days = self._components, self._components.conf.housekeeping.deleted_stacks_days
        if days == 0:
            return 0
        before, purged = components.clock() - timedelta(days=days), 0
        while purged < MAX_DELETED_STACKS_PER_RUN and not self._is_stopping():
            batch = purge.find_deleted_stacks(
                components.database, before, None, STACKS_PER_TRANSACTION
            )
            done = purge.purge_stacks(components.database, batch) if batch else 0
            purged += done
            if done == 0:  # none is left, or another observer purges the same stacks
                break
        self._has_unused_contents = self._has_unused_contents or purged > 0
        return purged

    def purge_contents(self) -> int:
        """Delete templates and files that only purged stacks used, once a day at most.

        Returns:
            The number of deleted texts.
        """
        now_s = self._monotonic()
        if now_s - self._contents_purged_at_s < CONTENT_PURGE_INTERVAL_S:
            return 0
        if not self._has_unused_contents:
            return 0
        deleted = purge.purge_contents(self._components.database)
        self._has_unused_contents, self._contents_purged_at_s = False, now_s
        return deleted

    def purge_plans(self) -> int:
        """Delete stored plans that have expired.

        Returns:
            The number of deleted plans.
        """
        components, purged = self._components, 0
        while purged < MAX_PLANS_PER_RUN and not self._is_stopping():
            done = purge.purge_plans(
                components.database, components.clock(), PLANS_PER_TRANSACTION
            )
            purged += done
            if done == 0:  # none is left, or another observer deletes the same plans
                break
        return purged

    def remove_ended_workers(self) -> int:
        """Remove workers from the list of services that were killed long ago.

        Returns:
            The number of removed workers.
        """
        hours = self._components.conf.housekeeping.ended_workers_hours
        ended_before = self._components.clock() - timedelta(hours=hours)
        return purge.purge_services(self._components.database, ended_before)

    def _purge(self, stack_id: str, limit: int, batch_size: int) -> int:
        deleted = 0
        while not self._is_stopping():
            with self._components.database.write() as conn:
                count = events.delete_oldest(conn, stack_id, limit, batch_size)
            deleted += count
            if count < batch_size:
                break
        return deleted


def _first_event_id(counted_at: datetime | None) -> str:
    """Return the id that events follow which may not have been counted at that time."""
    if counted_at is None:
        return ""
    return build_uuid7(int((counted_at - EVENT_OVERLAP).timestamp() * 1000), 0)
