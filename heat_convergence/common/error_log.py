"""The log of unexpected errors, each of which has an id and is logged once in an interval.

Called by error boundaries (RULE 11). Users see the id in a reason, operators find it in the
log. The text of an error is not logged: it may contain a secret.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections import OrderedDict
from datetime import datetime, timedelta

from heat_convergence.common.clock import Clock

LOG = logging.getLogger(__name__)
LOG_INTERVAL = timedelta(seconds=60)
_MAX_ERRORS = 1000


class ErrorLog:
    """The unexpected errors of a process by their place in the code."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_at: OrderedDict[str, datetime] = OrderedDict()
        self._unlogged: dict[str, int] = {}

    def report(self, error: Exception, stack_id: str) -> str:
        """Log an error with its traceback, unless it was logged a moment ago.

        Returns:
            The id of the error, which is the same for each error of the same place.
        """
        frames = "".join(traceback.format_tb(error.__traceback__))
        error_type = type(error).__name__
        error_id = hashlib.sha256(f"{error_type}\n{frames}".encode()).hexdigest()[:12]
        now = self._clock()
        logged_at = self._logged_at.get(error_id)
        if logged_at is not None and now - logged_at < LOG_INTERVAL:
            self._unlogged[error_id] = self._unlogged.get(error_id, 0) + 1
            return error_id
        LOG.error(
            "unexpected error: error_id=%(error_id)s stack=%(stack)s error_type=%(error_type)s"
            " repeated=%(repeated)s at\n%(traceback)s",
            {
                "error_id": error_id,
                "stack": stack_id,
                "error_type": error_type,
                "repeated": self._unlogged.pop(error_id, 0),
                "traceback": frames,
            },
        )
        self._logged_at[error_id] = now
        self._logged_at.move_to_end(error_id)
        if len(self._logged_at) > _MAX_ERRORS:
            forgotten, _ = self._logged_at.popitem(last=False)
            self._unlogged.pop(forgotten, None)
        return error_id
