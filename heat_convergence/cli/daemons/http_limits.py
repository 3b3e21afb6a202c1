"""The limits on connections and requests that both HTTP servers keep.

A connection that is idle or slow costs a file descriptor; a request takes a thread only when its
head and body have arrived. Used by ``eventlet_server`` and ``threaded_server``.
"""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass

import webob

from heat_convergence.api.middleware.faults import error_response

LOG = logging.getLogger(__name__)
MAX_HEAD_BYTES = 64 * 1024
# Larger bodies and responses wait in temporary files, not in memory.
MAX_BYTES_IN_MEMORY = 64 * 1024
# Of databases, brokers, other services, logs and temporary files.
_OTHER_DESCRIPTORS = 512
_DESCRIPTORS_PER_CONNECTION = 2  # the socket, and the temporary file of a large body or response


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one worker process.

    Attributes:
        threads: Maximum number of requests at work at once.
        queued_requests: Maximum number of requests that wait for a thread; more are refused.
        connections: Maximum number of open connections.
        idle_timeout_s: Seconds without a request after which a connection is closed.
        header_timeout_s: Seconds in which the head of a request must arrive.
        body_timeout_s: Seconds in which the body of a request must arrive.
        body_bytes: Maximum size of a body.
        shutdown_timeout_s: Seconds that running requests have when the server stops.
    """

    threads: int = 32
    queued_requests: int = 256
    connections: int = 4096
    idle_timeout_s: float = 60.0
    header_timeout_s: float = 20.0
    body_timeout_s: float = 60.0
    body_bytes: int = 2**20
    shutdown_timeout_s: float = 60.0


def allowed_connections(requested: int) -> int:
    """Raise the process's limit on open files, and return how many connections fit in it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = requested * _DESCRIPTORS_PER_CONNECTION + _OTHER_DESCRIPTORS
    if soft < needed:
        soft = min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = max((soft - _OTHER_DESCRIPTORS) // _DESCRIPTORS_PER_CONNECTION, 1)
    if allowed < requested:
        LOG.warning(
            "fewer connections than configured: connections=%(allowed)s"
            " max_connections=%(requested)s open_files_limit=%(hard)s",
            {"allowed": allowed, "requested": requested, "hard": hard},
        )
    return min(allowed, requested)


def timeout_response(limits: HttpLimits, *, head_arrived: bool) -> webob.Response:
    """Return the response to a request that did not arrive in time."""
    part, seconds = (
        ("body", limits.body_timeout_s) if head_arrived else ("head", limits.header_timeout_s)
    )
    message = f"The {part} of the request did not arrive within {seconds:g} seconds."
    return error_response(408, "HTTPRequestTimeout", message)


def too_large_response(limits: HttpLimits) -> webob.Response:
    """Return the response to a request whose body is too large to be read."""
    return error_response(
        400,
        "RequestLimitExceeded",
        "Request limit exceeded: the request body is larger than max_json_body_size"
        f" ({limits.body_bytes} bytes).",
    )
