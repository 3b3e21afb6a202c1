"""The search for jobs whose message or worker was lost (RULE 1).

Called by the observer's sweep; sends their messages again, and does no job itself.
"""

from __future__ import annotations

import logging
from datetime import datetime

from heat_convergence.convergence.lifecycle.outgoing_messages import batches
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.stacks.contained_bus import ContainedBus

LOG = logging.getLogger(__name__)


class LostJobs:
    """The lost jobs of all stacks."""

    def __init__(self, store: Store, bus: ContainedBus, settings: ConvergenceSettings) -> None:
        self._store = store
        self._bus = bus
        self._settings = settings

    def post_again(self, now: datetime, posted_before: datetime) -> None:
        """Post all lost jobs again; those that were taken are not lost any more.

        Args:
            now: the time.
            posted_before: the time before which a job was posted that nobody has claimed.
        """
        while self._post_some(now, posted_before) == self._settings.sweep_limit:
            pass

    def _post_some(self, now: datetime, posted_before: datetime) -> int:
        """Post at most ``sweep_limit`` lost jobs again; return how many."""
        jobs = self._store.sweeps.take_lost_jobs(now, posted_before, self._settings.sweep_limit)
        lost: dict[tuple[str, int], list[str]] = {}
        for job in jobs:
            lost.setdefault((job.stack_id, job.version), []).append(job.resource_id)
        for (stack_id, version), ids in sorted(lost.items()):
            LOG.info(
                "lost jobs posted again: stack=%(stack)s version=%(version)s jobs=%(jobs)s",
                {"stack": stack_id, "version": version, "jobs": len(ids)},
            )
            for batch in batches(ids, self._settings.batch_size):
                self._bus.converge([ResourceHint(stack_id, version, batch)])
        return len(jobs)
