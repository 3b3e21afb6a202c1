"""Which version the schema has, and which versions this release knows.

Called by whatever must not load the migrations' library to ask: daemons at their start.
Tests hold ``KNOWN_REVISIONS`` against the scripts in ``alembic/versions``.
"""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.db.connection.database import Database

KNOWN_REVISIONS = ("0001",)  # the oldest first
HEAD_REVISION = KNOWN_REVISIONS[-1]
_TABLE = "alembic_version"
_VERSION = sa.select(sa.column("version_num")).select_from(sa.table(_TABLE))


def get_current_revision(database: Database) -> str | None:
    """The revision of the database; None for one that was never upgraded."""
    with database.read() as connection:
        if not sa.inspect(connection).has_table(_TABLE):
            return None
        found: str | None = connection.scalar(_VERSION)
        return found


def is_compatible(revision: str | None) -> bool:
    """Whether this release works with it; a revision that it does not know is a newer
    release's, which this one's code survives."""
    return revision is not None and (revision == HEAD_REVISION or revision not in KNOWN_REVISIONS)
