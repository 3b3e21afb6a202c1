"""Reads of the drift of nested stacks, as the resources that stand for them show it.

Called by the API alone; one statement for all nested stacks of a list, however deep they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.db.drift.descendant_stacks import descendant_stacks
from heat_convergence.db.drift.reads import (
    OBSERVATIONS,
    OBSERVED_AT,
    ResourceDrift,
    summarize,
)
from heat_convergence.db.tables import observation, stack


def read_by_parents(conn: Connection, stack_ids: Collection[str]) -> Mapping[str, ResourceDrift]:
    """Return the drift of the nested stacks of the stacks' resources.

    Returns:
        Resource id → the status that the view of its nested stack shows, that of the stacks below
            it included, and the earliest time of an observation; without those of which nothing
            was observed.
    """
    return _read(conn, stack.c.owner_id.in_(sorted(stack_ids)))


def read_of_resource(conn: Connection, resource_id: str) -> ResourceDrift | None:
    """Return the drift of the resource's nested stack; None if nothing was observed of it."""
    return _read(conn, stack.c.owner_resource_id == resource_id).get(resource_id)


def _read(conn: Connection, heads: sa.ColumnElement[bool]) -> Mapping[str, ResourceDrift]:
    descendants = descendant_stacks(heads)
    query = (
        sa.select(
            descendants.c.owner,
            observation.c.status,
            sa.func.count().label("number"),
            sa.func.min(OBSERVED_AT).label("observed_at"),
        )
        .select_from(OBSERVATIONS.join(descendants, descendants.c.id == observation.c.stack_id))
        .group_by(descendants.c.owner, observation.c.status)
    )
    rows: dict[str, list[Any]] = {}
    for row in conn.execute(query):
        rows.setdefault(row.owner, []).append(row)
    return {owner: _summary(some) for owner, some in sorted(rows.items())}


def _summary(rows: Collection[Any]) -> ResourceDrift:
    """Return the drift of one nested stack; rows that cannot be decoded are left out."""
    counts = {row.status: row.number for row in rows if is_readable(row.status)}
    times: list[datetime] = [row.observed_at for row in rows if is_readable(row.observed_at)]
    if not counts:
        return ResourceDrift(DriftStatus.UNKNOWN)
    return ResourceDrift(summarize(counts), min(times, default=None))
