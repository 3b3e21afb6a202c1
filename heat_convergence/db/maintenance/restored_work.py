"""Work in progress of a database that was restored from an older dump.

Resources that had not begun in the dump may have been created before the installation was
lost. They are marked like interrupted creations, so that engines look for them by their
physical names before they create anything (RULE 4). Called by ``heat-convergence-manage``
before the daemons start.
"""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.connection.database import Database
from heat_convergence.db.tables import resource


def mark_possible_creations(database: Database) -> int:
    """Mark the resources whose creation waits as perhaps created, and return their number."""
    marked = (
        sa.update(resource)
        .where(
            resource.c.action == Action.INIT,
            resource.c.physical_id.is_(None),
            resource.c.job.is_not(None),
            resource.c.job_state != JobState.CANCELLED,
        )
        .values(action=Action.CREATE, status=Status.IN_PROGRESS)
    )
    with database.write() as conn:
        return int(conn.execute(marked).rowcount)
