"""RPC servers that pass hints to an engine or an observer.

Decides which messages are dropped: malformed ones, ones of another format, and those whose
processing ended in an error of this service, since the sweep repeats whatever still matters
(RULE 1). Built by ``cli``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import oslo_messaging
from oslo_context.context import RequestContext

from heat_convergence.common import errors as service_errors
from heat_convergence.common import metrics
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.convergence.ports.bus import ResourceHint, shown_stacks, shown_versions
from heat_convergence.rpc import messages

LOG = logging.getLogger(__name__)
# The library declares a durable queue for each server name, which stays in the broker after the
# worker has ended. No message is addressed to a single worker, so all workers share one name.
_SERVER = "shared"
Handler = Callable[[Sequence[ResourceHint]], object]
Decoder = Callable[[Any], Sequence[ResourceHint]]


class ConvergeHandler(Protocol):
    """The engine as the server sees it."""

    def converge(self, hints: Sequence[ResourceHint]) -> object:
        """Run the jobs of these resources."""


class ObserveHandler(Protocol):
    """The observer as the server sees it."""

    def observe(self, hints: Sequence[ResourceHint]) -> object:
        """Look at these resources."""


class _Endpoint:
    target = oslo_messaging.Target(version=messages.RPC_VERSION)
    _errors: ErrorLog

    def _handle(self, handler: Handler, method: str, message: Any, decode: Decoder) -> None:
        try:
            hints = decode(message)
        except messages.MalformedMessage as error:
            metrics.MESSAGES.labels(method, "malformed").inc()
            LOG.warning(
                "malformed message dropped: method=%(method)s error=%(error)s",
                {"method": method, "error": error},
            )
            return
        boundary = ErrorBoundary(BoundaryName.MESSAGE, self._errors)
        subject = ErrorSubject(shown_stacks(hints))
        boundary.contain(partial(_process, handler, method, hints), subject)


def _process(handler: Handler, method: str, hints: Sequence[ResourceHint]) -> None:
    try:
        handler(hints)
    except service_errors.Error as error:
        metrics.MESSAGES.labels(method, "failed").inc()
        LOG.warning(
            "message not processed, the sweep will repeat it: method=%(method)s"
            " stack=%(stack)s version=%(version)s error_type=%(error_type)s error=%(error)s",
            {
                "method": method,
                "stack": shown_stacks(hints),
                "version": shown_versions(hints),
                "error_type": type(error).__name__,
                "error": error,
            },
        )


def _decode_one(message: Any) -> tuple[ResourceHint, ...]:
    return (messages.decode_hint(message),)


class ConvergeEndpoint(_Endpoint):
    """Endpoint of the engines' topic."""

    def __init__(self, engine: ConvergeHandler, errors: ErrorLog | None = None) -> None:
        self._engine, self._errors = engine, errors or ErrorLog()

    def converge(self, ctxt: RequestContext | None, message: Any = None) -> None:
        """Process a message to the engines."""
        self._handle(self._engine.converge, "converge", message, _decode_one)

    def converge_together(self, ctxt: RequestContext | None, message: Any = None) -> None:
        """Process a message about several stacks to the engines."""
        self._handle(self._engine.converge, "converge", message, messages.decode_hints)


class ObserveEndpoint(_Endpoint):
    """Endpoint of the observers' topic."""

    def __init__(self, observer: ObserveHandler, errors: ErrorLog | None = None) -> None:
        self._observer, self._errors = observer, errors or ErrorLog()

    def observe(self, ctxt: RequestContext | None, message: Any = None) -> None:
        """Process a message to the observers."""
        self._handle(self._observer.observe, "observe", message, _decode_one)

    def observe_together(self, ctxt: RequestContext | None, message: Any = None) -> None:
        """Process a message about several stacks to the observers."""
        self._handle(self._observer.observe, "observe", message, messages.decode_hints)


def create_engine_server(
    transport: oslo_messaging.RPCTransport,
    engine: ConvergeHandler,
    *,
    errors: ErrorLog | None = None,
) -> oslo_messaging.MessageHandlingServer:
    """Return a server of the engines' topic; ``start(override_pool_size=n)`` connects it."""
    return _server(transport, messages.ENGINE_TOPIC, ConvergeEndpoint(engine, errors))


def create_observer_server(
    transport: oslo_messaging.RPCTransport,
    observer: ObserveHandler,
    *,
    errors: ErrorLog | None = None,
) -> oslo_messaging.MessageHandlingServer:
    """Return a server of the observers' topic."""
    return _server(transport, messages.OBSERVER_TOPIC, ObserveEndpoint(observer, errors))


def _server(
    transport: oslo_messaging.RPCTransport, topic: str, endpoint: _Endpoint
) -> oslo_messaging.MessageHandlingServer:
    return oslo_messaging.get_rpc_server(
        transport,
        oslo_messaging.Target(topic=topic, server=_SERVER),
        [endpoint],
        serializer=messages.ContextSerializer(),
    )
