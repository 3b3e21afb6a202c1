"""The way of notifications into the observer: what they are about is read at once.

``receive`` is called by the threads of the listeners, ``tick`` by the observer's loop before it
polls. Nothing depends on either: without them the polls and the watch find the same later
(RULE 1). It must not change anything in the cloud.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from heat_convergence.common import metrics
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.failures import Unavailable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.observation import ReadPause
from heat_convergence.observer.drift_watch import DriftWatch
from heat_convergence.observer.notifications.hint_buffer import HintBuffer, HintLimits
from heat_convergence.observer.notifications.parsing import (
    MalformedNotification,
    find_notification_type,
    parse_notification,
)
from heat_convergence.observer.observer import Observer
from heat_convergence.stacks.daemon_services import DaemonServices

Json = Any
LOG = logging.getLogger(__name__)
_MAX_LOGGED_EVENT_TYPES = 200
_OTHER = "other"


class NotificationReceiver:
    """The notifications that one worker process receives.

    Args:
        services: The services of the observer.
        observer: Polls the resources that wait for an observation.
        watch: Reads the resources of complete stacks.
        request_tick: Called when hints wait.
        limits: The limits of the memory and of the reads.
    """

    def __init__(
        self,
        services: DaemonServices,
        observer: Observer,
        watch: DriftWatch,
        *,
        request_tick: Callable[[], None] = lambda: None,
        limits: HintLimits | None = None,
    ) -> None:
        limits = limits or HintLimits()
        self._services = services
        self._observer = observer
        self._watch = watch
        self._buffer = HintBuffer(limits, request_tick)
        interval = timedelta(seconds=services.settings.watch_interval_s)
        self._pause = ReadPause(limits.types_pause, max(limits.types_pause, interval))
        self._boundary = ErrorBoundary(BoundaryName.MESSAGE, services.errors)
        self._logged_event_types: set[str] = set()
        self._lock = threading.Lock()

    def receive(self, event_type: Json, payload: Json, user_project_id: Json) -> None:
        """Take note of a notification; never raises."""
        self._boundary.contain(partial(self._receive, event_type, payload, user_project_id))

    def _receive(self, event_type: Json, payload: Json, user_project_id: Json) -> None:
        if not isinstance(event_type, str):
            self._drop(_OTHER, "", "its event type is no text")
            return
        found = find_notification_type(event_type)
        if found is None:
            metrics.NOTIFICATIONS.labels(_OTHER, "ignored").inc()
            return
        project_id = user_project_id if isinstance(user_project_id, str) else ""
        try:
            changed = parse_notification(found, payload, project_id)
        except MalformedNotification as error:
            self._drop(found.service, event_type, str(error))
            return
        is_whole = self._buffer.add(changed)
        metrics.NOTIFICATIONS.labels(found.service, "used" if is_whole else "widened").inc()

    def _drop(self, service: str, event_type: str, reason: str) -> None:
        """Count a malformed notification, with one line in the log for each event type."""
        metrics.NOTIFICATIONS.labels(service, "malformed").inc()
        with self._lock:
            if (
                event_type in self._logged_event_types
                or len(self._logged_event_types) >= _MAX_LOGGED_EVENT_TYPES
            ):
                return
            self._logged_event_types.add(event_type)
        LOG.warning(
            "malformed notification dropped, others of its type are only counted:"
            " type=%(type)s error=%(error)s",
            {"type": event_type[:255], "error": reason},
        )

    def tick(self) -> float | None:
        """Make due what the hints are about.

        Returns:
            The seconds until the next hints can be used; None if there are none.
        """
        if self._buffer.is_empty:
            return None
        now = self._services.clock()
        hints = self._buffer.take(now)
        if hints:
            try:
                retry_transaction(partial(self._use, hints, now), wait=self._services.wait)
            except Unavailable as error:
                self._buffer.restore(hints)
                LOG.warning(
                    "notifications not used, database unavailable: error=%(error)s",
                    {"error": error.log_text},
                )
        next_at = self._buffer.get_next_time()
        if next_at is None:
            return None
        return max(0.0, (next_at - self._services.clock()).total_seconds())

    def _use(self, hints: ChangeHints, now: datetime) -> None:
        store, settings = self._services.store, self._services.settings
        if store.sweeps.advance_observations(hints, now, settings.sweep_limit):
            self._observer.expect_poll(now)
        if settings.watch_interval_s and store.watch.advance_groups(hints, now, self._pause):
            self._watch.expect_read()
