"""Counters of the database server, read before and after a step of a benchmark.

MariaDB's and MySQL's come from ``SHOW GLOBAL STATUS`` and are those of the whole server;
PostgreSQL's from ``pg_stat_database`` are those of one database.  PostgreSQL has no counter of
waits for locks: ``LockWaits`` samples them there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import TracebackType

import sqlalchemy as sa

STATUS_NAMES = {
    "Questions": "statements",
    "Com_commit": "commits",
    "Innodb_row_lock_waits": "lock waits",
    "Innodb_row_lock_time": "lock wait ms",
    "Innodb_deadlocks": "deadlocks",
    "Innodb_data_fsyncs": "fsyncs",
}
_MYSQL = sa.text("SHOW GLOBAL STATUS WHERE Variable_name IN :names").bindparams(
    sa.bindparam("names", expanding=True)
)
_POSTGRESQL = sa.text(
    "SELECT xact_commit AS commits, deadlocks, tup_inserted AS rows_inserted,"
    " tup_updated AS rows_updated FROM pg_stat_database WHERE datname = current_database()"
)
_WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
_SAMPLE_S = 0.05
_PROBES = 100


class DatabaseServer:
    """The server of a benchmark's database."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self.dialect = self.engine.dialect.name

    def counters(self) -> dict[str, int]:
        """Return the counters so far; none of SQLite."""
        with self.engine.connect() as connection:
            if self.dialect == "mysql":
                rows = connection.execute(_MYSQL, {"names": list(STATUS_NAMES)})
                return {STATUS_NAMES[name]: int(value) for name, value in rows}
            if self.dialect == "postgresql":
                row = connection.execute(_POSTGRESQL).mappings().one()
                return {name.replace("_", " "): int(value) for name, value in row.items()}
        return {}

    def commit_s(self) -> float:
        """Return the seconds that a commit of one row waits for the log of the database."""
        table = sa.Table("benchmark_commits", sa.MetaData(), sa.Column("n", sa.Integer))
        table.create(self.engine)
        try:
            with self.engine.connect() as connection:
                write_s = _each_s(connection, table.insert().values(n=1))
                read_s = _each_s(connection, sa.select(table.c.n).limit(1))
        finally:
            table.drop(self.engine)
        return max(write_s - read_s, 0.0)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def _each_s(connection: sa.Connection, statement: sa.Executable) -> float:
    started_at = time.monotonic()
    for _ in range(_PROBES):
        connection.execute(statement)
    return (time.monotonic() - started_at) / _PROBES


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return by how much each counter has grown."""
    return {name: value - before.get(name, 0) for name, value in after.items()}


class LockWaits:
    """Samples how many connections of PostgreSQL wait for a lock, while a block runs."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.samples: list[int] = []

    @property
    def mean(self) -> float | None:
        """The mean number of waiting connections; None for other databases."""
        return sum(self.samples) / len(self.samples) if self.samples else None

    def __enter__(self) -> LockWaits:
        if self._server.dialect == "postgresql":
            self._thread.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _sample(self) -> None:
        with self._server.engine.connect() as connection:
            while not self._ended.wait(_SAMPLE_S):
                self.samples.append(int(connection.execute(_WAITING).scalar_one()))
