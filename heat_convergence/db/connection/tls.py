"""One TLS context for all of an engine's connections to MariaDB or MySQL.

If its options do not mention TLS, PyMySQL encrypts if the server can and verifies
nothing, yet loads all certificate authorities of the machine for each connection: half a
megabyte that lives as long as the connection, and twenty milliseconds.  Here the driver
decides about the first connection, and those after it do the same.  Called by
``connection.database`` for a new engine; must not change what is encrypted.
"""

from __future__ import annotations

import ssl
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

_CHOSEN = ("ssl", "read_default")  # prefixes of parameters by which the operator decides


def share_tls_context(engine: Engine) -> None:
    """Make connections of the engine share a TLS context."""
    event.listen(engine, "do_connect", SharedTlsContext().connect)


class SharedTlsContext:
    """A decision for all connections: encrypted or not, as the first one was."""

    def __init__(self) -> None:
        """Start without a decision."""
        self._known: dict[str, Any] = {}  # parameters; empty until decided

    def connect(
        self, dialect: Any, connection_record: Any, arguments: Any, parameters: dict[str, Any]
    ) -> Any:
        """Connect for SQLAlchemy's event ``do_connect``; None leaves it to SQLAlchemy.

        After a failure the driver decides again: the server may be another one.
        """
        if any(name.startswith(_CHOSEN) for name in parameters):
            return None
        try:
            connection = dialect.connect(*arguments, **parameters, **self._known)
        except dialect.loaded_dbapi.OperationalError:
            self._known = {}
            raise
        if not self._known:
            encrypted = _is_encrypted(connection)
            self._known = {"ssl": _context()} if encrypted else {"ssl_disabled": True}
        return connection


def _is_encrypted(connection: Any) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        found = cursor.fetchone()
    return bool(found and found[1])


def _context() -> ssl.SSLContext:
    """Build the driver's own context: it verifies nothing, having no authority to trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
