"""The availability zones of the compute service, for ``Fn::GetAZs``.

Asked for while a request is handled and then kept with what was given; so the answer
is not kept here.
"""

from __future__ import annotations

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common.errors import Error, StackValidationFailed

_SERVICE = "compute"


def list_availability_zones(cloud: CloudClient | None) -> tuple[str, ...] | None:
    """Their names, in order; None where there is no compute service to ask.

    Raises ``StackValidationFailed`` when it does not answer.
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
