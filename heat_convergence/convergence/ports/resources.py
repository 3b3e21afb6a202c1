"""The port to the rows of resources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, Unpack

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import ResourceColumns


class ResourceRepository(Protocol):
    """Rows of resources, one for each incarnation.

    *Narrow* rows are read without definition, properties, attributes and data, which
    are then empty.
    """

    def insert(self, resources: Iterable[Resource]) -> None:
        """Insert rows."""

    def lock(self, ids: Collection[str]) -> list[Resource]:
        """Lock those of the rows that exist and return them, narrow, by id."""

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Lock the stack's rows and return them, by id, as planning needs them.

        Returns:
            Rows without attributes; their properties are None or empty, as the row has
            properties or not.
        """

    def lock_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Lock the stack's rows of these names; return them as ``lock_by_stack`` does."""

    def find_unsettled(self, stack_id: str, implementations: Mapping[str, str]) -> list[str]:
        """Return the names of the stack's rows that are not at rest, see ``is_at_rest``.

        Args:
            stack_id: the stack.
            implementations: type → what implements it.
        """

    def get(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, whole, by id; locks none."""

    def get_by_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's rows, whole, by id; locks none."""

    def list_by_physical_ids(
        self, project_id: str, physical_ids: Collection[str]
    ) -> list[Resource]:
        """Return the project's rows of these physical ids, whole, by id; locks none."""

    def update(self, ids: Collection[str], **values: Unpack[ResourceColumns]) -> None:
        """Set the same values in all of the rows, with one statement.

        Raises:
            ValueError: a column belongs to the job state machine, see ``jobs.apply``.
        """

    def update_each(self, changes: Mapping[str, Mapping[str, object]]) -> None:
        """Set values by row, with one prepared statement.

        Args:
            changes: resource id → column → value; all of them with the same columns.

        Raises:
            ValueError: a column belongs to the job state machine, see ``jobs.apply_each``.
        """

    def set_versions(self, stack_id: str, version: int) -> None:
        """Set the version of all of the stack's rows, and clear their timelines."""

    def set_versions_of(self, ids: Collection[str], version: int) -> None:
        """Set the version of the rows, and clear their timelines."""

    def count_by_stack(self, stack_id: str) -> int:
        """Return the number of the stack's rows; locks none."""

    def delete(self, ids: Collection[str]) -> None:
        """Delete rows that the graph does not name any more."""

    def delete_absent(self, stack_ids: Collection[str]) -> None:
        """Delete the stacks' rows that are desired absent and have no job, with their edges."""

    def delete_by_stacks(self, stack_ids: Collection[str], kept: Collection[str] = ()) -> None:
        """Delete the stacks' edges, physical dependencies and resources, apart from ``kept``."""

    def any_status_reason_startswith(self, stack_id: str, action: Action, beginning: str) -> bool:
        """Return whether a present resource has such a status reason in that action."""
