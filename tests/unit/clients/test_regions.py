"""Clients of other regions than the one that a stack was created in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter, SdkCloudClient
from heat_convergence.common.errors import ResourceTypeUnavailable
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation


@pytest.fixture
def client() -> SdkCloudClient:
    connection = connect(create_emulation())
    return SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))


def test_client_of_a_known_region_reaches_its_services(client: SdkCloudClient) -> None:
    regional = client.in_region("RegionOne")
    assert regional.endpoint_url("network") == client.endpoint_url("network")
    response = regional.send(CloudRequest("network", "GET", "/networks"))
    assert response.status == 200
    assert regional.cache_key != client.cache_key


def test_error_names_a_region_without_the_service(client: SdkCloudClient) -> None:
    regional = client.in_region("DARKHOLE")
    expected = "public endpoint for network service in DARKHOLE region not found"
    with pytest.raises(ResourceTypeUnavailable) as raised:
        regional.endpoint_url("network")
    assert str(raised.value) == expected  # clients match the whole text
    with pytest.raises(ResourceTypeUnavailable, match="DARKHOLE"):
        regional.send(CloudRequest("network", "GET", "/networks"))


def test_regions_share_no_cached_lists_and_names() -> None:
    """The name of an image, for example, is another id in another region."""
    limiter = RequestLimiter(4)

    def cache_key(region: str) -> str:
        cloud = SimpleNamespace(call_region=region, breakers=None, connection=None)
        context: Any = SimpleNamespace(cloud=cloud, project_id=PROJECT_ID)
        return require_cloud(context, limiter).cache_key

    assert cache_key("north") == cache_key("north")
    assert cache_key("north") != cache_key("south")
