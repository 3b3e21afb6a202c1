"""Observations of the watch as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.observation import ResourceObservation
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.tables import observation as t

FIELDS = tuple(field.name for field in fields(ResourceObservation))
COLUMNS = tuple(t.c[name] for name in FIELDS)
_CHUNK = 500  # few enough for the database to look rows up by key


def from_row(row: Any) -> ResourceObservation:
    """Return the observation of a row of ``COLUMNS``."""
    values = dict(zip(FIELDS, row, strict=True))
    return ResourceObservation(**{**values, "properties": tuple(values["properties"])})


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
    """Return a project's observations of resources of the types."""
    query = sa.select(*COLUMNS).where(
        t.c.project_id == project_id, t.c.implementation.in_(implementations)
    )
    return [from_row(row) for row in connection.execute(query)]


def _values(observation: ResourceObservation) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(observation, name) for name in FIELDS}
    documents = [dict(each) for each in observation.properties]
    values["properties"] = SensitiveValue(documents) if observation.sensitive else documents
    return values
