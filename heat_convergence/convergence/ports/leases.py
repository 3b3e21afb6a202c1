"""The port to leases: which worker may act on a resource (RULE 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.model.transition_rules import JobTransition


@dataclass(frozen=True, slots=True)
class UnblockedResources:
    """Resources that need nothing unready, and what a worker reads together with them.

    Attributes:
        stacks: their stacks, by id.
        rows: whole rows, by id.
        takeovers: how many workers have ended over the job of each, where any has.
        has_schedulable: whether a job of the project of the stacks waits for a place on the bus.
    """

    stacks: Mapping[str, Stack] = field(default_factory=dict)
    rows: Sequence[Resource] = ()
    takeovers: Mapping[str, int] = field(default_factory=dict)
    has_schedulable: bool = False


class LeaseRepository(Protocol):
    """Locks of a worker that has leased, or is about to lease, resources."""

    def get_unblocked(self, ids: Mapping[str, Collection[str]]) -> UnblockedResources:
        """Return rows that need nothing unready in the traversals of their stacks, without locks.

        What a row needs must be ready in the version of its stack (RULE 2).

        Args:
            ids: The rows' ids, by stack; rows of other stacks are left out. The stacks are of one
                project.
        """

    def claim_unchanged(
        self, row: Resource, transition: JobTransition, columns: Mapping[str, object]
    ) -> bool:
        """Apply a transition and set further columns unless the row has changed.

        Whether the job was posted again meanwhile does not matter; neither does what wide columns
        were.

        Args:
            row: The row as it was read.
            transition: The claim, or the outcome of a job that has ended already.
            columns: Further columns and their values.

        Returns:
            Whether the row was written.
        """

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return narrow rows, skipping those locked by another transaction.

        A claim never waits: whoever holds the row is about to claim or to change it.
        """

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
