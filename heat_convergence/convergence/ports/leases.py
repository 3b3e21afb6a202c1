"""The port to leases: which worker may act on a resource (RULE 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack


class LeaseRepository(Protocol):
    """Locks of a worker that has leased, or is about to lease, resources."""

    def get_unblocked(
        self, stack_id: str, version: int, ids: Collection[str]
    ) -> tuple[Stack | None, list[Resource], Mapping[str, int]]:
        """Return the stack and whole rows of it that need nothing unready, without locks.

        Args:
            stack_id: The stack; rows of others are left out.
            version: The traversal in which what a row needs must be ready (RULE 2).
            ids: The rows' ids.

        Returns:
            The stack, None where no row is left; the rows by id; and how many workers have
            ended over the job of each, where any has.
        """

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return narrow rows, skipping those locked by another transaction.

        A claim never waits: whoever holds the row is about to claim or to change it.
        """

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
