"""Reads of which objects of the cloud the stacks of a project own.

Called by the API alone; a statement for some hundred ids.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.db.tables import resource as t

_IDS_PER_STATEMENT = 500


def find_owned(
    conn: Connection, project_id: str, physical_ids: Collection[str], names: Collection[str]
) -> frozenset[str]:
    """Return those of the ids and names that belong to resources of the project's stacks.

    A name counts for a resource that is being created, whose id may not be recorded yet (RULE 4).
    """
    ids = sorted(physical_ids)
    found: set[str] = set()
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        some = ids[start : start + _IDS_PER_STATEMENT]
        query = sa.select(t.c.physical_id).where(
            t.c.physical_id.in_(some), t.c.project_id == project_id
        )
        found.update(conn.scalars(query))
    creating = sa.select(t.c.physical_name).where(
        t.c.project_id == project_id, t.c.job_state.is_not(None), t.c.physical_id.is_(None)
    )
    found.update(set(conn.scalars(creating)).intersection(names))
    return frozenset(found)
