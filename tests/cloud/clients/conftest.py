"""This service and real Heat on the cloud, and other projects' clients.

Heat is tested, too, where ``HEAT_CONVERGENCE_TEST_HEAT`` names it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.clients.client_software import CLIENTS_VARIABLE, ClientSoftware
from tests.cloud.testbed import (
    HEAT_VARIABLE,
    CloudTestbed,
    DeployedService,
    dedicated_region,
)

FindSoftware = Callable[[str], ClientSoftware]
# The options that tests of other projects rely on; Heat needs the same ones.
OPTIONS = {
    "hidden_stack_tags": "hidden",
    "stack_scheduler_hints": True,
    "max_stacks_per_tenant": 256,
}


@pytest.fixture(scope="module", params=["heat-convergence", "heat"])
def deployed_service(
    request: pytest.FixtureRequest, cloud_testbed: CloudTestbed
) -> Iterator[DeployedService]:
    """Yield this service, then Heat; only the first one is started here."""
    if request.param == "heat-convergence":
        yield request.getfixturevalue("deploy")(**OPTIONS)
        return
    heat_url = os.environ.get(HEAT_VARIABLE)
    if not heat_url:
        pytest.skip(f"{HEAT_VARIABLE} names no real Heat")
    endpoint = heat_url.removesuffix("/v1")
    with dedicated_region(cloud_testbed, endpoint) as region:
        yield DeployedService(cloud_testbed, endpoint, region)


@pytest.fixture(scope="session")
def software(tmp_path_factory: pytest.TempPathFactory) -> FindSoftware:
    """Return a function from a client's name to its folder."""
    kept = os.environ.get(CLIENTS_VARIABLE)
    root = Path(kept) if kept else tmp_path_factory.mktemp("clients")
    return lambda name: ClientSoftware(root / name)


@pytest.fixture
def cloud_environment(
    cloud_testbed: CloudTestbed, deployed_service: DeployedService, tmp_path: Path
) -> dict[str, str]:
    """Return the variables that name a clouds.yaml with the service's region."""

    def entry(user: str) -> dict[str, Any]:
        auth = {
            "auth_url": cloud_testbed.auth_url,
            "username": user,
            "password": cloud_testbed.facts["password"],
            "project_name": user,
            "user_domain_id": "default",
            "project_domain_id": "default",
        }
        return {"auth": auth, "region_name": deployed_service.region}

    users = {
        "devstack": "demo",
        "devstack-alt": "alt_demo",
        "devstack-admin": "admin",
        "devstack-system-admin": "admin",
    }
    path = tmp_path / "clouds.json"
    path.write_text(json.dumps({"clouds": {name: entry(user) for name, user in users.items()}}))
    return {"OS_CLIENT_CONFIG_FILE": str(path)}
