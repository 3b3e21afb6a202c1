"""Daemons with Keystone and a cloud: the emulated cloud, and a real one.

``HEAT_CONVERGENCE_TEST_CLOUD`` describes the real cloud, as in the conformance suite; without it
the tests on real services are skipped.  The daemons see the cloud as a region of its own, whose
endpoints are proxies that record calls.
"""

from __future__ import annotations

import itertools
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack.connection import Connection

from heat_convergence.testing.daemon_processes import ServiceDeployment
from tests.conftest import MARIADB, fresh_database
from tests.end_to_end.harness import CloudCredentials, TargetCloud, identity_of
from tests.end_to_end.recorded_services import EmulatedCloud, RecordingProxies
from tests.functional.clients.fake_keystone import SERVICE_PASSWORD, SERVICE_USER
from tests.integration.harness import drop_all_tables

TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
OWN_SERVICE_TYPES = frozenset({"orchestration", "cloudformation"})


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """Yield the URL of a database of these tests alone, which daemons find empty."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture
def deploy(tmp_path: Path, rabbit_url: str, mariadb_url: str) -> Iterator[Any]:
    """Return a function that starts daemons with a cloud and options."""
    numbers = itertools.count()
    with ExitStack() as cleanup:

        def deploy_service(
            target_cloud: TargetCloud,
            *,
            engines: int = 1,
            observers: int = 1,
            **options: dict[str, object],
        ) -> ServiceDeployment:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            drop_all_tables(mariadb_url)
            options_of_cloud = target_cloud.options()
            merged = {
                name: {**options_of_cloud.get(name, {}), **options.get(name, {})}
                for name in {*options_of_cloud, *options}
            }
            deployment = ServiceDeployment(
                folder, database_url=mariadb_url, transport_url=rabbit_url, options=merged
            )
            deployment.upgrade_database()
            cleanup.enter_context(deployment)
            target_cloud.register_deployment(deployment)
            return deployment.start(engines=engines, observers=observers)

        yield deploy_service


@pytest.fixture
def emulated_target_cloud() -> Iterator[TargetCloud]:
    emulated = EmulatedCloud()
    credentials = CloudCredentials(
        auth_url=emulated.keystone.url,
        user="demo",
        password="demo-password",
        project="p",
        service_user=SERVICE_USER,
        service_password=SERVICE_PASSWORD,
        region="R",
    )

    def register_endpoint(url: str) -> None:
        emulated.keystone.endpoints["orchestration"] = f"{url}/p"

    yield TargetCloud(credentials, emulated.call_log, register_endpoint, emulated)
    emulated.close()


@pytest.fixture(scope="session")
def real_testbed() -> dict[str, Any]:
    path = os.environ.get(TESTBED_VARIABLE)
    if not path:
        pytest.skip(f"{TESTBED_VARIABLE} names no cloud: the real services are left out")
    return {**json.loads(Path(path).read_text()), "path": path}


def _connection(testbed: dict[str, Any], user: str, project: str) -> Connection:
    return openstack.connect(
        auth_url=testbed["auth_url"],
        username=user,
        password=testbed["password"],
        project_name=project,
        user_domain_id="default",
        project_domain_id="default",
        region_name=testbed["region"],
    )


@pytest.fixture
def empty_project(real_testbed: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield an empty project of demo with a network and a router to the external network.

    The mapping holds its name, and the ids of the network and its subnet.
    """
    admin = _connection(real_testbed, "admin", "admin")
    identity = identity_of(admin)
    project = identity.create_project(name=f"hc-{uuid.uuid4().hex[:8]}", domain_id="default")
    user, role = identity.find_user("demo"), identity.find_role("member")
    assert user is not None
    assert role is not None
    identity.assign_project_role_to_user(project, user, role)
    network = _connection(real_testbed, "demo", project.name).network
    private = network.create_network(name="private")
    subnet = network.create_subnet(network_id=private.id, cidr="10.0.0.0/24", ip_version=4)
    gateway = {"network_id": real_testbed["ids"]["public_network"]}
    router = network.create_router(name="router1", external_gateway_info=gateway)
    network.add_interface_to_router(router, subnet.id)
    yield {"name": project.name, "private_network": private.id, "private_subnet": subnet.id}
    network.remove_interface_from_router(router, subnet.id)
    network.delete_router(router)
    network.delete_network(private)
    for group in admin.network.security_groups(project_id=project.id):
        admin.network.delete_security_group(group)  # the default one, too
    identity.delete_project(project)


@pytest.fixture
def real_target_cloud(real_testbed: dict[str, Any]) -> Iterator[TargetCloud]:
    """Yield the real cloud as a region of its own, which is deleted afterwards."""
    admin = identity_of(_connection(real_testbed, "admin", "admin"))
    services = {service.id: service.type for service in admin.services()}
    endpoints = {
        services[endpoint.service_id]: (endpoint.service_id, endpoint.url)
        for endpoint in admin.endpoints(interface="public", region_id=real_testbed["region"])
    }
    proxies = RecordingProxies(
        {
            service_type: url
            for service_type, (_, url) in endpoints.items()
            if service_type not in OWN_SERVICE_TYPES
        }
    )
    region = admin.create_region(id=f"hc-{uuid.uuid4().hex[:8]}")
    created_endpoints = [
        admin.create_endpoint(
            service_id=endpoints[service_type][0], interface="public", region_id=region.id, url=url
        )
        for service_type, url in proxies.urls.items()
    ]
    credentials = CloudCredentials(
        auth_url=real_testbed["auth_url"],
        user="demo",
        password=real_testbed["password"],
        project="demo",
        service_user="heat",
        service_password=real_testbed["password"],
        region=region.id,
        users_domain=real_testbed["heat_domain_id"],
        domain_admin=real_testbed["heat_domain_admin"],
    )

    def register_endpoint(url: str) -> None:
        created_endpoints.append(
            admin.create_endpoint(
                service_id=endpoints["orchestration"][0],
                interface="public",
                region_id=region.id,
                url=f"{url}/%(tenant_id)s",
            )
        )

    yield TargetCloud(credentials, proxies.call_log, register_endpoint)
    for endpoint in created_endpoints:
        admin.delete_endpoint(endpoint)
    admin.delete_region(region)
    proxies.close()


@pytest.fixture(params=["emulated", "real"])
def target_cloud(request: pytest.FixtureRequest) -> TargetCloud:
    target: TargetCloud = request.getfixturevalue(f"{request.param}_target_cloud")
    return target
