"""Watch groups that hints of other services make due before their time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.observation import ReadPause
from heat_convergence.db.tables import resource, stack, watch_group

GroupKeys = Collection[tuple[str, str]]  # pairs of project and resource type
_CHUNK = 500  # few enough for the database to look rows up by key


def find_groups(
    connection: Connection, hints: ChangeHints, at_rest: sa.ColumnElement[bool]
) -> set[tuple[str, str]]:
    """Return the groups of the hints' physical resources, and those that the hints name."""
    found = {
        (project_id, name) for project_id, names in hints.types_by_project() for name in names
    }
    ids = sorted(hints.physical_ids)
    for start in range(0, len(ids), _CHUNK):
        query = (
            sa.select(resource.c.project_id, resource.c.implementation)
            .join(stack)
            .where(resource.c.physical_id.in_(ids[start : start + _CHUNK]), at_rest)
            .distinct()
        )
        rows = connection.execute(query)
        found.update((row.project_id, row.implementation) for row in rows)
    return found


def advance(
    connection: Connection, keys: GroupKeys, hints: ChangeHints, now: datetime, pause: ReadPause
) -> int:
    """Make groups due now, or after the pause if they were read a short time ago.

    Returns:
        The number of groups whose next read is earlier than before.
    """
    by_type: dict[str, list[str]] = {}
    for project_id, name in sorted(keys):
        by_type.setdefault(name, []).append(project_id)
    count = 0
    for name, projects in sorted(by_type.items()):
        for start in range(0, len(projects), _CHUNK):
            condition = _is_group(name, projects[start : start + _CHUNK])
            count += _advance(connection, condition, now, pause.known)
    names = hints.types_of_any_project()
    if names:
        condition = watch_group.c.implementation.in_(names)
        count += _advance(connection, condition, now, pause.any_project)
    return count


def _advance(
    connection: Connection, condition: sa.ColumnElement[bool], now: datetime, pause: timedelta
) -> int:
    """Advance the matching groups, in the order of their keys.

    The time of a read that has failed is not known: it may be a moment ago.
    """
    is_early = sa.or_(
        watch_group.c.reason != "",
        sa.and_(watch_group.c.observed_at.is_not(None), watch_group.c.observed_at > now - pause),
    )
    is_later = sa.or_(
        watch_group.c.next_at > now + pause,
        sa.and_(sa.not_(is_early), watch_group.c.next_at > now),
    )
    key = (watch_group.c.project_id, watch_group.c.implementation)
    later = (
        sa.select(*key, sa.case((is_early, 1), else_=0).label("is_early"))
        .where(condition, is_later)
        .order_by(*key)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(later).all()
    for early, time in ((1, now + pause), (0, now)):
        by_type: dict[str, list[str]] = {}
        for row in rows:
            if row.is_early == early:
                by_type.setdefault(row.implementation, []).append(row.project_id)
        for name, projects in sorted(by_type.items()):
            matches = _is_group(name, projects)
            connection.execute(watch_group.update().where(matches).values(next_at=time))
    return len(rows)


def _is_group(name: str, projects: Collection[str]) -> sa.ColumnElement[bool]:
    of_type = watch_group.c.implementation == name
    return sa.and_(of_type, watch_group.c.project_id.in_(projects))


def keep_earlier(next_at: datetime, taken_until: datetime | None) -> Any:
    """Return the value of ``next_at`` that keeps the time of a hint, if that is earlier."""
    if taken_until is None:
        return next_at
    hinted = sa.and_(watch_group.c.next_at < taken_until, watch_group.c.next_at < next_at)
    planned = sa.literal(next_at, watch_group.c.next_at.type)
    return sa.case((hinted, watch_group.c.next_at), else_=planned)
