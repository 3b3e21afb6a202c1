"""The entry of a worker process in the list of services: written regularly, removed at its end.

Called by the workers of all daemons. A worker that is killed leaves its entry, which the list
shows as down.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.cli.clock_watch import ClockWatch
from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.config import package_version
from heat_convergence.common import errors
from heat_convergence.convergence.model.service_record import ServiceRecord

LOG = logging.getLogger(__name__)


EndpointStates = Mapping[str, Sequence[Mapping[str, Any]]]


class Heartbeat:
    """The entry of one worker process.

    Args:
        components: The components of the process.
        binary: Name of the daemon.
        topic: Topic of its messages, or the name of what it serves.
        worker_id: Unique id of the worker.
        monotonic: Clock of the interval, which no change of the wall clock moves.
    """

    def __init__(
        self,
        components: ProcessComponents,
        binary: str,
        topic: str,
        worker_id: str,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        conf = components.conf
        self._components = components
        self._monotonic = monotonic
        self._clock_watch = ClockWatch(components.clock, monotonic)
        self._next_s = monotonic()
        self._reported: frozenset[tuple[str, ...]] = frozenset()
        self._record = ServiceRecord(
            id=worker_id,
            binary=binary,
            hostname=conf.host,
            host=conf.host,
            topic=topic,
            report_interval_s=conf.periodic_interval,
            created_at=components.clock(),
            version=package_version(),
        )

    def write_if_due(self) -> None:
        """Write a heartbeat if it is time, and watch the clock.

        It is time when the interval since the last one has passed, or the process has begun or
        ceased to leave a service alone or to find it slow.

        Raises:
            Error: The database cannot be written to; the next call tries again.
        """
        self._clock_watch.check()
        states = self._endpoint_states()
        named = _names_of(states)
        if self._monotonic() < self._next_s and named == self._reported:
            return
        workers = self._components.store.workers
        workers.record_heartbeat(
            replace(self._record, endpoint_states=states), self._components.clock()
        )
        self._reported = named
        self._next_s = self._monotonic() + self._record.report_interval_s

    def _endpoint_states(self) -> EndpointStates:
        clouds = self._components.cloud_cache
        return {} if clouds is None else clouds.breakers.report()

    def remove(self) -> None:
        """Remove the entry; if the database does not answer, the entry remains."""
        try:
            self._components.store.workers.remove_worker(self._record.id)
        except errors.Error as error:
            LOG.warning(
                "worker remains in the list of services: worker=%(worker)s error=%(error)s",
                {"worker": self._record.id, "error": error.log_text},
            )


def _names_of(states: EndpointStates) -> frozenset[tuple[str, ...]]:
    """Return what is in which state, without numbers, which change all the time."""
    keys = ("service", "region", "project_id")
    return frozenset(
        (state, *(str(each[key]) for key in keys))
        for state, listed in states.items()
        for each in listed
    )
