"""MariaDB's answers are the same by this service's connections as by PyMySQL's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.cursors import SSCursor

from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.connection.mysql_rows import QuickConnection

QUERIES = (
    "SELECT 1, -7, 1.5, 2.25e3, NULL, 'text', 'Grüße 🙂', X'00FF', DATE '2026-01-02'",
    "SELECT TIMESTAMP '2026-01-02 03:04:05.678901', TIME '03:04:05', YEAR(NOW()), b'101'",
    "SELECT REPEAT('a', 250), REPEAT('b', 251), REPEAT('ü', 40000), REPEAT('c', 100000)",
    "SELECT JSON_OBJECT('a', 1), 12345678901234567890, 1 = 1, CAST('x' AS BINARY)",
    "SELECT seq, IF(seq % 3, seq, NULL), REPEAT('x', seq) FROM seq_1_to_300",
    "SELECT 1 FROM dual WHERE 1 = 0",
    "DO 1",
)


@pytest.fixture
def both(mariadb_url: str) -> Iterator[tuple[Any, Any]]:
    """Yield a connection of this service and one of the driver."""
    url = sa.make_url(mariadb_url)
    names = {"host": url.host, "port": url.port or 3306, "user": url.username}
    arguments = {**names, "password": url.password or "", "database": url.database}
    with QuickConnection(**arguments) as ours, pymysql.connect(**arguments) as theirs:
        yield ours, theirs


@pytest.mark.parametrize("cursor_type", [None, SSCursor])
@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_the_same(both: tuple[Any, Any], query: str, cursor_type: Any) -> None:
    found = []
    for connection in both:
        for _ in range(2):  # the second time with the descriptions that were kept
            with connection.cursor(cursor_type) as cursor:
                cursor.execute(query)
                # By repr, as 1 == 1.0 == True.
                found.append(repr((list(cursor.fetchall()), cursor.description)))
    assert len(set(found)) == 1


@pytest.mark.parametrize("cursor_type", [None, SSCursor])
def test_failed_statement_leaves_the_connection_usable(
    both: tuple[Any, Any], cursor_type: Any
) -> None:
    ours, _theirs = both
    with ours.cursor(cursor_type) as cursor:
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute("SELECT nothing FROM nowhere.at_all")
        cursor.execute("SELECT 2")
        assert list(cursor.fetchall()) == [(2,)]


def test_engine_has_such_connections(mariadb_url: str) -> None:
    database = database_from_url(mariadb_url)
    with database.read() as connection:
        assert type(connection.connection.dbapi_connection) is QuickConnection
    database.close()


def test_descriptions_follow_the_table(both: tuple[Any, Any]) -> None:
    ours, _theirs = both
    with ours.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (value INT)")
        cursor.execute("INSERT INTO changing VALUES (1)")
        for column_type, value in (("INT", 1), ("VARCHAR(9)", "1"), ("DOUBLE", 1.0)):
            cursor.execute(f"ALTER TABLE changing MODIFY value {column_type}")
            cursor.execute("SELECT value FROM changing")
            ((found,),) = cursor.fetchall()
            assert (found, type(found)) == (value, type(value))
        cursor.execute("DROP TABLE changing")
