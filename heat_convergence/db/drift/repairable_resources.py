"""The resources of stacks with their drift, as a dry run of a repair needs them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_preview import RepairableResource
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.db.drift import observation_rows
from heat_convergence.db.drift.reads import DRIFT_COLUMNS, RESOURCES_WITH_DRIFT, read_drift
from heat_convergence.db.statements.readable_rows import read_each
from heat_convergence.db.tables import observation, resource, stack


def list_by_stacks(conn: Connection, stack_ids: Collection[str]) -> list[RepairableResource]:
    """Return the resources that the goals of the stacks want, by stack and name."""
    query = (
        sa.select(
            *DRIFT_COLUMNS,
            resource.c.stack_id,
            stack.c.name.label("stack_name"),
            resource.c.name,
            resource.c.type,
            resource.c.implementation,
            resource.c.physical_id,
            resource.c.hooks_and_restrictions,
            resource.c.referenced_names,
            observation.c.properties,
            observation.c.sensitive,
        )
        .select_from(RESOURCES_WITH_DRIFT.join(stack, stack.c.id == resource.c.stack_id))
        .where(
            resource.c.stack_id.in_(sorted(stack_ids)),
            resource.c.desired == DesiredState.PRESENT,
        )
        .order_by(resource.c.stack_id, resource.c.name)
    )
    return read_each(conn.execute(query), _resource_of)


def _resource_of(row: Any) -> RepairableResource:
    drift = read_drift(row)
    is_modified = drift.status is DriftStatus.MODIFIED and is_readable(row.properties)
    return RepairableResource(
        stack_id=row.stack_id,
        stack_name=row.stack_name,
        name=row.name,
        type=row.type,
        implementation=row.implementation,
        physical_id=row.physical_id or "",
        words=tuple(row.hooks_and_restrictions),
        referenced_names=frozenset(row.referenced_names),
        status=drift.status,
        observed_at=drift.observed_at,
        properties=observation_rows.changes_of(row.properties) if is_modified else (),
        sensitive=bool(row.sensitive),
    )
