"""The connection to Heat's database: one consistent snapshot, in which nothing can be written.

Called by the command and by ``importer``. Decides whether the schema is one that the import
knows and whether an engine of Heat is alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import exc as sa_exc
from sqlalchemy.engine import Connection, Engine, make_url

from heat_convergence.common.errors import Invalid
from heat_convergence.heat_import.heat_rows import HeatRow
from heat_convergence.heat_import.heat_tables import REVISION_TABLE, REVISIONS, TABLES
from heat_convergence.heat_import.heat_values import to_utc

_SNAPSHOT = {
    "mysql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "postgresql": ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
    "sqlite": ("PRAGMA query_only = ON",),
}


class HeatDatabaseRefused(Invalid):
    """Raised for a database that the import does not read."""


class HeatDatabase:
    """A database of Heat, read only."""

    def __init__(self, url: str) -> None:
        """Take the URL; nothing is connected yet.

        Raises:
            HeatDatabaseRefused: it is no URL of a database that SQLAlchemy accepts.
        """
        try:
            # DevStack's URL names a plug-in of SQLAlchemy that counts statements.
            found = make_url(url).difference_update_query(["plugin"])
            self._engine: Engine = sa.create_engine(found)
        except (sa_exc.ArgumentError, sa_exc.NoSuchModuleError, ImportError) as error:
            raise HeatDatabaseRefused("The URL of Heat's database cannot be used") from error

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open the snapshot in which all is read.

        Raises:
            HeatDatabaseRefused: the database does not answer, or refuses the user.
        """
        try:
            with self._engine.connect() as connection:
                name = self._engine.dialect.name.replace("mariadb", "mysql")
                for statement in _SNAPSHOT.get(name, ()):
                    connection.exec_driver_sql(statement)
                yield connection
        except sa_exc.DBAPIError as error:
            raise HeatDatabaseRefused(f"Heat's database: {error.orig}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def check_revision(conn: Connection) -> str:
    """Return the revision of the schema.

    Raises:
        HeatDatabaseRefused: it is unknown, or older than the import supports.
    """
    if not sa.inspect(conn).has_table(REVISION_TABLE.name):
        raise HeatDatabaseRefused(
            "Heat's database has no revision of alembic: it is none, or older than release"
            " 2023.2. Upgrade Heat to 2023.2 or later and run heat-manage db_sync"
        )
    found = sorted(conn.scalars(sa.select(REVISION_TABLE.c.version_num)))
    if len(found) != 1 or found[0] not in REVISIONS:
        raise HeatDatabaseRefused(
            f"Heat's database is at revision {', '.join(found) or 'none'}; known are"
            f" {', '.join(REVISIONS)}. Use a release of this service that knows it"
        )
    return str(found[0])


def list_live_engines(conn: Connection, now: datetime) -> list[str]:
    """Return the hosts whose engines have reported within twice their interval."""
    service = TABLES["service"]
    rows = conn.execute(sa.select(service).where(service.c.deleted_at.is_(None)))
    return sorted({row.hostname for row in rows if _is_alive(row, now)})


def _is_alive(row: HeatRow, now: datetime) -> bool:
    last = to_utc(row.updated_at or row.created_at)
    return last is not None and last + timedelta(seconds=2 * row.report_interval) > now


def list_roots(
    conn: Connection, project_ids: Sequence[str], stacks: Sequence[str]
) -> list[HeatRow]:
    """Return the root stacks that are not deleted, by creation.

    A nested stack whose parent is gone is among them, since no root leads to it.

    Args:
        conn: the snapshot's connection.
        project_ids: the projects; none for all.
        stacks: ids or names; none for all.
    """
    t = TABLES["stack"]
    parent = t.alias()
    living = sa.exists().where(parent.c.id == t.c.owner_id, parent.c.deleted_at.is_(None))
    query = sa.select(t).where(t.c.deleted_at.is_(None), t.c.owner_id.is_(None) | ~living)
    if project_ids:
        query = query.where(t.c.tenant.in_(project_ids))
    if stacks:
        query = query.where(sa.or_(t.c.id.in_(stacks), t.c.name.in_(stacks)))
    return list(conn.execute(query.order_by(t.c.created_at, t.c.id)))
