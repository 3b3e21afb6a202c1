"""What an observer's process does now and then beside its work.

Run by ``workers`` in a thread of its own, since Keystone may take its time and a purge
has many transactions.  Every part of it may be done by several processes at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.common import errors
from heat_convergence.db.statements import events

LOG = logging.getLogger(__name__)
MAX_STACKS_PER_RUN = 100  # whose events one round purges
MAX_CREDENTIALS_PER_RUN = 500  # that one round revokes


class PeriodicTasks:
    """``stopping`` tells a round to end early."""

    def __init__(self, parts: ProcessComponents, stopping: Callable[[], bool]) -> None:
        self._parts = parts
        self._stopping = stopping

    def run_all(self) -> None:
        """Never raises: what fails is logged, and tried again next time."""
        for task in (self.revoke_orphaned_credentials, self.purge_events):
            if self._stopping():
                return
            try:
                task()
            except errors.Error as error:
                LOG.warning("%s was cut short: %s", task.__name__, error)
            except Exception:  # the thread's outermost edge
                LOG.exception("%s failed", task.__name__)

    def revoke_orphaned_credentials(self) -> int:
        """Gives back to Keystone what stacks that are gone had; how many of them."""
        delegation = self._parts.delegation
        if delegation is None:
            return 0
        return delegation.revoke_orphaned(self._parts.clock(), MAX_CREDENTIALS_PER_RUN)

    def purge_events(self) -> int:
        """Deletes the oldest events of stacks that have too many; how many."""
        conf = self._parts.conf
        most, batch = conf.max_events_per_stack, conf.event_purge_batch_size
        if most == 0:
            return 0
        with self._parts.database.read() as conn:
            found = events.find_stacks_over_limit(conn, most, MAX_STACKS_PER_RUN)
        return sum(self._purge(stack_id, most, batch) for stack_id in found)

    def _purge(self, stack_id: str, most: int, batch: int) -> int:
        gone = 0
        while not self._stopping():
            with self._parts.database.write() as conn:
                number = events.delete_oldest(conn, stack_id, most, batch)
            gone += number
            if number < batch:
                break
        return gone
