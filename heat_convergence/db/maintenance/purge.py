"""Deletion of rows that deleted stacks, or a whole project, left behind.

Called by ``heat-convergence-manage`` while daemons run.  Each batch is one short
transaction; a stack's rows are deleted together.  Texts that nothing refers to any more
come last: they are marked first, and a transaction that stores the same text meanwhile
clears the mark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
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
    drift_repair,
    event,
    goal,
    observation,
    physical_dependency,
    quarantine,
    resource,
    resource_graph,
    service,
    snapshot,
    software_config,
    software_deployment,
    stack,
    stack_drift,
    stack_plan,
    stack_tag,
)

# Deleted in this order.
_OF_A_STACK = (
    event,
    snapshot,
    goal,
    stack_tag,
    resource_graph,
    physical_dependency,
    observation,
    stack_drift,
    drift_repair,
    quarantine,
    stack_plan,
    resource,
)
_CHUNK = 500
MAX_TRANSACTION_S = 60.0


def find_deleted_stacks(
    database: Database, before: datetime, project_id: str | None, limit: int
) -> list[str]:
    """Return ids of stacks deleted before that time, the oldest first.

    Stacks whose snapshots are still being deleted in the cloud are left out, and trees that have
    resources in quarantine.
    """
    saved = sa.exists().where(snapshot.c.stack_id == stack.c.id, snapshot.c.delete_at.is_not(None))
    root_id = sa.func.coalesce(stack.c.root_id, stack.c.id)
    quarantined = sa.exists().where(quarantine.c.root_id == root_id)
    query = sa.select(stack.c.id).where(stack.c.deleted_at <= before, ~saved, ~quarantined)
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    with database.read() as conn:
        return list(conn.scalars(query.order_by(stack.c.deleted_at, stack.c.id).limit(limit)))


def find_project_stacks(database: Database, project_id: str, limit: int) -> list[str]:
    """Return ids of a project's stacks, deleted or not, the innermost first."""
    query = sa.select(stack.c.id).where(stack.c.project_id == project_id)
    with database.read() as conn:
        return list(conn.scalars(query.order_by(stack.c.depth.desc(), stack.c.id).limit(limit)))


def purge_stacks(database: Database, ids: Collection[str]) -> int:
    """Delete the stacks with all their rows; return how many existed."""
    with database.write() as conn:
        locked = sa.select(stack.c.id).where(stack.c.id.in_(ids)).order_by(stack.c.id)
        found = list(conn.scalars(locked.with_for_update()))
        for table in _OF_A_STACK:
            conn.execute(safe_delete(table).where(table.c.stack_id.in_(found)))
        conn.execute(safe_delete(stack).where(stack.c.id.in_(found)))
    return len(found)


def purge_software(database: Database, project_id: str) -> int:
    """Delete a project's software deployments and configurations; return how many."""
    with database.write() as conn:
        configs = sa.select(software_config.c.id).where(software_config.c.project_id == project_id)
        found = list(conn.scalars(configs))
        deleted = 0
        for statement in (
            safe_delete(software_deployment).where(software_deployment.c.config_id.in_(found)),
            safe_delete(software_deployment).where(software_deployment.c.project_id == project_id),
            safe_delete(software_config).where(software_config.c.project_id == project_id),
        ):
            deleted += conn.execute(statement).rowcount
        return deleted


def purge_plans(database: Database, now: datetime, limit: int) -> int:
    """Delete stored plans that have expired, the oldest first; return how many."""
    expired = sa.select(stack_plan.c.id).where(stack_plan.c.expires_at <= now)
    with database.read() as conn:
        ids = list(conn.scalars(expired.order_by(stack_plan.c.expires_at).limit(limit)))
    if not ids:
        return 0
    return execute_with_retry(database, safe_delete(stack_plan).where(stack_plan.c.id.in_(ids)))


def purge_contents(database: Database, wait: Callable[[float], object] = time.sleep) -> int:
    """Delete the texts that nothing refers to; return how many.

    On a Galera cluster the marks do not wait for transactions on other nodes. They are waited
    for, as long as a transaction may last.
    """
    with database.read() as conn:
        candidates = sorted(set(conn.scalars(sa.select(content.c.hash))) - _find_references(conn))
    for chunk in _chunks(candidates):
        # Waits for transactions that are storing one of them.
        mark = content.update().where(content.c.hash.in_(chunk)).values(unused=True)
        execute_with_retry(database, mark)
    if candidates and database.is_on_galera():
        wait(MAX_TRANSACTION_S)
    with database.read() as conn:  # includes the goals of those transactions
        candidates = sorted(set(candidates) - _find_references(conn))
    deleted = 0
    for chunk in _chunks(candidates):
        unused = sa.and_(content.c.hash.in_(chunk), content.c.unused)
        deleted += execute_with_retry(database, safe_delete(content).where(unused))
    return deleted


def execute_with_retry(database: Database, statement: sa.Update | sa.Delete) -> int:
    """Run a statement in a transaction of its own, and retry it after a deadlock.

    Returns:
        How many rows it changed.
    """

    def attempt() -> int:
        """Run the statement once."""
        with database.write() as conn:
            return int(conn.execute(statement).rowcount)

    return retry_transaction(attempt, wait=time.sleep)


def find_dead_services(conn: Connection, now: datetime) -> list[str]:
    """Return ids of worker processes that have not reported for two of their intervals."""
    query = sa.select(
        service.c.id, service.c.created_at, service.c.updated_at, service.c.report_interval_s
    )
    return [
        row.id
        for row in conn.execute(query)
        if (now - (row.updated_at or row.created_at)).total_seconds() > 2 * row.report_interval_s
    ]


def purge_services(database: Database, now: datetime) -> int:
    """Delete the rows of dead worker processes; return how many."""
    with database.write() as conn:
        ids = find_dead_services(conn, now)
        conn.execute(safe_delete(service).where(service.c.id.in_(ids)))
    return len(ids)


def _find_references(conn: Connection) -> set[str]:
    """Return the hashes that goals, resources and events refer to."""
    used = {key for row in value_dedup.find_content_references(conn) for key in row.hashes}
    common: set[str] = set()
    query = sa.select(
        goal.c.template_hash, goal.c.files, goal.c.content_hashes, goal.c.common_part_hash
    )
    for row in conn.execute(query):
        used.add(row.template_hash)
        used.update(row.files.values(), row.content_hashes)
        if row.common_part_hash is not None:
            common.add(row.common_part_hash)
    for chunk in _chunks(sorted(common)):
        for text in contents.get_contents(conn, chunk).values():
            used.update(file_hashes_of_common_part(text).values())
    return used | common


def _chunks(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[at : at + _CHUNK] for at in range(0, len(keys), _CHUNK)]
