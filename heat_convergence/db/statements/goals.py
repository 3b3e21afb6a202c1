"""Statements about goals and the content store.

Called by ``db.store`` inside its transaction.  Contents are kept once by the
SHA-256 of their text, whoever they belong to; only goals lead to them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.content_map import ContentMap
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full, with_parameter_values
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.tables import content, goal, snapshot

_FIELDS = Goal.__slots__
_SECRET = ("environment", "parameters", "outputs")
_COLUMNS = tuple(goal.c[name] for name in _FIELDS)
_LEAN = sa.select(*_COLUMNS).where(goal.c.id.in_(sa.bindparam("wanted", expanding=True)))


def get(connection: Connection, goal_id: str) -> Goal | None:
    """With everything that belongs to it."""
    found = get_row(connection, goal_id)
    return None if found is None else restore_full(found, partial(get_contents, connection))


def get_with_parameters(connection: Connection, goal_id: str) -> Goal | None:
    """With its parameters, without what it inherits."""
    found = get_row(connection, goal_id)
    return (
        None if found is None else with_parameter_values(found, partial(get_contents, connection))
    )


def get_row(connection: Connection, goal_id: str) -> Goal | None:
    """As its row has it."""
    return get_rows(connection, [goal_id]).get(goal_id)


def get_rows(connection: Connection, ids: Collection[str]) -> dict[str, Goal]:
    if not ids:
        return {}
    rows = connection.execute(_LEAN, {"wanted": sorted(ids)})
    return {found.id: found for found in map(_from_row, rows)}


def _from_row(row: Any) -> Goal:
    return Goal(**dict(zip(_FIELDS, row, strict=True)))


def insert(connection: Connection, new: Goal) -> None:
    columns = {name: getattr(new, name) for name in _FIELDS}
    if new.sensitive:
        columns.update({name: SensitiveValue(columns[name]) for name in _SECRET})
    connection.execute(goal.insert(), columns)


def delete_except(connection: Connection, stack_id: str, keep: Collection[str]) -> None:
    """Deletes the stack's goals but those to keep and those of its snapshots."""
    saved = sa.select(snapshot.c.goal_id).where(snapshot.c.stack_id == stack_id)
    old = sa.select(goal.c.id).where(
        goal.c.stack_id == stack_id, goal.c.id.not_in(sorted(keep)), goal.c.id.not_in(saved)
    )
    # Read first: a DELETE would lock the snapshots that it asks about.
    ids = sorted(connection.scalars(old))
    if ids:
        connection.execute(safe_delete(goal).where(goal.c.id.in_(ids)))


def put_contents(connection: Connection, contents: Mapping[str, str]) -> None:
    """Stores hash → text; what is there already stays, also when another transaction
    puts it, or is about to purge it, at the same moment."""
    if not contents:
        return
    kept = set(connection.scalars(_KEEP, {"keys": sorted(contents)}))
    rows = [{"hash": key, "body": contents[key]} for key in sorted(contents) if key not in kept]
    if rows:
        connection.execute(_insert_or_keep(connection.dialect.name), rows)


# A shared lock: whoever needs the same popular text goes on, who would purge it waits.
_KEEP = (
    force_index(sa.select(content.c.hash), content)
    .where(content.c.hash.in_(sa.bindparam("keys", expanding=True)), ~content.c.unused)
    .order_by(content.c.hash)
    .with_for_update(read=True)
)


def _insert_or_keep(dialect: str) -> Any:
    """Takes the lock of a row that is there, and clears its ``unused``."""
    mysql = dialect in ("mysql", "mariadb")
    # That of the connection is loaded already; megabytes of the others are not needed.
    insert = import_module(f"sqlalchemy.dialects.{'mysql' if mysql else dialect}").insert
    if mysql:
        return insert(content).on_duplicate_key_update(unused=sa.false())
    return insert(content).on_conflict_do_update(
        index_elements=[content.c.hash], set_={"unused": sa.false()}
    )


def get_contents(connection: Connection, hashes: Collection[str]) -> ContentMap:
    """Those that are there."""
    if not hashes:
        return ContentMap()
    statement = sa.select(content.c.hash, content.c.body).where(content.c.hash.in_(sorted(hashes)))
    return ContentMap((row.hash, row.body) for row in connection.execute(statement))
