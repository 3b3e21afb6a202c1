"""The services that a catalog lists, found without a request to them."""

from __future__ import annotations

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation

SERVICES = sorted({each.service for each in REST_RESOURCES.values()})


def cloud_without(*services: str) -> SdkCloudClient:
    """Return a client whose catalog lacks the services."""
    connection = connect(create_emulation(), missing_services=frozenset(services))
    return SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(1))


@pytest.mark.parametrize("service", SERVICES)
def test_service_is_known_by_the_catalog(service: str) -> None:
    assert cloud_without().has_service(service)
    assert not cloud_without(service).has_service(service)
