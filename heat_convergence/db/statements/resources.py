"""Statements about resources, inside a transaction of ``db.store``.

Rows are locked in the order of their ids (see ``convergence.ports``).  The light
reads leave out the wide columns, which the observer does not need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.tables import physical_dependency, resource, resource_graph

_FIELDS = Resource.__slots__
_WIDE = {"definition": {}, "properties": None, "attributes": {}, "data": {}}
_COLUMNS = tuple(resource.c[name] for name in _FIELDS)
_LIGHT_FIELDS = tuple(name for name in _FIELDS if name not in _WIDE)
_LIGHT = tuple(resource.c[name] for name in _LIGHT_FIELDS)
_UNPLANNED = ("properties", "attributes")  # what no plan asks for, and long
_PLANNED_FIELDS = tuple(name for name in _FIELDS if name not in _UNPLANNED)
_PLANNED = tuple(resource.c[name] for name in _PLANNED_FIELDS)
_INPUT_FIELDS = InputResource.__slots__
_APPLYING = (Verb.CONVERGE, Verb.ADOPT)  # jobs after which reality has the definition
_WAKING = (Verb.CONVERGE, Verb.RESUME)  # jobs after which it is not suspended
_SOME = 500

# What runs for every job is built once: building it takes longer than running it.
_IDS = sa.bindparam("ids", expanding=True)

# Locks against writers; a foreign key that points at the row may do so meanwhile.
FOR_NO_KEY_UPDATE = {"key_share": True}
FOR_NO_KEY_UPDATE_SKIP_LOCKED = {**FOR_NO_KEY_UPDATE, "skip_locked": True}


def get_columns() -> tuple[sa.Column[Any], ...]:
    """What ``from_rows`` reads, in its order."""
    return _COLUMNS


def get_narrow_columns() -> tuple[sa.Column[Any], ...]:
    """What ``from_narrow_row`` reads, in its order."""
    return _LIGHT


def from_rows(connection: Connection, rows: Iterable[Any]) -> list[Resource]:
    found = [dict(zip(_FIELDS, row, strict=True)) for row in rows]
    value_dedup.load_shared(connection, found)
    return [Resource(**row) for row in found]


def from_narrow_row(row: Any) -> Resource:
    return Resource(**dict(zip(_LIGHT_FIELDS, row, strict=True)), **_WIDE)  # type: ignore[arg-type]


def _rows(connection: Connection, statement: sa.Select[Any], **given: Any) -> list[Resource]:
    return from_rows(connection, connection.execute(statement, given))


def _light_rows(connection: Connection, statement: sa.Select[Any], **given: Any) -> list[Resource]:
    return [from_narrow_row(row) for row in connection.execute(statement, given)]


def _by_id(wanted: Sequence[Any]) -> sa.Select[Any]:
    selected = sa.select(*wanted).where(resource.c.id.in_(_IDS)).order_by(resource.c.id)
    return force_index(selected, resource)


_GET = _by_id(_COLUMNS)
_CLAIM = _GET.with_for_update(**FOR_NO_KEY_UPDATE_SKIP_LOCKED)
_LOCK_LIGHT = _by_id(_LIGHT).with_for_update(**FOR_NO_KEY_UPDATE)


def get(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _rows(connection, _GET, ids=sorted(ids)) if ids else []


def lock_claimable(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _rows(connection, _CLAIM, ids=sorted(ids)) if ids else []


def lock_resources(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _light_rows(connection, _LOCK_LIGHT, ids=sorted(ids)) if ids else []


def lock_resources_with_jobs(connection: Connection, stack_id: str) -> list[Resource]:
    statement = (
        force_index(sa.select(*_LIGHT), resource, _STEADY_INDEX)
        .where(resource.c.stack_id == stack_id, resource.c.job.is_not(None))
        .order_by(resource.c.id)
        .with_for_update(**FOR_NO_KEY_UPDATE)
    )
    return _light_rows(connection, statement)


def lock_by_stack(connection: Connection, stack_id: str) -> list[Resource]:
    statement = (
        force_index(sa.select(*_PLANNED, resource.c.properties.is_(None)), resource, _STEADY_INDEX)
        .where(resource.c.stack_id == stack_id)
        .order_by(resource.c.id)
        .with_for_update(**FOR_NO_KEY_UPDATE)
    )
    return [_planned(*row) for row in connection.execute(statement)]


def _planned(*values: Any) -> Resource:
    *known, without = values
    fields = dict(zip(_PLANNED_FIELDS, known, strict=True))
    return Resource(**fields, properties=None if without else {}, attributes={})


def get_by_stack(connection: Connection, stack_id: str) -> list[Resource]:
    return _rows(
        connection,
        sa.select(*_COLUMNS).where(resource.c.stack_id == stack_id).order_by(resource.c.id),
    )


# Entries of an index with the job's state would be in the way of engines, which hold
# the rows and move the state on; these stay as they are.  And InnoDB locks in the order
# of the index, whatever the order of the answer: this one's is that of ids.
_STEADY_INDEX = "ix_resource_stack_id_id"


_LOCK_LEASED = (
    _by_id([resource.c.id, resource.c.version])
    .where(resource.c.lease_token == sa.bindparam("token"))
    .with_for_update(**FOR_NO_KEY_UPDATE)
)


def lock_leased(connection: Connection, ids: Collection[str], token: str) -> dict[str, int]:
    found = connection.execute(_LOCK_LEASED, {"ids": sorted(ids), "token": token})
    return {row.id: row.version for row in found}


def any_status_reason_startswith(
    connection: Connection, stack_id: str, action: Action, beginning: str
) -> bool:
    statement = (
        sa.select(sa.literal(1))
        .where(
            resource.c.stack_id == stack_id,
            resource.c.desired == DesiredState.PRESENT,
            resource.c.action == action,
            resource.c.status_reason.startswith(beginning, autoescape=True),
        )
        .limit(1)
    )
    return connection.execute(statement).first() is not None


_HOLDING = (
    sa.select(*_LIGHT)
    .where(
        resource.c.id.in_(
            sa.select(physical_dependency.c.holder_id).where(
                physical_dependency.c.stack_id == sa.bindparam("stack"),
                physical_dependency.c.held_id.in_(_IDS),
            )
        ),
        resource.c.job.is_not(None),
    )
    .order_by(resource.c.id)
)


def find_physical_dependents(
    connection: Connection, stack_id: str, ids: Collection[str]
) -> list[Resource]:
    return _light_rows(connection, _HOLDING, stack=stack_id, ids=sorted(ids)) if ids else []


_NAMED = (
    resource.c.stack_id == sa.bindparam("stack"),
    resource.c.name.in_(sa.bindparam("names", expanding=True)),
)
_INCARNATIONS = sa.select(*_LIGHT).where(*_NAMED).order_by(resource.c.id)


def list_incarnations(
    connection: Connection, stack_id: str, names: Collection[str]
) -> list[Resource]:
    return _light_rows(connection, _INCARNATIONS, stack=stack_id, names=sorted(names))


_INPUTS = sa.select(*(resource.c[name] for name in _INPUT_FIELDS)).where(
    *_NAMED, resource.c.desired == DesiredState.PRESENT
)


def get_inputs(
    connection: Connection, stack_id: str, names: Collection[str]
) -> dict[str, InputResource]:
    if not names:
        return {}
    rows = connection.execute(_INPUTS, {"stack": stack_id, "names": sorted(names)})
    found = [dict(zip(_INPUT_FIELDS, row, strict=True)) for row in rows]
    value_dedup.load_shared(connection, found)
    return {
        row["name"]: InputResource(**{**row, "properties": row["properties"] or {}})
        for row in found
    }


# -- writing ------------------------------------------------------------------


def insert(connection: Connection, new: Sequence[Resource]) -> None:
    if new:
        rows = [{name: getattr(row, name) for name in _FIELDS} for row in new]
        value_dedup.store_shared(connection, rows)
        connection.execute(resource.insert(), [_sealed(row) for row in rows])


def update(connection: Connection, ids: Collection[str], **values: Any) -> None:
    if ids:
        given = {f"new_{name}": value for name, value in values.items()}
        connection.execute(_setting(_ANY_OF, tuple(values)), {"ids": sorted(ids), **given})


@lru_cache(maxsize=128)
def _setting(where: sa.ColumnElement[bool], names: tuple[str, ...]) -> sa.Update:
    return force_index(resource.update().where(where), resource).values(_new(names))


def _new(names: Iterable[str]) -> dict[str, Any]:
    return {name: sa.bindparam(f"new_{name}") for name in names}


_ANY_OF = resource.c.id.in_(_IDS)
_THE_ONE = resource.c.id == sa.bindparam("row_id")


def update_each(connection: Connection, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """One UPDATE prepared once and sent for each row, in the order of ids."""
    if not changes:
        return
    rows = {row_id: dict(changes[row_id]) for row_id in sorted(changes)}
    value_dedup.store_shared(connection, list(rows.values()))
    first = next(iter(changes.values()))
    connection.execute(
        _setting(_THE_ONE, tuple(first)),
        [
            {"row_id": row_id} | {f"new_{name}": value for name, value in _sealed(row).items()}
            for row_id, row in rows.items()
        ],
    )


_LEASED = sa.and_(
    _THE_ONE,
    resource.c.lease_token == sa.bindparam("token"),
    resource.c.version == sa.bindparam("of_version"),
)


def update_leased(
    connection: Connection, row_id: str, token: str, version: int, values: Mapping[str, Any]
) -> bool:
    row = dict(values)
    value_dedup.store_shared(connection, [row])
    given = {f"new_{name}": value for name, value in _sealed(row).items()}
    held = {"row_id": row_id, "token": token, "of_version": version}
    found = connection.execute(_setting(_LEASED, tuple(values)), {**given, **held})
    return found.rowcount == 1


def _sealed(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns, with those that show values wrapped if the row is sensitive."""
    if not columns.get("sensitive"):
        return columns
    return {
        name: SensitiveValue(value) if name in _WIDE and value is not None else value
        for name, value in columns.items()
    }


def set_resource_versions(connection: Connection, stack_id: str, version: int) -> None:
    of_stack = resource.update().where(resource.c.stack_id == stack_id)
    connection.execute(force_index(of_stack, resource, _STEADY_INDEX).values(version=version))


_SETTLE = force_index(resource.update().where(_ANY_OF), resource).values(
    **_new(["observed_at", "updated_at"]),
    status=Status.COMPLETE,
    job=None,
    job_state=None,
    observe_at=None,
    # Set before ``job``, by the order of the columns: MySQL reads what is set already.
    applied_hash=sa.case(
        (resource.c.job.in_(_APPLYING), resource.c.definition_hash),
        else_=resource.c.applied_hash,
    ),
    suspended=sa.case((resource.c.job.in_(_WAKING), sa.false()), else_=resource.c.suspended),
)


def mark_complete(connection: Connection, ids: Collection[str], now: datetime) -> None:
    if ids:
        given = {"ids": sorted(ids), "new_observed_at": now, "new_updated_at": now}
        connection.execute(_SETTLE, given)


def count_tree_resources(connection: Connection, root_id: str) -> int:
    wanted = sa.select(sa.func.count()).where(
        resource.c.root_id == root_id, resource.c.desired == DesiredState.PRESENT
    )
    return int(connection.scalar(wanted) or 0)


def delete(connection: Connection, ids: Collection[str]) -> None:
    for some in _some(sorted(ids)):
        connection.execute(safe_delete(resource).where(resource.c.id.in_(some)))


def delete_absent_resources(connection: Connection, stack_id: str) -> None:
    gone = (
        resource.c.stack_id == stack_id,
        resource.c.desired == DesiredState.ABSENT,
        resource.c.job.is_(None),
    )
    for some in _some(sorted(connection.scalars(sa.select(resource.c.id).where(*gone)))):
        touched = sa.or_(
            resource_graph.c.resource_id.in_(some), resource_graph.c.needed_by.in_(some)
        )
        connection.execute(
            safe_delete(resource_graph).where(resource_graph.c.stack_id == stack_id, touched)
        )
        delete(connection, some)


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Few enough at a time for the database to go by keys."""
    return (ids[at : at + _SOME] for at in range(0, len(ids), _SOME))


def delete_by_stack(connection: Connection, stack_id: str) -> None:
    for table in (resource_graph, physical_dependency, resource):
        connection.execute(safe_delete(table).where(table.c.stack_id == stack_id))
