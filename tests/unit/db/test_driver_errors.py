"""Errors of the database drivers, and whether a transaction is repeated after them."""

from __future__ import annotations

import pymysql
import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import ConcurrentTransaction, StorageRefused, Unavailable
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
    ],
)
def test_errors_of_mariadb(code: int, text: str, expected: type[Exception]) -> None:
    cause = pymysql.err.OperationalError(code, text)
    with pytest.raises(expected), translate_driver_errors():
        raise sa.exc.OperationalError("COMMIT", {}, cause)
