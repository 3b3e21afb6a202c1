"""The numbers that the algorithm works with.

The daemons fill them from their options; tests and the simulator choose their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from heat_convergence.convergence.drift.settings import DriftSettings
from heat_convergence.convergence.quarantine.entry import QuarantineSettings

_MAX_DOUBLINGS = 60  # more would exceed what a float can hold


@dataclass(frozen=True, slots=True)
class ConvergenceSettings:
    """Limits and intervals of traversals, the same for all daemons."""

    batch_size: int = 50  # jobs in a message
    jobs_in_flight: int = 200  # per stack
    jobs_on_bus: int = 100  # per project: posted, and not yet claimed by a worker
    jobs_in_hand: int = 400  # per project: on the bus or claimed by workers
    retry_limit: int = 5  # tries of one resource in one traversal
    retry_backoff_s: float = 1.0  # doubled at each try
    retry_backoff_max_s: float = 60.0
    preparation_s: float = 0.2  # of the jobs of a message, before the rest is sent again
    lease_s: float = 10.0
    max_job_takeovers: int = 3  # of one job in one traversal; the next one fails its resource
    repost_after_s: float = 6.0  # a posted job that nobody claimed is posted again
    error_wait_s: float = 240.0  # how long siblings of a failed resource may take
    action_timeout_s: float = 3600.0
    observation_limit_s: float = 30.0  # of all requests of one observation
    sweep_interval_s: float = 3.0
    sweep_limit: int = 500
    watch_interval_s: float = 15.0  # between reads of a group that has changed; 0: no watch
    watch_interval_max_s: float = 60.0  # of a group in which nothing changes
    watch_groups_limit: int = 100  # groups whose reads start together
    drift: DriftSettings = field(default_factory=DriftSettings)
    quarantine: QuarantineSettings = field(default_factory=QuarantineSettings)

    def backoff_s(self, tries: int, requested_s: float | None = None) -> float:
        """Return how long to wait before the next try.

        Args:
            tries: failed tries so far.
            requested_s: the shortest wait that the service requested, if it did.
        """
        own_s: float = self.retry_backoff_s * 2 ** min(tries, _MAX_DOUBLINGS)
        return min(max(own_s, requested_s or 0.0), self.retry_backoff_max_s)
