"""Rows of resources by their names in a stack, in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.ports.incarnations import IncarnationRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.resource_rows import NARROW_COLUMNS, select_narrow_rows
from heat_convergence.db.tables import resource

_FIELDS = InputResource.__slots__
_NAMED = (
    resource.c.stack_id == sa.bindparam("stack"),
    resource.c.name.in_(sa.bindparam("names", expanding=True)),
)
_LIST = sa.select(*NARROW_COLUMNS).where(*_NAMED).order_by(resource.c.id)
_GET_INPUTS = sa.select(*(resource.c[name] for name in _FIELDS)).where(
    *_NAMED, resource.c.desired == DesiredState.PRESENT
)


class SqlIncarnationRepository(SqlRepository, IncarnationRepository):
    """Resources by name on a database connection."""

    def list_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Return all rows of these names, desired or not, narrow, by id."""
        return select_narrow_rows(self._connection, _LIST, stack=stack_id, names=sorted(names))

    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]:
        """Return, by name, what jobs may read of the present resources of these names."""
        if not names:
            return {}
        rows = self._connection.execute(_GET_INPUTS, {"stack": stack_id, "names": sorted(names)})
        found = [dict(zip(_FIELDS, row, strict=True)) for row in rows]
        value_dedup.load_shared(self._connection, found)
        return {
            row["name"]: InputResource(**{**row, "properties": row["properties"] or {}})
            for row in found
        }
