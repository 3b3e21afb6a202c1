"""One HTTP connection on eventlet: when its requests must have arrived, and how large they are.

Completes eventlet's protocol, which limits the time between two bytes but not the time of a
request, and reads a body only while the application handles the request. Used by
``eventlet_server`` alone.
"""

from __future__ import annotations

import io
import logging
import re
from http.client import HTTPMessage
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import eventlet
import webob
from eventlet import wsgi

from heat_convergence.api.middleware.faults import error_response
from heat_convergence.cli.daemons.http_limits import (
    MAX_BYTES_IN_MEMORY,
    MAX_HEAD_BYTES,
    HttpLimits,
    timeout_response,
)
from heat_convergence.cli.daemons.idle_connections import IdleConnections

LOG = logging.getLogger(__name__)
_READ_BYTES = 64 * 1024
_MAX_LINE_BYTES = 8192
_CHUNK_LINE = re.compile(rb"[0-9A-Fa-f]{0,16}[ \t]*(;[^\r\n]*)?\r?\n")
_LAST_CHUNK = re.compile(rb"0+[ \t]*(;|\r?\n)")


class _Late(TimeoutError):
    """A head or a body that did not arrive in time."""


class _ChunkLines:
    """The file under a chunked body, whose lines between the data it checks and bounds.

    Each line costs processor time: there may be as many bytes of lines as of data, and those of a
    head, so that neither trailers without end nor chunks of one byte keep the process busy.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._bytes_left = MAX_HEAD_BYTES
        self._in_trailers = False

    def read(self, size: int) -> bytes:
        """Return the next bytes of data."""
        data: bytes = self._file.read(size)
        self._bytes_left += len(data)
        return data

    def readline(self) -> bytes:
        """Return the next line that is no data.

        Raises:
            OSError: It is too long or no line that a chunked body may have.
        """
        line: bytes = self._file.readline(_MAX_LINE_BYTES)
        self._bytes_left -= len(line)
        if self._bytes_left < 0 or not line.endswith(b"\n"):
            raise OSError("a line of the chunked body is too long or cut off")
        if not self._in_trailers and not _CHUNK_LINE.fullmatch(line):
            raise OSError("the body is not chunked as its header says")
        if not self._in_trailers and _LAST_CHUNK.match(line):
            self._in_trailers = True
            self._bytes_left = MAX_HEAD_BYTES
        return line


class _UnreadableBody(io.RawIOBase):
    """The body of a request that broke off; the application refuses it when it reads."""

    def read(self, size: int = -1) -> bytes:
        """Raise an error as a broken connection does."""
        raise OSError("the body of the request is incomplete")


class BoundedHttpProtocol(wsgi.HttpProtocol):  # type: ignore[misc]  # untyped library
    """A connection that is handed to the application when a whole request has arrived.

    Args:
        conn_state: Address, socket and state, as eventlet's server made them.
        server: Eventlet's server.
        limits: The limits of the process.
        idle: The idle connections of the process.
    """

    def __init__(
        self, conn_state: list[Any], server: Any, *, limits: HttpLimits, idle: IdleConnections
    ) -> None:
        self._limits = limits
        self._idle = idle
        self._head_deadline: Any = None
        super().__init__(conn_state, server)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Log what the standard library would print."""
        LOG.debug("connection: %s", format % args)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer a malformed request with the error envelope."""
        self._answer(error_response(int(code), "HTTPBadRequest", message or "Malformed request"))

    def handle_one_request(self) -> None:
        """Handle a request, or answer 408 when its head is late."""
        try:
            super().handle_one_request()
        except _Late:
            self._answer(timeout_response(self._limits, head_arrived=False))
        finally:
            self._cancel_head_deadline()

    def _read_request_line(self) -> bytes:
        """Wait for the next request, and start the time limit of its head."""
        try:
            with self._idle.waiting(self.connection):
                self.connection.settimeout(self._limits.idle_timeout_s)
                if self.rfile.closed or not self.rfile.peek(1):
                    return b""
        except OSError:
            return b""  # idle for too long, or the client has gone
        self._head_deadline = eventlet.Timeout(self._limits.header_timeout_s, _Late())
        line: bytes = super()._read_request_line() or b""
        return line

    def parse_request(self) -> bool:
        """Read the head, and refuse one whose body could end in two places."""
        try:
            parsed: bool = super().parse_request()
        finally:
            self._cancel_head_deadline()
        problem = _framing_problem(self.headers) if parsed else None
        if problem is not None:
            self.send_error(400, problem)
            return False
        return parsed

    def handle_one_response(self) -> None:
        """Receive the body, then let the application handle the request."""
        try:
            with eventlet.Timeout(self._limits.body_timeout_s, _Late()):
                self._receive_body()
        except _Late:
            self._answer(timeout_response(self._limits, head_arrived=True))
            return
        super().handle_one_response()

    def _receive_body(self) -> None:
        received = self.environ["eventlet.input"]
        limit = self._limits.body_bytes
        if received.chunked_input:
            self.environ["wsgi.input_terminated"] = True
            received.rfile = _ChunkLines(received.rfile)
        elif not received.content_length:
            return
        elif received.content_length > limit:
            # The application refuses it by its length, and the rest is never read.
            self.environ["wsgi.input"] = _UnreadableBody()
            self.close_connection = 1
            return
        self.environ["wsgi.input"] = self._copy_body(received, limit)

    def _copy_body(self, received: Any, limit: int) -> Any:
        body: IO[bytes] = SpooledTemporaryFile(MAX_BYTES_IN_MEMORY)  # noqa: SIM115  # outlives this
        size = 0
        try:
            while size <= limit and (data := received.read(min(_READ_BYTES, limit + 1 - size))):
                size += len(data)
                body.write(data)
        except (OSError, ValueError) as error:
            if isinstance(error, _Late):
                raise
            size = -1
        incomplete = size < (received.content_length or 0)
        if incomplete or size > limit:
            self.close_connection = 1
        if incomplete:
            body.close()
            return _UnreadableBody()
        self.environ["CONTENT_LENGTH"] = str(size)  # the application reads none that is too large
        body.seek(0)
        return body

    def _answer(self, response: webob.Response) -> None:
        """Send a response that the application did not make, and close the connection."""
        self.close_connection = 1
        lines = [f"HTTP/1.1 {response.status}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in response.headerlist]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + response.body)

    def _cancel_head_deadline(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None


def _framing_problem(headers: HTTPMessage) -> str | None:
    """Return why it is not certain where a request ends; None if it is.

    A proxy that read such a request otherwise could be made to pass on a second one in it.
    """
    lengths = set(headers.get_all("Content-Length", []))
    codings = headers.get_all("Transfer-Encoding", [])
    if headers.defects:
        return "Malformed header"
    if len(lengths) > 1 or not all(re.fullmatch("[0-9]{1,15}", length) for length in lengths):
        return "Bad Content-Length"
    if codings and [coding.strip(" \t").lower() for coding in codings] != ["chunked"]:
        return "Bad Transfer-Encoding"
    return None
