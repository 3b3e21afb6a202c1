"""Taking away what deleted stacks, or a whole project, left in the database.

Called by ``heat-convergence-manage`` while daemons run.  Each batch is one short
transaction; a stack's rows go together.  Texts that nothing leads to any more go last:
they are marked first, and whoever stores the same text meanwhile takes the mark off.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.model.goal_storage import file_hashes_of_common_part
from heat_convergence.db.connection.database import Database
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements import contents, value_dedup
from heat_convergence.db.tables import (
    content,
    event,
    goal,
    physical_dependency,
    resource,
    resource_graph,
    service,
    snapshot,
    software_config,
    software_deployment,
    stack,
    stack_tag,
)

# In this order.
_OF_A_STACK = (event, snapshot, goal, stack_tag, resource_graph, physical_dependency, resource)
_CHUNK = 500


def find_deleted_stacks(
    database: Database, before: datetime, project_id: str | None, limit: int
) -> list[str]:
    """Ids of stacks that were deleted before then, the oldest first; without those whose
    snapshots still have something in the cloud that is being deleted."""
    saved = sa.exists().where(snapshot.c.stack_id == stack.c.id, snapshot.c.delete_at.is_not(None))
    query = sa.select(stack.c.id).where(stack.c.deleted_at <= before, ~saved)
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    with database.read() as conn:
        return list(conn.scalars(query.order_by(stack.c.deleted_at, stack.c.id).limit(limit)))


def find_project_stacks(database: Database, project_id: str, limit: int) -> list[str]:
    """Ids of a project's stacks, living or not, the innermost first."""
    query = sa.select(stack.c.id).where(stack.c.project_id == project_id)
    with database.read() as conn:
        return list(conn.scalars(query.order_by(stack.c.depth.desc(), stack.c.id).limit(limit)))


def purge_stacks(database: Database, ids: Collection[str]) -> int:
    """Deletes the stacks with all their rows; how many were there."""
    with database.write() as conn:
        locked = sa.select(stack.c.id).where(stack.c.id.in_(ids)).order_by(stack.c.id)
        found = list(conn.scalars(locked.with_for_update()))
        for table in _OF_A_STACK:
            conn.execute(safe_delete(table).where(table.c.stack_id.in_(found)))
        conn.execute(safe_delete(stack).where(stack.c.id.in_(found)))
    return len(found)


def purge_software(database: Database, project_id: str) -> int:
    """Deletes a project's software deployments and configurations; how many."""
    with database.write() as conn:
        configs = sa.select(software_config.c.id).where(software_config.c.project_id == project_id)
        found = list(conn.scalars(configs))
        gone = 0
        for doomed in (
            safe_delete(software_deployment).where(software_deployment.c.config_id.in_(found)),
            safe_delete(software_deployment).where(software_deployment.c.project_id == project_id),
            safe_delete(software_config).where(software_config.c.project_id == project_id),
        ):
            gone += conn.execute(doomed).rowcount
        return gone


def purge_contents(database: Database) -> int:
    """Deletes the texts that nothing leads to; how many."""
    with database.read() as conn:
        candidates = sorted(set(conn.scalars(sa.select(content.c.hash))) - _named(conn))
    for chunk in _chunks(candidates):
        # Waits for whoever stores one of them now.
        mark = content.update().where(content.c.hash.in_(chunk)).values(unused=True)
        execute_with_retry(database, mark)
    with database.read() as conn:  # sees the goals of those that were waited for
        candidates = sorted(set(candidates) - _named(conn))
    gone = 0
    for chunk in _chunks(candidates):
        unused = sa.and_(content.c.hash.in_(chunk), content.c.unused)
        gone += execute_with_retry(database, safe_delete(content).where(unused))
    return gone


def execute_with_retry(database: Database, statement: sa.Update | sa.Delete) -> int:
    """Runs it alone, again where it gave way to a daemon's; how many rows it changed."""

    def attempt() -> int:
        with database.write() as conn:
            return int(conn.execute(statement).rowcount)

    return retry_transaction(attempt, wait=time.sleep)


def find_dead_services(conn: Connection, now: datetime) -> list[str]:
    """Ids of worker processes that have not reported for two of their intervals."""
    query = sa.select(
        service.c.id, service.c.created_at, service.c.updated_at, service.c.report_interval_s
    )
    return [
        row.id
        for row in conn.execute(query)
        if (now - (row.updated_at or row.created_at)).total_seconds() > 2 * row.report_interval_s
    ]


def purge_services(database: Database, now: datetime) -> int:
    """Takes dead worker processes off the list; how many."""
    with database.write() as conn:
        ids = find_dead_services(conn, now)
        conn.execute(safe_delete(service).where(service.c.id.in_(ids)))
    return len(ids)


def _named(conn: Connection) -> set[str]:
    """Hashes that goals name, and that values of resources and events lead to."""
    named = {key for row in value_dedup.find_content_references(conn) for key in row.hashes}
    inherited: set[str] = set()
    query = sa.select(
        goal.c.template_hash, goal.c.files, goal.c.content_hashes, goal.c.common_part_hash
    )
    for row in conn.execute(query):
        named.add(row.template_hash)
        named.update(row.files.values(), row.content_hashes)
        if row.common_part_hash is not None:
            inherited.add(row.common_part_hash)
    for chunk in _chunks(sorted(inherited)):
        for text in contents.get_contents(conn, chunk).values():
            named.update(file_hashes_of_common_part(text).values())
    return named | inherited


def _chunks(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[at : at + _CHUNK] for at in range(0, len(keys), _CHUNK)]
