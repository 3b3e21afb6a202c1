"""Reads by which a process notices that root stacks of projects have changed.

Called by the API alone. A change is the start or the end of a traversal: the first moves
``begun_at`` and the version, the second the status. So the numbers of stacks that are in
progress, or started since a time, are other ones after each change.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Status
from heat_convergence.db.tables import stack as t

_NUMBERS = (sa.func.count(), sa.func.sum(t.c.version))
_IS_ROOT = t.c.owner_id.is_(None)
_IS_DELETED = t.c.deleted_at.is_not(None)


@dataclass(frozen=True, slots=True)
class WatchedProject:
    """The root stacks of a project that are in progress, or whose last traversal started since."""

    project_id: str
    since: datetime


def find_digests(
    conn: Connection, watched: Collection[WatchedProject]
) -> dict[WatchedProject, str]:
    """Return a text for each project that is another one after each change of a root stack.

    Takes one statement, and one for each distinct time.
    """
    projects = sorted({each.project_id for each in watched})
    unfinished = _count_unfinished(conn, projects)
    digests = {}
    for since in {each.since for each in watched}:
        started = _count_started(conn, projects, since)
        for project_id in projects:
            numbers = (unfinished[project_id], sorted(started[project_id]))
            digest = hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]
            digests[WatchedProject(project_id, since)] = digest
    return {each: digests[each] for each in watched}


def _count_unfinished(
    conn: Connection, projects: Collection[str]
) -> Mapping[str, tuple[int, int]]:
    query = (
        sa.select(t.c.project_id, *_NUMBERS)
        .where(t.c.status == Status.IN_PROGRESS, t.c.project_id.in_(projects), _IS_ROOT)
        .group_by(t.c.project_id)
    )
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    # The databases return sums as numbers of several types.
    found |= {project_id: (count, int(sum_)) for project_id, count, sum_ in conn.execute(query)}
    return found


def _count_started(
    conn: Connection, projects: Collection[str], since: datetime
) -> Mapping[str, list[Any]]:
    states = (t.c.project_id, t.c.action, t.c.status, _IS_DELETED)
    query = (
        sa.select(*states, *_NUMBERS)
        .where(t.c.project_id.in_(projects), t.c.started_at >= since, _IS_ROOT)
        .group_by(*states)
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for project_id, action, status, is_deleted, count, sum_ in conn.execute(query):
        state = (str(action), str(status), bool(is_deleted))
        found[project_id].append((*state, count, int(sum_)))
    return found
