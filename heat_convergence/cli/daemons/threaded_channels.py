"""Connections and worker threads of the HTTP server on native threads.

Completes waitress: time limits for head and body, refusals in the error envelope, and threads
that answer health checks and refuse requests while all others are at work. Used by
``threaded_server`` alone.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import webob
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.utilities import BadRequest, RequestEntityTooLarge

from heat_convergence.api.change_wait import WAIT_KEY, ChangeWait, RequestHeld
from heat_convergence.api.middleware.faults import error_response
from heat_convergence.api.middleware.overload import OVERLOADED_KEY, is_always_served
from heat_convergence.cli.daemons.http_limits import (
    MAX_HEAD_BYTES,
    HttpLimits,
    timeout_response,
    too_large_response,
)

_RESERVE_THREADS = 2


class RequestTimeout:
    """The error of a request that did not arrive in time."""

    def __init__(self, *, head_arrived: bool) -> None:
        self.head_arrived = head_arrived


class RefusalTask(ErrorTask):  # type: ignore[misc]  # untyped library
    """The response to a request that does not reach the application."""

    def execute(self) -> None:
        """Send the error envelope, and close the connection."""
        response = self._response()
        self.status = response.status
        self.response_headers.extend(response.headerlist)
        self.set_close_on_finish()
        self.content_length = len(response.body)
        self.write(response.body)

    def _response(self) -> webob.Response:
        error, limits = self.request.error, self.channel.server.limits
        if isinstance(error, RequestTimeout):
            return timeout_response(limits, head_arrived=error.head_arrived)
        if isinstance(error, RequestEntityTooLarge):
            return too_large_response(limits)
        return error_response(error.code, "HTTPBadRequest", f"{error.reason}: {error.body}")


class MarkedTask(WSGITask):  # type: ignore[misc]  # untyped library
    """The handling of a request, which the application refuses when it is marked."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment."""
        environ: dict[str, Any] = super().get_environment()
        environ[WAIT_KEY] = self.channel.change_wait_of(self.request)
        if self.channel.is_overloaded:
            environ[OVERLOADED_KEY] = True
        return environ


class BoundedRequestParser(HTTPRequestParser):  # type: ignore[misc]  # untyped library
    """A parser that refuses too large a body, and bounds the lines between the data of chunks.

    A body is refused as soon as its length is known, or as many of its bytes have arrived. Each
    line of a chunked body costs processor time, and one without an end is searched again with
    each part of it: there may be as many bytes of lines as of data, and those of a head.
    """

    completed: bool
    error: Any

    def received(self, data: bytes) -> int:
        """Process data from the client, and return how many of its bytes are the request's."""
        consumed: int = super().received(data)
        body, limit_bytes = self.body_rcv, self.adj.body_bytes
        if body is None or self.error is not None:
            return consumed
        data_bytes = len(body.getbuf())
        if max(self.content_length, data_bytes) > limit_bytes:
            self.error = RequestEntityTooLarge(f"exceeds {limit_bytes} bytes")
            self.completed = True
        self._check_lines(body, data_bytes)
        return consumed

    def _check_lines(self, chunks: Any, data_bytes: int) -> None:
        if isinstance(chunks, ChunkedReceiver) and not self.completed:
            unended_bytes = len(chunks.control_line) + len(chunks.trailer)
            line_bytes = self.body_bytes_received - data_bytes
            if max(unended_bytes, line_bytes - data_bytes) > MAX_HEAD_BYTES:
                self.error = BadRequest("The lines of the chunked body are too long")
                self.completed = True


class BoundedChannel(HTTPChannel):  # type: ignore[misc]  # untyped library
    """A connection whose requests must arrive in time.

    Attributes:
        is_overloaded: Whether the request at work is to be refused.
        held: The wait for changes of the request that no thread handles; None without one.
    """

    error_task_class = RefusalTask
    parser_class = BoundedRequestParser
    task_class = MarkedTask
    is_overloaded = False
    request: Any
    held: ChangeWait | None = None
    _waiting_request: Any = None
    _change_wait: ChangeWait
    _arriving: Any = None
    _head_arrived = False
    _deadline_s = math.inf

    def add_channel(self, map: Any = None) -> None:  # noqa: A002  # the base class's name
        """Let the server wait for this connection."""
        super().add_channel(map)
        self.server.changed_channels.add(self)

    def del_channel(self, map: Any = None) -> None:  # noqa: A002  # the base class's name
        """Let the server wait for this connection no more."""
        self.server.poller.forget(self._fileno)
        super().del_channel(map)

    def received(self, data: bytes) -> bool:
        """Process data from the client, and start or end the time limit of its request."""
        taken: bool = super().received(data)
        self._set_deadline()
        return taken

    def _set_deadline(self) -> None:
        limits: HttpLimits = self.server.limits
        request = self.request
        if request is None:
            self._arriving, self._deadline_s = None, math.inf
            return
        if request is not self._arriving:
            self._arriving, self._head_arrived = request, False
            self._deadline_s = time.monotonic() + limits.header_timeout_s
        if request.headers_finished and not self._head_arrived:
            self._head_arrived = True
            self._deadline_s = time.monotonic() + limits.body_timeout_s

    @property
    def is_busy(self) -> bool:
        """True while a worker thread or the maintenance of the server may change it."""
        return self._fileno is not None and bool(
            self.requests or self.total_outbufs_len or self.will_close or self.close_when_flushed
        )

    @property
    def is_idle(self) -> bool:
        """True while no request has begun and no response is being sent."""
        return self.request is None and not self.requests and not self.total_outbufs_len

    def change_wait_of(self, request: Any) -> ChangeWait:
        """Return the wait for changes of a request, which lasts until it is answered."""
        if request is not self._waiting_request:
            self._waiting_request, self._change_wait = request, ChangeWait()
        return self._change_wait

    def service(self) -> None:
        """Handle a request; one that waits for changes is handled again later."""
        try:
            super().service()
        except RequestHeld as held:
            self.held = held.wait
            held.wait.start(self._handle_again)

    def _handle_again(self) -> None:
        self.held = None
        if self.requests:
            self.server.add_task(self)

    def refuse_if_late(self, now_s: float) -> None:
        """Answer 408 when the time limit of the arriving request has passed."""
        with self.requests_lock:
            late = self.request
            if now_s < self._deadline_s or late is None or self.requests:
                return
            late.error = RequestTimeout(head_arrived=self._head_arrived)
            if not self._head_arrived:
                late.parse_header(b"GET / HTTP/1.1\r\n")  # what was there is not parsed yet
            self.request, self._deadline_s = None, math.inf
            self.requests.append(late)
        self.server.add_task(self)


class _AdmittedRequest:
    """The next request of a connection, which has a place until its thread is done with it."""

    def __init__(self, channel: BoundedChannel, free_place: Callable[[], None]) -> None:
        self._channel = channel
        self._free_place = free_place

    def service(self) -> None:
        """Handle the request."""
        try:
            self._channel.service()
        finally:
            self._free_place()

    def cancel(self) -> None:
        """Close the connection, since the server has stopped."""
        self._channel.cancel()
        self._free_place()


class BoundedDispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # untyped library
    """Worker threads, and reserve threads for health checks and refusals.

    There are as many places for requests as threads and places in the queue. The library's count
    of idle threads does not serve: a thread that is still starting is missing from it, and one
    that a request has just woken is still in it.
    """

    def __init__(self, limits: HttpLimits) -> None:
        super().__init__()
        self._places = threading.BoundedSemaphore(limits.threads + limits.queued_requests)
        self.set_thread_count(limits.threads)
        self._reserve = ThreadedTaskDispatcher()
        self._reserve.set_thread_count(_RESERVE_THREADS)

    def add_task(self, task: Any) -> None:
        """Queue the next request of a connection, or have it refused at once."""
        request = task.requests[0]
        task.is_overloaded = False
        if request.error is not None or is_always_served(request.path):
            self._reserve.add_task(task)
        elif self._places.acquire(blocking=False):
            super().add_task(_AdmittedRequest(task, self._places.release))
        else:
            task.is_overloaded = True
            self._reserve.add_task(task)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """Stop all threads."""
        self._reserve.shutdown(cancel_pending, timeout)
        return bool(super().shutdown(cancel_pending, timeout))
