"""The takeover of jobs whose worker process has certainly ended.

Called by the workers of a host that notice the end, long before the leases expire.  A job whose
message is lost here is found by the sweep (RULE 1).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

from heat_convergence.common import metrics
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, send_messages
from heat_convergence.convergence.model.job import JobRef
from heat_convergence.engine.preparation_journal import PreparedJobs
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import DaemonServices

LOG = logging.getLogger(__name__)


def take_over_jobs(
    services: DaemonServices,
    ended_worker_ids: Collection[str],
    prepared: Sequence[PreparedJobs] = (),
) -> int:
    """Post the jobs of ended workers again, some at a time.

    These are the jobs that the workers had claimed, and those of messages that they had taken
    off the bus; since nobody knows which, every posted job is sent once more.

    Args:
        services: The services of this daemon.
        ended_worker_ids: The workers.
        prepared: The jobs without a lease that they prepared when they ended.

    Returns:
        The number of jobs.
    """
    limit, taken = services.settings.sweep_limit, 0

    def take_leased(now: datetime) -> list[JobRef]:
        return services.store.workers.take_jobs_of_ended(ended_worker_ids, now, limit)

    def take_posted(now: datetime) -> list[JobRef]:
        return services.store.sweeps.take_lost_jobs(now, began, limit)

    if prepared:
        retry_transaction(partial(_count_takeovers, services, prepared), wait=services.wait)
    began = services.clock()
    for take in (take_leased, take_posted):
        while True:
            jobs = retry_transaction(partial(take, services.clock()), wait=services.wait)
            _post(services, jobs)
            taken += len(jobs)
            if len(jobs) < limit:
                break
    metrics.TAKEOVERS.inc(taken)
    LOG.info(
        "jobs of ended workers posted again: workers=%(workers)s jobs=%(jobs)s",
        {"workers": ",".join(sorted(ended_worker_ids)), "jobs": taken},
    )
    return taken


def _count_takeovers(services: DaemonServices, prepared: Sequence[PreparedJobs]) -> None:
    """Count that a worker has ended over the jobs; those with a lease are counted later."""
    with services.store.transaction() as tx:
        for version, ids in sorted(prepared):
            tx.graph.count_takeovers(version, ids)


def _post(services: DaemonServices, jobs: Sequence[JobRef]) -> None:
    by_traversal: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        by_traversal.setdefault((job.stack_id, job.version), []).append(job.resource_id)
    messages = [OutgoingMessage(*key, tuple(ids)) for key, ids in sorted(by_traversal.items())]
    # RULE 11: a message that cannot be sent ends no other's takeover; a sweep repeats it.
    send_messages(ContainedBus(services.bus, services.errors), messages, services.settings)
