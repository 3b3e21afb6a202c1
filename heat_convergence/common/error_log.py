"""The log of unexpected errors, each of which has an id and is logged once in an interval.

Called by error boundaries (RULE 11). Users see the id in a reason, operators find it in the
log. The text of an error is not logged: it may contain a secret.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from heat_convergence.common import metrics
from heat_convergence.common.clock import Clock, utc_now

LOG = logging.getLogger(__name__)
LOG_INTERVAL = timedelta(seconds=60)
_MAX_ERRORS = 1000


@dataclass(frozen=True, slots=True)
class ErrorSubject:
    """The stack and the resource, by id and by name, that an error is about; "" for none."""

    stack_id: str = ""
    resource: str = ""


class ErrorLog:
    """The unexpected errors of a process by their place in the code."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._logged_at: OrderedDict[str, datetime] = OrderedDict()
        self._unlogged: dict[str, int] = {}
        self._guard = threading.Lock()

    def report(self, error: Exception, subject: ErrorSubject, boundary: str) -> str:
        """Log an error with its traceback, unless it was logged a moment ago.

        Args:
            error: The error.
            subject: What it is about.
            boundary: The name of the boundary that has caught it.

        Returns:
            The id of the error, which is the same for each error of the same place.
        """
        metrics.UNEXPECTED_ERRORS.labels(str(boundary)).inc()
        frames = "".join(traceback.format_tb(error.__traceback__))
        error_type = type(error).__name__
        error_id = hashlib.sha256(f"{error_type}\n{frames}".encode()).hexdigest()[:12]
        with self._guard:
            repeated = self._count(error_id, self._clock())
        if repeated is None:
            return error_id
        LOG.error(
            "unexpected error: error_id=%(error_id)s boundary=%(boundary)s stack=%(stack)s"
            " resource=%(resource)s error_type=%(error_type)s repeated=%(repeated)s"
            " at\n%(traceback)s",
            {
                "error_id": error_id,
                "boundary": boundary,
                "stack": subject.stack_id,
                "resource": subject.resource,
                "error_type": error_type,
                "repeated": repeated,
                "traceback": frames,
            },
        )
        return error_id

    def report_once(self, event: str, error: str) -> None:
        """Log the text of an error that is known to contain no secret, once in an interval."""
        with self._guard:
            repeated = self._count(f"{event}: {error}", self._clock())
        if repeated is not None:
            LOG.error(
                "%(event)s: error=%(error)s repeated=%(repeated)s",
                {"event": event, "error": error, "repeated": repeated},
            )

    def _count(self, error_id: str, now: datetime) -> int | None:
        """Return how often the error was not logged, None if it must not be logged now."""
        logged_at = self._logged_at.get(error_id)
        if logged_at is not None and now - logged_at < LOG_INTERVAL:
            self._unlogged[error_id] = self._unlogged.get(error_id, 0) + 1
            return None
        self._logged_at[error_id] = now
        self._logged_at.move_to_end(error_id)
        repeated = self._unlogged.pop(error_id, 0)
        if len(self._logged_at) > _MAX_ERRORS:
            forgotten, _ = self._logged_at.popitem(last=False)
            self._unlogged.pop(forgotten, None)
        return repeated
