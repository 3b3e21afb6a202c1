"""Metrics that are counted in the database: jobs, stacks and the age of the oldest job.

Served by observers. They are the same in every process; queries and alerts take the maximum.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from heat_convergence.common import errors
from heat_convergence.common.clock import Clock
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import workload

LOG = logging.getLogger(__name__)
CACHE_S = 10.0


class DatabaseCollector(Collector):
    """The collector of one process.

    Args:
        database: The database.
        clock: The wall clock.
        monotonic: Clock of the cache: scrapers that come more often get the same values.
    """

    def __init__(
        self, database: Database, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._metrics: list[Metric] = []
        self._read_at_s = float("-inf")

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering reads nothing."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, read at most once in ``CACHE_S`` seconds."""
        with self._lock:
            if self._monotonic() - self._read_at_s >= CACHE_S:
                self._metrics = self._read()
                self._read_at_s = self._monotonic()
            return list(self._metrics)

    def _read(self) -> list[Metric]:
        up = GaugeMetricFamily("heat_convergence_database_up", "1 if the database answers.")
        try:
            with self._database.read() as connection:
                found = workload.summarize(connection)
        except errors.Error as error:
            LOG.warning("metrics not read: error=%(error)s", {"error": error.log_text})
            up.add_metric((), 0)
            return [up]
        up.add_metric((), 1)
        return [up, _jobs(found), _stacks(found), self._oldest(found)]

    def _oldest(self, found: workload.WorkloadSummary) -> Metric:
        metric = GaugeMetricFamily(
            "heat_convergence_oldest_ready_job_seconds",
            "Age of the oldest job that is ready and that no worker has claimed; 0 without one.",
        )
        oldest = found.oldest_ready_at
        age_s = 0.0 if oldest is None else (self._clock() - oldest).total_seconds()
        metric.add_metric((), max(age_s, 0.0))
        return metric


def _jobs(found: workload.WorkloadSummary) -> Metric:
    metric = GaugeMetricFamily(
        "heat_convergence_jobs",
        "Jobs of stacks in progress by state and resource type.",
        labels=("state", "type"),
    )
    for (state, resource_type), count in sorted(found.jobs.items()):
        metric.add_metric((state, resource_type), count)
    return metric


def _stacks(found: workload.WorkloadSummary) -> Metric:
    metric = GaugeMetricFamily(
        "heat_convergence_stacks",
        "Stacks that are not deleted, nested ones included, by action and status.",
        labels=("action", "status"),
    )
    for (action, status), count in sorted(found.stacks.items()):
        metric.add_metric((action, status), count)
    return metric
