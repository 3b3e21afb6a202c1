"""Whether the server that a deployment is on is gone.

Called by deployments that are to go: a server that is gone signals nothing.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from urllib.parse import quote

from heat_convergence.clients.addresses import LocalCloud
from heat_convergence.clients.rest import Request, Slots
from heat_convergence.common.errors import ResourceGone
from heat_convergence.resources.driver.declared import cloud_of
from heat_convergence.resources.plugin import View

_SERVICE = "compute"
_SLOTS = Slots(4)  # of those who look for a server


def is_gone(view: View, server_id: str) -> bool:
    """Whether the compute service says so; where there is none nobody knows."""
    if view.cloud is None or isinstance(view.cloud, LocalCloud):
        return False
    cloud = cloud_of(view, _SLOTS)
    try:
        if cloud.has(_SERVICE):
            cloud.send(Request(_SERVICE, "GET", f"/servers/{quote(server_id, safe='')}"))
    except ResourceGone:
        return True
    return False
