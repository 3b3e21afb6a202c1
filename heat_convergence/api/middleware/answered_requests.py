"""The base of middlewares that observe a request when its response has been sent.

The access log and the metrics of requests derive from it. It decides when a response is over, and
must not know what is observed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from heat_convergence.api.middleware.faults import WsgiApplication


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request whose response has been sent.

    Attributes:
        environ: The request's WSGI environment.
        status: The code of the response's status.
        duration_s: Seconds from the request to the end of its response.
        note: What ``set_note`` was given last.
    """

    environ: dict[str, Any]
    status: str
    duration_s: float
    note: str


class AnsweredRequestMiddleware(ABC):
    """WSGI middleware that observes a request when its response has been sent.

    Attributes:
        note_key: The key of the environment that holds the note of this middleware.
        initial_note: The note of requests that get no other one.
    """

    note_key: ClassVar[str]
    initial_note: ClassVar[str] = ""

    def __init__(
        self, application: WsgiApplication, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._application = application
        self._timer = timer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request, and observe it later."""
        started_s, status = self._timer(), ""
        # The list survives middlewares that pass on a copy of the environment.
        note = environ[self.note_key] = [self.initial_note]

        def start(line: str, *rest: Any) -> Any:
            nonlocal status
            status = line.partition(" ")[0]
            return start_response(line, *rest)

        def end() -> None:
            duration_s = self._timer() - started_s
            self.observe(AnsweredRequest(environ, status, duration_s, note[0]))

        return _BodyWithEnd(self._application(environ, start), end)

    @abstractmethod
    def observe(self, request: AnsweredRequest) -> None:
        """Observe a request whose response has been sent."""

    @classmethod
    def set_note(cls, environ: dict[str, Any], note: str) -> None:
        """Give the request a note, if this middleware stands around it."""
        holder = environ.get(cls.note_key)
        if holder is not None:
            holder[0] = note


class _BodyWithEnd:
    """A response's body that calls a function once: when it is sent, or closed before its end."""

    def __init__(self, body: Iterable[bytes], on_end: Callable[[], None]) -> None:
        self._body = body
        self._on_end = on_end
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body
        self._end()

    def close(self) -> None:
        """Close the body, and call the function."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()
