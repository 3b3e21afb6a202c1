"""A check of the nodes of RabbitMQ, each with a connection of its own.

Called by the diagnosis of an installation. Unlike oslo.messaging it gives up at once and tells
the reason for each node.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import amqp
import oslo_messaging
from kombu.connection import Connection
from kombu.exceptions import KombuError
from oslo_config import cfg

from heat_convergence.rpc.transport import register_rabbit_options

TIMEOUT_S = 5.0
_QUEUE = "heat-convergence-doctor"
_DEFAULT_PORT = 5672


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result for one node; ``error`` is None when it passed a message."""

    address: str
    error: Exception | None = None


def probe_nodes(conf: cfg.ConfigOpts, url: oslo_messaging.TransportURL) -> Iterator[NodeResult]:
    """Yield a result for every node of the URL."""
    register_rabbit_options(conf)
    for host in url.hosts or [oslo_messaging.TransportHost("127.0.0.1")]:
        virtual_host = url.virtual_host or "/"
        address = f"{host.hostname}:{host.port or _DEFAULT_PORT}, virtual host {virtual_host}"
        connection = Connection(  # type: ignore[no-untyped-call]
            hostname=host.hostname,
            port=host.port or _DEFAULT_PORT,
            userid=host.username or "guest",
            password=host.password or "guest",
            virtual_host=virtual_host,
            connect_timeout=TIMEOUT_S,
            ssl=_ssl_options(conf, host.hostname),
        )
        yield NodeResult(address, _error_of(connection))


def _error_of(connection: Any) -> Exception | None:
    try:
        with connection:
            connection.connect()
            _pass_message(connection)
    except (OSError, KombuError, amqp.exceptions.AMQPError) as error:
        return error
    return None


def _pass_message(connection: Any) -> None:
    """Declare a queue, send a message and receive it: configure, write and read."""
    with connection.SimpleBuffer(
        _QUEUE, queue_opts={"exclusive": True, "auto_delete": True, "durable": False}
    ) as queue:
        queue.put("")
        queue.get(timeout=TIMEOUT_S).ack()


def _ssl_options(conf: cfg.ConfigOpts, hostname: str) -> bool | dict[str, Any]:
    options = conf.oslo_messaging_rabbit
    if not options.ssl:
        return False
    found: dict[str, Any] = {"server_hostname": hostname}
    if options.ssl_ca_file:
        found |= {"ca_certs": options.ssl_ca_file, "cert_reqs": ssl.CERT_REQUIRED}
    if options.ssl_cert_file:
        found |= {"certfile": options.ssl_cert_file, "keyfile": options.ssl_key_file}
    return found
