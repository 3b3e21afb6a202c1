"""Reads of the event sinks that the environments of goals name.

Called by the dispatch of events. One statement each, for however many goals.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.goal_storage import environment_of_common_part
from heat_convergence.db.statements.contents import get_contents
from heat_convergence.db.tables import goal

Json = Any
_FIND_COMMON_PARTS = sa.select(goal.c.id, goal.c.common_part_hash).where(
    goal.c.id.in_(sa.bindparam("ids", expanding=True))
)


def find_common_parts(conn: Connection, goal_ids: Collection[str]) -> dict[str, str]:
    """Return the hashes of the common parts of goals, by goal."""
    rows = conn.execute(_FIND_COMMON_PARTS, {"ids": sorted(goal_ids)})
    return {row[0]: row[1] for row in rows}


def load_sinks(conn: Connection, common_parts: Collection[str]) -> dict[str, list[Json]]:
    """Return the sinks that common parts name, by hash."""
    texts = get_contents(conn, common_parts)
    return {key: _sinks(text) for key, text in texts.items()}


def _sinks(common_part: str) -> list[Json]:
    named = environment_of_common_part(common_part).get("event_sinks") or ()
    return [each for each in named if isinstance(each, dict)]
