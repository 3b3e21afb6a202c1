"""The access log: one line for every request that the API has answered.

Stands around everything but the request id, so that refused requests are logged too.
Must not log query strings or bodies, which may hold signatures and secrets.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.answered_requests import (
    AnsweredRequest,
    AnsweredRequestMiddleware,
)

LOG = logging.getLogger(__name__)
_MESSAGE = (
    "request handled: method=%(method)s path=%(path)s status=%(status)s"
    " milliseconds=%(milliseconds)s request_id=%(request_id)s project=%(project)s"
)


class AccessLog(AnsweredRequestMiddleware):
    """WSGI middleware that logs at INFO when a response has been sent; the note is the project."""

    note_key = "heat_convergence.access_log_project"

    def observe(self, request: AnsweredRequest) -> None:
        """Log the request."""
        environ = request.environ
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        fields = {
            "method": environ.get("REQUEST_METHOD", ""),
            "path": quote(path, safe="/:", encoding="latin-1", errors="replace"),
            "status": request.status,
            "milliseconds": round(request.duration_s * 1000),
            "request_id": environ.get("openstack.request_id", ""),
            "project": request.note,
        }
        LOG.info(_MESSAGE, fields)


def log_project_of_caller(environ: dict[str, Any]) -> None:
    """Add the caller's project to the line of this request, once the caller is known."""
    caller = environ.get(CALLER_KEY)
    if caller is not None:
        AccessLog.set_note(environ, caller.project_id or "")
