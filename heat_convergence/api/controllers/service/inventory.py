"""The inventory of a project: what its services hold that no stack owns.

Called by the root controller.  Reads with the token of the user; changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.common import errors
from heat_convergence.db.reads import ownership
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.stacks.inventory import (
    Inventory,
    UnreadType,
    find_listed_types,
    list_unowned,
)

_NO_CLOUD = "there is no cloud"


class InventoryController(Controller):
    """The handler of the inventory."""

    def index(self, request: ApiRequest) -> webob.Response:
        """List the objects of the project, of all or some types, that no stack owns."""
        query = QueryParams(request.GET)
        query.reject_unknown({"type"})
        types = find_listed_types(self.services.registry)
        requested = query.values("type") or tuple(types)
        unknown = sorted(set(requested) - types.keys())
        if unknown:
            raise errors.HTTPBadRequest(
                f'"type": objects of {", ".join(unknown)} cannot be listed for a project.'
            )
        chosen = {name: types[name] for name in sorted(set(requested))}

        def find_owned(ids: Collection[str], names: Collection[str]) -> frozenset[str]:
            with self.database.read() as conn:
                return ownership.find_owned(conn, request.project_id, ids, names)

        cloud = current_cloud()
        if cloud is None:
            found = Inventory(unread=tuple(UnreadType(name, _NO_CLOUD) for name in chosen))
        else:
            found = list_unowned(cloud, chosen, find_owned)
        return json_response(_format(found))


def _format(found: Inventory) -> dict[str, object]:
    return {
        "inventory": [
            {
                "resource_type": each.resource_type,
                "physical_resource_id": each.physical_id,
                "name": each.name,
                "status": each.status,
                "created_at": each.created_at,
            }
            for each in found.objects
        ],
        "unread": [
            {"resource_type": each.resource_type, "reason": each.reason} for each in found.unread
        ],
    }
