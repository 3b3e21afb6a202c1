"""Resources in memory, by id, by stack and by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Unpack

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.resource_columns import (
    ResourceColumns,
    get_column,
    narrow,
    with_values,
)
from heat_convergence.convergence.model.transition_rules import reject_owned_columns
from heat_convergence.convergence.planning.goal_part import is_at_rest
from heat_convergence.convergence.ports.incarnations import IncarnationRepository
from heat_convergence.convergence.ports.resources import ResourceRepository
from heat_convergence.testing.memory.graph import MemoryGraphRepository
from heat_convergence.testing.memory.tables import MemoryRepository
from heat_convergence.testing.memory.values import (
    STORED_RESOURCE_COLUMNS,
    as_planned,
    as_stored,
)


class MemoryResourceRepository(MemoryRepository, ResourceRepository):
    """Resources in a dictionary."""

    def insert(self, resources: Iterable[Resource]) -> None:
        """Insert rows of existing stacks."""
        for row in resources:
            if row.stack_id not in self._tables.stacks or row.id in self._tables.resources:
                raise ValueError(f"resource {row.id} has no stack, or exists already")
            columns = {name: get_column(row, name) for name in STORED_RESOURCE_COLUMNS}
            self._tables.resources[row.id] = with_values(row, as_stored(columns))

    def lock(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, narrow, by id."""
        return [narrow(row) for row in self.get(ids)]

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's rows, by id, as planning needs them."""
        return [as_planned(row) for row in self.get_by_stack(stack_id)]

    def lock_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Return the stack's rows of these names, by id, as planning needs them."""
        return [row for row in self.lock_by_stack(stack_id) if row.name in names]

    def find_unsettled(self, stack_id: str, implementations: Mapping[str, str]) -> list[str]:
        """Return the names of the stack's rows that are not at rest."""
        rows = self.get_by_stack(stack_id)
        return [row.name for row in rows if not is_at_rest(row, implementations)]

    def get(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, whole, by id."""
        return self._tables.resources_by_id(ids)

    def get_by_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's rows, whole, by id."""
        return self._tables.resources_of_stack(stack_id)

    def list_by_physical_ids(
        self, project_id: str, physical_ids: Collection[str]
    ) -> list[Resource]:
        """Return the project's rows of these physical ids, whole, by id."""
        rows = self._tables.resources
        return [
            rows[key]
            for key in sorted(rows)
            if rows[key].identity.project_id == project_id
            and rows[key].physical.id in physical_ids
        ]

    def update(self, ids: Collection[str], **values: Unpack[ResourceColumns]) -> None:
        """Set the same values in all of the rows."""
        reject_owned_columns(values)
        self._tables.update_resources(ids, dict(values))

    def update_each(self, changes: Mapping[str, Mapping[str, object]]) -> None:
        """Set values by row."""
        for values in changes.values():
            reject_owned_columns(values)
        self._tables.update_each_resource(changes)

    def set_versions(self, stack_id: str, version: int) -> None:
        """Set the version of all of the stack's rows, and clear their timelines."""
        self.set_versions_of([row.id for row in self.get_by_stack(stack_id)], version)

    def set_versions_of(self, ids: Collection[str], version: int) -> None:
        """Set the version of the rows, and clear their timelines."""
        self._tables.update_resources(ids, {"version": version, "timeline": None})

    def count_by_stack(self, stack_id: str) -> int:
        """Return the number of the stack's rows."""
        return len(self.get_by_stack(stack_id))

    def delete(self, ids: Collection[str]) -> None:
        """Delete rows that the graph does not name any more."""
        for row_id in ids:
            if any(row_id in (edge.resource_id, edge.needed_by) for edge in self._tables.edges()):
                raise ValueError(f"resource {row_id} is still in the graph")
            self._tables.resources.pop(row_id, None)

    def delete_absent(self, stack_ids: Collection[str]) -> None:
        """Delete the stacks' rows that are desired absent and have no job, with their edges."""
        absent = {
            row.id
            for stack_id in stack_ids
            for row in self.get_by_stack(stack_id)
            if row.desired.state is DesiredState.ABSENT and row.job.verb is None
        }
        self._tables.keep_edges(
            lambda row: row.resource_id not in absent and row.needed_by not in absent
        )
        self.delete(absent)

    def delete_by_stacks(self, stack_ids: Collection[str], kept: Collection[str] = ()) -> None:
        """Delete the stacks' edges, physical dependencies and resources, apart from ``kept``."""
        for stack_id in stack_ids:
            MemoryGraphRepository(self._tables).clear(stack_id)
            self.delete([row.id for row in self.get_by_stack(stack_id) if row.id not in kept])

    def any_status_reason_startswith(self, stack_id: str, action: Action, beginning: str) -> bool:
        """Return whether a present resource has such a status reason in that action."""
        return any(
            row.state.reason.startswith(beginning)
            for row in self.get_by_stack(stack_id)
            if row.desired.state is DesiredState.PRESENT and row.state.action is action
        )


class MemoryIncarnationRepository(MemoryRepository, IncarnationRepository):
    """Resources found by name in a dictionary."""

    def list_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Return all rows of these names, desired or not, narrow, by id."""
        rows = self._tables.resources_of_stack(stack_id)
        return [narrow(row) for row in rows if row.name in names]

    def get_inputs_of_stacks(
        self, names: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, InputResource]]:
        """Return, by stack's id and by name, what ``get_inputs`` returns for each stack."""
        return {stack_id: self.get_inputs(stack_id, some) for stack_id, some in names.items()}

    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]:
        """Return, by name, what jobs may read of the present resources of these names."""
        return {
            row.name: InputResource.from_resource(row)
            for row in self._tables.resources_of_stack(stack_id)
            if row.name in names and row.desired.state is DesiredState.PRESENT
        }
