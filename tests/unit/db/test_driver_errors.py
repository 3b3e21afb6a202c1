"""Errors of the database drivers, and whether a transaction is repeated after them."""

from __future__ import annotations

from pathlib import Path

import psycopg2
import pymysql
import pytest
import sqlalchemy as sa

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import (
    ConcurrentTransaction,
    StorageFull,
    StorageRefused,
    Unavailable,
)
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.connection.driver_errors import translate_driver_errors

NOT_PRIMARY = (
    "Error while appending streaming replication fragment"
    "(provider status: Not connected to Primary Component)"
)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (1213, "Deadlock found when trying to get lock", ConcurrentTransaction),
        (1205, "Lock wait timeout exceeded", ConcurrentTransaction),
        (1317, "Query execution was interrupted", ConcurrentTransaction),
        (1047, "WSREP has not yet prepared node for application use", Unavailable),
        (1180, NOT_PRIMARY, Unavailable),
        (1181, "Got error 'Not connected' during ROLLBACK", Unavailable),
        (2013, "Lost connection to MySQL server during query", Unavailable),
        (1406, "Data too long for column", StorageRefused),
        (1021, "Disk full (/var/lib/mysql); waiting for someone to free some space", StorageFull),
        (1114, "The table 'resource' is full", StorageFull),
        (1030, 'Got error 28 "No space left on device" from storage engine InnoDB', StorageFull),
        (1030, "Got error 168 from storage engine", StorageRefused),
        (1026, "Error writing file 'x' (Errcode: 28 \"No space left on device\")", StorageFull),
    ],
)
def test_errors_of_mariadb(code: int, text: str, expected: type[Exception]) -> None:
    cause = pymysql.err.OperationalError(code, text)
    with pytest.raises(Error) as raised, translate_driver_errors():
        raise sa.exc.OperationalError("COMMIT", {}, cause)
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [("53100", StorageFull), ("53300", Unavailable), ("22001", StorageRefused)],
)
def test_errors_of_postgresql(code: str, expected: type[Exception]) -> None:
    class DriverError(psycopg2.OperationalError):
        pgcode = code

    DriverError.__module__ = "psycopg2.errors"
    with pytest.raises(Error) as raised, translate_driver_errors():
        raise sa.exc.OperationalError("INSERT", {}, DriverError("could not extend file"))
    assert type(raised.value) is expected


def test_full_file_of_sqlite(tmp_path: Path) -> None:
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")

    def fill() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("CREATE TABLE probe (text TEXT)")
            connection.exec_driver_sql("PRAGMA max_page_count = 4")
            connection.exec_driver_sql("INSERT INTO probe VALUES (?)", ("x" * 1_000_000,))

    try:
        with pytest.raises(StorageFull, match="no space left"):
            fill()
    finally:
        database.close()
