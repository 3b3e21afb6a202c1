"""The port to leases: which worker may act on a resource (RULE 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from heat_convergence.convergence.model.resource import Resource


class LeaseRepository(Protocol):
    """Locks of a worker that has leased, or is about to lease, resources."""

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return whole rows, skipping those locked by another transaction.

        A claim never waits: whoever holds the row is about to claim or to change it.
        """

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
