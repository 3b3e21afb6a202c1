"""Rows of resources by their names in a stack, in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from heat_convergence.common.values.equal_parts import EqualParts
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.ports.incarnations import IncarnationRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.readable_rows import check_row
from heat_convergence.db.statements.resource_rows import NARROW_COLUMNS, select_narrow_rows
from heat_convergence.db.tables import resource

_FIELDS = InputResource.__slots__
_NAMES = resource.c.name.in_(sa.bindparam("names", expanding=True))
_LIST = (
    sa.select(*NARROW_COLUMNS)
    .where(resource.c.stack_id == sa.bindparam("stack"), _NAMES)
    .order_by(resource.c.id)
)
_GET_INPUTS = sa.select(resource.c.stack_id, *(resource.c[name] for name in _FIELDS)).where(
    resource.c.stack_id.in_(sa.bindparam("stacks", expanding=True)),
    _NAMES,
    resource.c.desired == DesiredState.PRESENT,
)


class SqlIncarnationRepository(SqlRepository, IncarnationRepository):
    """Resources by name on a database connection."""

    def list_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Return all rows of these names, desired or not, narrow, by id."""
        return select_narrow_rows(self._connection, _LIST, stack=stack_id, names=sorted(names))

    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]:
        """Return, by name, what jobs may read of the present resources of these names."""
        return self.get_inputs_of_stacks({stack_id: names})[stack_id]

    def get_inputs_of_stacks(
        self, names: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, InputResource]]:
        """Return, by stack's id and by name, what ``get_inputs`` returns for each stack."""
        inputs: dict[str, dict[str, InputResource]] = {stack_id: {} for stack_id in names}
        every_name = sorted(set().union(*names.values()))
        if not every_name:
            return inputs
        parameters = {"stacks": sorted(names), "names": every_name}
        share = EqualParts().share  # the members of a group are alike
        rows = [
            (
                stack_id,
                dict(zip(_FIELDS, map(share, check_row("resource", _FIELDS, row)), strict=True)),
            )
            for stack_id, *row in self._connection.execute(_GET_INPUTS, parameters)
        ]
        found = [(stack_id, row) for stack_id, row in rows if row["name"] in names[stack_id]]
        value_dedup.load_shared(self._connection, [row for _stack_id, row in found])
        for stack_id, row in found:
            row["properties"] = {} if row["properties"] is None else row["properties"]
            inputs[stack_id][row["name"]] = InputResource(**row)
        return inputs
