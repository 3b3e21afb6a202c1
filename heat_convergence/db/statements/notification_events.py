"""Notification events: a commit's stack events with their parents' resources.

Called by ``db.store`` at the end of a transaction, inside it, so that the parent's row
is that of the event.  One statement, and none unless a stack was updated.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.notification_events import (
    NestedStackOwner,
    NotificationEvent,
)
from heat_convergence.db.tables import resource, stack


def get_notification_events(
    connection: Connection, events: Sequence[Event]
) -> list[NotificationEvent]:
    """Return the events as they are announced; those of updates with their parents."""
    updated = [event.stack_id for event in events if event.action == Action.UPDATE]
    parents = _get_parents(connection, updated) if updated else {}
    return [
        NotificationEvent(
            event, parents.get(event.stack_id) if event.action == Action.UPDATE else None
        )
        for event in events
    ]


def _get_parents(connection: Connection, stack_ids: Sequence[str]) -> dict[str, NestedStackOwner]:
    member = resource.alias("member")
    members = (
        sa.select(sa.func.count(member.c.id))
        .where(
            member.c.stack_id == stack.c.id,
            member.c.desired == DesiredState.PRESENT,
            member.c.status != Status.FAILED,
        )
        .scalar_subquery()
    )
    query = (
        sa.select(stack.c.id, resource.c.stack_id, resource.c.data, members.label("members"))
        .join(resource, resource.c.id == stack.c.owner_resource_id)
        .where(stack.c.id.in_(stack_ids))
    )
    return {
        row.id: NestedStackOwner(row.stack_id, row.data or {}, row.members)
        for row in connection.execute(query)
    }
