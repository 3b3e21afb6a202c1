"""A transport of requests to hosts that users name, by TLS as they demand it.

Decides which addresses may be connected to: a connection is checked once it has an address, before
anything is sent, so that a name that changes in between gains nothing. The host of a URL, and not
a proxy of this host's environment, is connected to.
"""

from __future__ import annotations

import ssl
from typing import Any

import requests
from keystoneauth1.session import TCPKeepAliveAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.template.parsing.url_policy import is_forbidden_ip


class _GuardedHTTPConnection(HTTPConnection):
    def _new_conn(self) -> Any:
        return _checked(super()._new_conn())


class _GuardedHTTPSConnection(HTTPSConnection):
    def _new_conn(self) -> Any:
        return _checked(super()._new_conn())


class _GuardedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _GuardedHTTPConnection


class _GuardedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPSConnection


class _RemoteAdapter(TCPKeepAliveAdapter):
    """An adapter with authorities of its own, and with checked addresses."""

    def __init__(self, context: ssl.SSLContext | None, *, checks_addresses: bool) -> None:
        self._context = context
        self._checks_addresses = checks_addresses
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools of connections."""
        if self._context is not None:
            kwargs["ssl_context"] = self._context
        super().init_poolmanager(*args, **kwargs)
        if self._checks_addresses:
            self.poolmanager.pool_classes_by_scheme = {
                "http": _GuardedHTTPPool,
                "https": _GuardedHTTPSPool,
            }


def create_transport(
    *, ca_cert: str | None, insecure: bool, allows_private_addresses: bool
) -> requests.Session:
    """Return the transport of a session.

    Args:
        ca_cert: Certificates of authorities, as PEM; None for those of the system.
        insecure: Whether certificates are not verified.
        allows_private_addresses: Whether loopback, link-local and private addresses may be
            connected to.

    Raises:
        StackValidationFailed: The certificates cannot be read.
    """
    context = None
    if ca_cert and not insecure:
        try:
            context = ssl.create_default_context(cadata=ca_cert)
        except (ssl.SSLError, ValueError) as error:
            raise StackValidationFailed("ca_cert is no certificate in the format PEM.") from error
    session = requests.Session()
    session.trust_env = False
    adapter = _RemoteAdapter(context, checks_addresses=not allows_private_addresses)
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def _checked(connected: Any) -> Any:
    """Return a connected socket.

    Raises:
        OSError: Its address may not be connected to.
    """
    address = str(connected.getpeername()[0])
    if is_forbidden_ip(address):
        connected.close()
        raise OSError("the address of the host is loopback, link-local or private")
    return connected
