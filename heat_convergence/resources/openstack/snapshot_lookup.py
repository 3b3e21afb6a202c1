"""Lookup of the service snapshots (images, backups) that resource snapshots created, by name.

Called by types with snapshots: a lost response leaves a service snapshot whose id is unknown.
Its name is unique to one snapshot of one resource (``ResourceContext.resource_snapshot_name``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


def find_service_snapshot(
    context: ResourceContext, client: RestResourceClient
) -> dict[str, Json] | None:
    """Return the body of the service snapshot that an earlier attempt created."""
    found = (
        client.find_by_name(context.resource_snapshot_name)
        if context.resource_snapshot_name
        else []
    )
    return found[0] if found else None


def delete_service_snapshots(
    context: ResourceContext, client: RestResourceClient, key: str
) -> None:
    """Delete the service snapshot whose id is recorded under ``key``.

    Without a recorded id, delete all that bear the name of this resource snapshot.
    """
    known = context.data.get(key)
    for snapshot_id in [known] if known else _ids_by_name(context, client):
        client.delete(snapshot_id)


def _ids_by_name(context: ResourceContext, client: RestResourceClient) -> Sequence[str]:
    found = (
        client.find_by_name(context.resource_snapshot_name)
        if context.resource_snapshot_name
        else []
    )
    return [str(body[client.rest_resource.id_key]) for body in found]
