"""Receives hints and hands them to a daemon.

Decides which messages are dropped: malformed ones, ones of another format, and
those whose handling ended in an error of this service, for the sweep repeats
whatever still matters (RULE 1).  Built by ``cli``.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

import oslo_messaging
from oslo_context.context import RequestContext

from heat_convergence.common import errors
from heat_convergence.rpc import messages

LOG = logging.getLogger(__name__)


class ConvergeHandler(Protocol):
    """The engine's side."""

    def converge(self, stack_id: str, version: int, resource_ids: Any) -> Any: ...


class ObserveHandler(Protocol):
    """The observer's side."""

    def observe(self, stack_id: str, version: int, resource_ids: Any) -> Any: ...


class _Endpoint:
    target = oslo_messaging.Target(version=messages.RPC_VERSION)

    def _handle(self, verb: Any, method: str, message: Any) -> None:
        try:
            hint = messages.decode_hint(message)
        except (messages.MalformedMessage, AttributeError) as error:
            LOG.warning("dropped a malformed %s message: %s", method, error)
            return
        try:
            verb(hint.stack_id, hint.version, hint.resource_ids)
        except errors.Error as error:
            LOG.warning(
                "%s of stack %s version %s was not done, the sweep will repeat it: %s: %s",
                method,
                hint.stack_id,
                hint.version,
                type(error).__name__,
                error,
            )


class ConvergeEndpoint(_Endpoint):
    def __init__(self, engine: ConvergeHandler) -> None:
        self._engine = engine

    def converge(self, ctxt: RequestContext, message: Any = None) -> None:
        self._handle(self._engine.converge, "converge", message)


class ObserveEndpoint(_Endpoint):
    def __init__(self, observer: ObserveHandler) -> None:
        self._observer = observer

    def observe(self, ctxt: RequestContext, message: Any = None) -> None:
        self._handle(self._observer.observe, "observe", message)


def create_engine_server(
    transport: oslo_messaging.RPCTransport, engine: ConvergeHandler, *, server: str
) -> oslo_messaging.MessageHandlingServer:
    """A server of the engines' topic; ``start(override_pool_size=n)`` connects it."""
    return _server(transport, messages.ENGINE_TOPIC, server, ConvergeEndpoint(engine))


def create_observer_server(
    transport: oslo_messaging.RPCTransport, observer: ObserveHandler, *, server: str
) -> oslo_messaging.MessageHandlingServer:
    """A server of the observers' topic."""
    return _server(transport, messages.OBSERVER_TOPIC, server, ObserveEndpoint(observer))


def _server(
    transport: oslo_messaging.RPCTransport, topic: str, server: str, endpoint: _Endpoint
) -> oslo_messaging.MessageHandlingServer:
    return oslo_messaging.get_rpc_server(
        transport,
        oslo_messaging.Target(topic=topic, server=server),
        [endpoint],
        serializer=messages.ContextSerializer(),
    )
