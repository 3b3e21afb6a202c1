"""The cloud of the user whose request is being answered.

Set around a request by the api; read by constraints, by types that check whether their service
is available, and by attributes that are requested anew for every reader. Without it nothing is
requested, and whatever only a service can know passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.errors import Error as AnyError
from heat_convergence.common.errors import ResourceTypeUnavailable

_CLOUD: ContextVar[CloudClient | None] = ContextVar("heat_convergence_cloud", default=None)


@contextmanager
def use_request_cloud(cloud: CloudClient | None) -> Iterator[None]:
    """Use this cloud for the request within the block."""
    token = _CLOUD.set(cloud)
    try:
        yield
    finally:
        _CLOUD.reset(token)


def current_cloud() -> CloudClient | None:
    """Return the cloud of the current request, or None."""
    return _CLOUD.get()


def check_service(service: str, label: str, type_name: str) -> None:
    """Check that the requesting user's catalog has a service.

    Args:
        service: openstacksdk's name of the service.
        label: The name of the service in messages.
        type_name: The resource type that needs it.

    Raises:
        ResourceTypeUnavailable: It has not.
    """
    cloud = current_cloud()
    if cloud is None:
        return
    try:
        available = cloud.has_service(service)
    except AnyError:
        return  # the service does not respond: decided when the resource is created
    if not available:
        raise unavailable_type(label, type_name, "Service endpoint not in service catalog.")


def unavailable_type(label: str, type_name: str, reason: str) -> ResourceTypeUnavailable:
    """Return the error of a type whose service the user cannot use, in Heat's words."""
    return ResourceTypeUnavailable(
        f"HEAT-E99001 Service {label} is not available for resource type {type_name},"
        f" reason: {reason}"
    )
