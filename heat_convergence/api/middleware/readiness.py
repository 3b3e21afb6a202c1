"""The refusal of requests until the database can be used.

Web servers other than this service's load the application without its daemon, so that the
check is made here, by requests, and not by a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common.failures import Unavailable

CHECK_INTERVAL_S = 1.0
# A worker that refuses is free for the next connection, and would take those of all others.
MAX_WAIT_S = 5.0


class ReadinessGate:
    """WSGI middleware that answers 503 until the check has passed once.

    Requests that arrive while it is being made wait for its result.  Later outages are answered by
    the requests that they concern.
    """

    def __init__(
        self,
        application: WsgiApplication,
        check: Callable[[], None],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._application = application
        self._check = check
        self._monotonic = monotonic
        self._is_ready = False
        self._next_check = 0.0
        self._checking = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request, or refuse it with 503 and ``Retry-After``."""
        if not self._is_ready:
            self._check_once()
        if not self._is_ready:
            raise Unavailable("The service is not ready. Please try again later.")
        return self._application(environ, start_response)

    def _check_once(self) -> None:
        """Make the check, at most once a second and by one request."""
        if self._monotonic() < self._next_check or not self._checking.acquire(timeout=MAX_WAIT_S):
            return
        try:
            if self._is_ready or self._monotonic() < self._next_check:
                return  # another request made the check in the meantime
            self._check()
            self._is_ready = True
        except Unavailable:
            self._next_check = self._monotonic() + CHECK_INTERVAL_S
        finally:
            self._checking.release()
