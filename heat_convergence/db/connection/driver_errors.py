"""Errors of the database drivers as errors of this service.

Decides which errors may be retried at once or later.  Called around every transaction
and around migrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from heat_convergence.common import errors
from heat_convergence.common.failures import (
    AccessRefused,
    ConcurrentTransaction,
    StorageFull,
    StorageRefused,
    Unavailable,
)

# Codes of the servers when they preferred another transaction.
_PG_CONCURRENT = frozenset({"40001", "40P01", "55P03"})
_MYSQL_CONCURRENT = frozenset({1020, 1205, 1213, 1317})  # 1317: a node of Galera interrupts
# Too many connections, shutting down, starting up, read-only in a failover, password
# being rotated. A commit (1180) or rollback (1181) fails on a node of a Galera cluster that has
# just lost the others; the transaction may be committed nevertheless, as after a lost connection.
_PG_DOWN = frozenset({"53300", "57P01", "57P02", "57P03", "25006"})
_MYSQL_DOWN = frozenset(
    {1040, 1044, 1045, 1047, 1053, 1180, 1181, 1290, 1927, 2002, 2003, 2006, 2013, 2055}
)

# Refused users, passwords and databases. libpq gives no code while it connects.
_MYSQL_REFUSED = frozenset({1044, 1045, 1049, 1698})
_PG_REFUSED = re.compile(
    r"FATAL:\s+(password authentication failed|no pg_hba\.conf entry"
    r"|(role|database) \S+ does not exist|permission denied for database)"
)

# A full disk, table or file. MariaDB has codes for some, and others for all errors of the system,
# whose number is in the text; the text of any other code may quote a value of a user.
_PG_FULL = "53100"
_MYSQL_FULL = frozenset({20, 1021, 1114})
_MYSQL_SYSTEM_ERRORS = frozenset({3, 1026, 1030})
_NO_SPACE = re.compile(r"\b(error|Errcode:) 28\b")
_SQLITE_FULL = "database or disk is full"

_PUBLIC_TEXTS: dict[type[errors.Error], str] = {
    ConcurrentTransaction: "The database preferred another transaction.",
    Unavailable: "The database does not answer.",
    AccessRefused: "The database does not answer.",
    StorageFull: "The database has no space left.",
    StorageRefused: "The database refused a value.",
}


@contextmanager
def translate_driver_errors() -> Iterator[None]:
    """Raise drivers' errors as errors of this service.

    Raises:
        ConcurrentTransaction: the block may succeed if it is run again at once.
        Unavailable: the server cannot be reached, or has no connection left.
        AccessRefused: the server refuses user, password or database.
        StorageFull: the server's disk is full.
        StorageRefused: the block would fail again.
    """
    try:
        yield
    except db_exc.DBDeadlock as error:
        raise _public_error(ConcurrentTransaction, error) from error
    except (db_exc.DBConnectionError, db_exc.DBNonExistentDatabase) as error:
        is_refused = _is_refusal(_driver_cause(error))
        raise _public_error(AccessRefused if is_refused else Unavailable, error) from error
    except sa_exc.TimeoutError as error:  # every connection of the pool is in use
        raise _public_error(Unavailable, error) from error
    except (sa_exc.StatementError, db_exc.DBError) as error:
        own = _own_error(error)
        if own is not None:
            raise own from error
        error_class = _classify(error) or StorageRefused
        raise _public_error(error_class, error) from error


def _own_error(error: Exception) -> errors.Error | None:
    """Return the error of this service that a column type raised while binding a value."""
    cause = _driver_cause(error)
    return cause if isinstance(cause, errors.Error) else None


def _driver_cause(error: Exception) -> Any:
    cause = getattr(error, "orig", None) or getattr(error, "inner_exception", None)
    return getattr(cause, "orig", cause)


def _is_refusal(cause: Any) -> bool:
    """Return whether a driver's error says that the server refuses user, password or database."""
    module = type(cause).__module__
    if module.startswith("pymysql"):
        return bool(cause.args) and cause.args[0] in _MYSQL_REFUSED
    return module.startswith("psycopg2") and bool(_PG_REFUSED.search(str(cause)))


def _classify(error: Exception) -> type[errors.Error] | None:
    """Return the class for a driver's error that oslo.db does not classify."""
    cause = _driver_cause(error)
    if _is_refusal(cause):
        return AccessRefused
    module = type(cause).__module__
    if module.startswith("sqlite3"):
        return _classify_sqlite(str(cause))
    if module.startswith("psycopg2"):
        return _classify_postgresql(cause)
    if module.startswith("pymysql"):
        return _classify_mysql(cause)
    return None


def _classify_sqlite(text: str) -> type[errors.Error] | None:
    if text == _SQLITE_FULL:
        return StorageFull
    return ConcurrentTransaction if "locked" in text else None


def _classify_mysql(cause: Any) -> type[errors.Error] | None:
    code = cause.args[0] if cause.args else None
    if code in _MYSQL_CONCURRENT:
        return ConcurrentTransaction
    is_system_error = code in _MYSQL_SYSTEM_ERRORS
    if code in _MYSQL_FULL or (is_system_error and _NO_SPACE.search(str(cause))):
        return StorageFull
    return Unavailable if code in _MYSQL_DOWN else None


def _classify_postgresql(cause: Any) -> type[errors.Error] | None:
    if cause.pgcode in _PG_CONCURRENT:
        return ConcurrentTransaction
    if cause.pgcode == _PG_FULL:
        return StorageFull
    # An operational error without a code comes from libpq, which could not reach the
    # server.
    lost = cause.pgcode is None and type(cause).__name__ in ("OperationalError", "InterfaceError")
    return Unavailable if lost or cause.pgcode in _PG_DOWN else None


def _public_error(error_class: type[errors.Error], cause: Exception) -> errors.Error:
    """Return an error whose text users may see: drivers name hosts, accounts and statements."""
    return error_class(_PUBLIC_TEXTS[error_class], detail=_first_line(cause))


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
