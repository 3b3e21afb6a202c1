"""Revisions of the schema: that of a database, and those that this release knows.

Called by daemons at their start, which must not load the library for migrations.  Tests
compare ``KNOWN_REVISIONS`` with the scripts in ``alembic/versions``.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from heat_convergence.db.connection.database import Database

# The oldest first.
KNOWN_REVISIONS = tuple(f"{number:04}" for number in (*range(1, 16), 17, 18))
HEAD_REVISION = KNOWN_REVISIONS[-1]
_TABLE = "alembic_version"
_VERSION: sa.Select[Any] = sa.select(sa.column("version_num")).select_from(sa.table(_TABLE))


def get_current_revision(database: Database) -> str | None:
    """Return the revision of the database; None if it was never upgraded."""
    with database.read() as connection:
        if not sa.inspect(connection).has_table(_TABLE):
            return None
        found: str | None = connection.scalar(_VERSION)
        return found


def is_compatible(revision: str | None) -> bool:
    """Return whether this release works with the revision.

    An unknown revision is a newer release's, whose schema this release's code survives.
    """
    return revision is not None and (revision == HEAD_REVISION or revision not in KNOWN_REVISIONS)
