"""The port to resources by their names in a stack."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from heat_convergence.convergence.model.resource import InputResource, Resource


class IncarnationRepository(Protocol):
    """Rows found by resource name: a name may have several, one of them desired present."""

    def list_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Return all rows of these names, desired or not, narrow, by id."""

    def get_inputs_of_stacks(
        self, names: Mapping[str, Collection[str]]
    ) -> Mapping[str, Mapping[str, InputResource]]:
        """Return, by stack's id and by name, what ``get_inputs`` returns for each stack.

        Args:
            names: stack's id → names of its resources.
        """

    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]:
        """Return, by name, what jobs may read of the present resources of these names."""
