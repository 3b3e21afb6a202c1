"""What snapshots of servers and volumes left in their services, found by its name.

Used by types that save: an answer that was lost leaves a copy behind whose id nobody
knows.  A copy's name is that of one snapshot of one resource (``View.resource_snapshot_name``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any


def find_service_snapshot(
    view: ResourceContext, calls: RestResourceClient
) -> dict[str, Json] | None:
    """The body of what an earlier try of this snapshot has made."""
    found = calls.find_by_name(view.resource_snapshot_name) if view.resource_snapshot_name else []
    return found[0] if found else None


def delete_service_snapshots(view: ResourceContext, calls: RestResourceClient, key: str) -> None:
    """Deletes the copy whose id the data have under ``key``; where they have none, all
    that the snapshot can have made."""
    known = view.data.get(key)
    for copy_id in [known] if known else _unseen(view, calls):
        calls.delete(copy_id)


def _unseen(view: ResourceContext, calls: RestResourceClient) -> Sequence[str]:
    found = calls.find_by_name(view.resource_snapshot_name) if view.resource_snapshot_name else []
    return [str(body[calls.rest_resource.id_key]) for body in found]
