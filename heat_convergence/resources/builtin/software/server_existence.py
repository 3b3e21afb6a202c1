"""Whether the server that a deployment is on is gone.

Called by deployments that are to go: a server that is gone signals nothing.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from urllib.parse import quote

from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter
from heat_convergence.common.errors import ResourceGone
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.resources.protocol.resource_type import ResourceContext

_SERVICE = "compute"
_SLOTS = RequestLimiter(4)  # of those who look for a server


def server_is_gone(context: ResourceContext, server_id: str) -> bool:
    """Whether the compute service says so; where there is none nobody knows."""
    if context.cloud is None or isinstance(context.cloud, NoAuthCloud):
        return False
    cloud = require_cloud(context, _SLOTS)
    try:
        if cloud.has_service(_SERVICE):
            cloud.send(CloudRequest(_SERVICE, "GET", f"/servers/{quote(server_id, safe='')}"))
    except ResourceGone:
        return True
    return False
