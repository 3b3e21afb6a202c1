"""Observations of the watch as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.observation import ResourceObservation
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import observation as t

FIELDS = tuple(field.name for field in fields(ResourceObservation))
COLUMNS = tuple(t.c[name] for name in FIELDS)
_CHANGED = "changed"  # key of the list in the stored map
_CHUNK = 500  # few enough for the database to look rows up by key


def from_row(row: Any) -> ResourceObservation:
    """Return the observation of a row of ``COLUMNS``.

    Raises:
        StoredValueUnreadable: A value of the row cannot be decoded.
    """
    values = dict(zip(FIELDS, check_row(t.name, FIELDS, row), strict=True))
    return ResourceObservation(**{**values, "properties": changes_of(values["properties"])})


def changes_of(properties: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the properties that differ, of the map that is stored."""
    return tuple(properties.get(_CHANGED, ()))


def replace_rows(connection: Connection, observations: Sequence[ResourceObservation]) -> None:
    """Store observations in place of those of the same resources."""
    delete_rows(connection, [each.resource_id for each in observations])
    if observations:
        connection.execute(t.insert(), [_values(each) for each in observations])


def delete_rows(connection: Connection, resource_ids: Sequence[str]) -> None:
    """Delete the observations of resources."""
    ids = sorted(resource_ids)
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        connection.execute(safe_delete(t).where(t.c.resource_id.in_(chunk)))


def list_by_types(
    connection: Connection, project_id: str, implementations: Sequence[str]
) -> list[ResourceObservation]:
    """Return a project's observations of resources of the types, without damaged rows."""
    query = sa.select(*COLUMNS).where(
        t.c.project_id == project_id, t.c.implementation.in_(implementations)
    )
    return read_each(connection.execute(query), from_row)


def _values(observation: ResourceObservation) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(observation, name) for name in FIELDS}
    changed = {_CHANGED: [dict(each) for each in observation.properties]}
    values["properties"] = SensitiveValue(changed) if observation.sensitive else changed
    return values
