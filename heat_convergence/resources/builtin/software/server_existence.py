"""The check for whether a deployment's server still exists.

Called by deployments that are being deleted: a missing server sends no signal.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from urllib.parse import quote

from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter
from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.resources.protocol.verb_values import ResourceContext

_SERVICE = "compute"
_SLOTS = RequestLimiter(4)  # concurrent requests for servers


def server_is_missing(context: ResourceContext, server_id: str) -> bool:
    """Return whether the compute service has no such server; False without the service."""
    if context.cloud is None or isinstance(context.cloud, NoAuthCloud):
        return False
    cloud = require_cloud(context, _SLOTS)
    try:
        if cloud.has_service(_SERVICE):
            cloud.send(CloudRequest(_SERVICE, "GET", f"/servers/{quote(server_id, safe='')}"))
    except ResourceGone:
        return True
    return False
