"""One TLS context for all of an engine's connections to MariaDB or MySQL.

Where its options say nothing of TLS, PyMySQL encrypts if the server can and verifies
nothing, yet reads all the machine's certificate authorities for each connection: half a
megabyte that lives as long as the connection, and twenty milliseconds.  Here the first
connection is the driver's own affair and those after it do as it did.  Called by
``db.engine`` for a new engine; must not change what is encrypted.
"""

from __future__ import annotations

import ssl
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

_CHOSEN = ("ssl", "read_default")  # how parameters begin by which the operator chose


def share_tls_context(engine: Engine) -> None:
    event.listen(engine, "do_connect", SharedTlsContext().connect)


class SharedTlsContext:
    """How connections are made: encrypted or not, as the first one was."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}  # parameters; empty: not known yet

    def connect(
        self, dialect: Any, connection_record: Any, arguments: Any, parameters: dict[str, Any]
    ) -> Any:
        """SQLAlchemy's ``do_connect``; None has it done as if nobody listened.  A failure
        makes the next one the first again: the server may have become another."""
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
    """As the driver's: nothing is verified, since there is nothing to do so by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
