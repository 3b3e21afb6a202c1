"""Availability zones of the compute service, for ``Fn::GetAZs``.

Called by the API while it handles a request.  The names are stored with the stack's parameters, so
they are not cached here.
"""

from __future__ import annotations

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common.errors import Error, StackValidationFailed

_SERVICE = "compute"


def list_availability_zones(cloud: CloudClient | None) -> tuple[str, ...] | None:
    """Return the names of the zones in order; None without a compute service.

    Raises:
        StackValidationFailed: The compute service does not answer.
    """
    if cloud is None or not cloud.has_service(_SERVICE):
        return None
    try:
        body = cloud.send(CloudRequest(_SERVICE, "GET", "/os-availability-zone")).body
    except Error as error:
        raise StackValidationFailed(
            f"Fn::GetAZs: the availability zones cannot be read: {error}"
        ) from error
    return tuple(sorted(zone["zoneName"] for zone in body["availabilityZoneInfo"]))
