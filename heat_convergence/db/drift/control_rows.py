"""Policies and pauses that users have set for the drift of stacks, as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.observation import ControlValues, StackDriftControl
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import repair_rows
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import stack
from heat_convergence.db.tables import stack_drift as t
from heat_convergence.template.environment.drift_policies import DriftPolicy

_FIELDS = tuple(field.name for field in fields(StackDriftControl))
_COLUMNS = tuple(t.c[name] for name in _FIELDS)
_LOCK = (
    sa.select(stack.c.id)
    .where(stack.c.id == sa.bindparam("locked"))
    .with_for_update(key_share=True)
)
_CHUNK = 500  # few enough for the database to look rows up by key


def list_controls(
    connection: Connection, stack_ids: Collection[str]
) -> Mapping[str, StackDriftControl]:
    """Return what is set for those of the stacks that have a row, by id."""
    ids = sorted(stack_ids)
    found = {}
    for start in range(0, len(ids), _CHUNK):
        query = sa.select(*_COLUMNS).where(t.c.stack_id.in_(ids[start : start + _CHUNK]))
        for each in read_each(connection.execute(query), _from_row):
            found[each.stack_id] = each
    return found


def get_policies(connection: Connection, stacks: Iterable[Stack]) -> Mapping[str, DriftPolicy]:
    """Return the policies of those of the stacks that have one of their own or of the root."""
    tree_ids = {stack.id: stack.tree_id for stack in stacks}
    controls = list_controls(connection, {*tree_ids, *tree_ids.values()})
    found = {}
    for stack_id, tree_id in tree_ids.items():
        for each in (controls.get(tree_id), controls.get(stack_id)):
            if each is not None and each.policy is not None:
                found[stack_id] = each.policy
    return found


def get_control(connection: Connection, stack_id: str) -> StackDriftControl:
    """Return what is set for a stack."""
    found = list_controls(connection, [stack_id])
    return found.get(stack_id, StackDriftControl(stack_id=stack_id))


def change_control(
    connection: Connection, stack_id: str, values: ControlValues
) -> StackDriftControl:
    """Change what is set for a stack, one caller at a time; return all of it."""
    connection.execute(_LOCK, {"locked": stack_id})
    changed = replace(get_control(connection, stack_id), **values)
    connection.execute(safe_delete(t).where(t.c.stack_id == stack_id))
    connection.execute(t.insert(), {name: getattr(changed, name) for name in _FIELDS})
    if "repair_window" in values:
        repair_rows.reset_deferred(connection, stack_id)
    return changed


def _from_row(row: sa.Row[tuple[object, ...]]) -> StackDriftControl:
    values = dict(zip(_FIELDS, check_row(t.name, _FIELDS, row), strict=True))
    return StackDriftControl(**values)
