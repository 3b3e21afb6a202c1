"""Periodic tasks of an observer process: revoking credentials and purging events.

Run by ``workers`` in a thread of its own, since Keystone may be slow and a purge takes many
transactions. Several processes may run the same task at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.common import errors
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.time_limit import time_limit
from heat_convergence.db.statements import events

LOG = logging.getLogger(__name__)
MAX_STACKS_PER_RUN = 100  # stacks whose events one run purges
MAX_CREDENTIALS_PER_RUN = 500  # credentials that one run revokes
MAX_REVOCATION_S = 60.0  # after which a run begins no further revocation


class PeriodicTasks:
    """The periodic tasks of one process.

    Args:
        components: The components of the process.
        is_stopping: Function that returns whether to stop early.
    """

    def __init__(self, components: ProcessComponents, is_stopping: Callable[[], bool]) -> None:
        self._components = components
        self._is_stopping = is_stopping

    def run_all(self) -> None:
        """Run every task once. Never raises: a failed task is logged and runs again later."""
        boundary = ErrorBoundary(BoundaryName.PERIODIC_TASK, self._components.errors)
        for task in (self.revoke_orphaned_credentials, self.purge_events):
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

        Returns:
            The number of deleted events.
        """
        conf = self._components.conf
        limit, batch_size = conf.max_events_per_stack, conf.event_purge_batch_size
        if limit == 0:
            return 0
        with self._components.database.read() as conn:
            found = events.find_stacks_over_limit(conn, limit, MAX_STACKS_PER_RUN)
        return sum(self._purge(stack_id, limit, batch_size) for stack_id in found)

    def _purge(self, stack_id: str, limit: int, batch_size: int) -> int:
        deleted = 0
        while not self._is_stopping():
            with self._components.database.write() as conn:
                count = events.delete_oldest(conn, stack_id, limit, batch_size)
            deleted += count
            if count < batch_size:
                break
        return deleted
