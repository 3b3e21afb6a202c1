"""Daemons with Keystone, below a cloud: the emulation's, and a real one.

``HEAT_CONVERGENCE_TEST_CLOUD`` names the real one, as the conformance suite tells; without
it what needs the real services is skipped.  The daemons see it as a region of its own,
whose endpoints are fronts that count.
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
from tests.end_to_end.harness import CloudCredentials, TargetCloud
from tests.end_to_end.recorded_services import EmulatedCloud, RecordingProxies
from tests.integration.harness import drop_all_tables
from tests.unit.clients.fake_keystone import SERVICE_PASSWORD, SERVICE_USER

TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
OWN_SERVICE_TYPES = frozenset({"orchestration", "cloudformation"})


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """Its own: daemons find it empty, and others keep rows in theirs."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture
def deploy(tmp_path: Path, rabbit_url: str, mariadb_url: str) -> Iterator[Any]:
    """Daemons on a ground, started."""
    numbers = itertools.count()
    with ExitStack() as stack:

        def make(
            target_cloud: TargetCloud,
            *,
            engines: int = 1,
            observers: int = 1,
            **options: dict[str, object],
        ) -> ServiceDeployment:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            drop_all_tables(mariadb_url)
            given = target_cloud.options()
            merged = {
                name: {**given.get(name, {}), **options.get(name, {})}
                for name in {*given, *options}
            }
            deployment = ServiceDeployment(
                folder, database_url=mariadb_url, transport_url=rabbit_url, options=merged
            )
            deployment.upgrade_database()
            stack.enter_context(deployment)
            target_cloud.register_deployment(deployment)
            return deployment.start(engines=engines, observers=observers)

        yield make


@pytest.fixture
def emulated_target_cloud() -> Iterator[TargetCloud]:
    emulated = EmulatedCloud()
    identity = CloudCredentials(
        auth_url=emulated.keystone.url,
        user="demo",
        password="demo-password",
        project="p",
        service_user=SERVICE_USER,
        service_password=SERVICE_PASSWORD,
        region="R",
    )

    def announce(url: str) -> None:
        emulated.keystone.endpoints["orchestration"] = f"{url}/p"

    yield TargetCloud(identity, emulated.call_log, announce, emulated)
    emulated.close()


@pytest.fixture(scope="session")
def real_facts() -> dict[str, Any]:
    path = os.environ.get(TESTBED_VARIABLE)
    if not path:
        pytest.skip(f"{TESTBED_VARIABLE} names no cloud: the real services are left out")
    return {**json.loads(Path(path).read_text()), "path": path}


def _connection(facts: dict[str, Any], user: str, project: str) -> Connection:
    return openstack.connect(
        auth_url=facts["auth_url"],
        username=user,
        password=facts["password"],
        project_name=project,
        user_domain_id="default",
        project_domain_id="default",
        region_name=facts["region"],
    )


@pytest.fixture
def empty_project(real_facts: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A project where demo is a member and nobody else is at work, with one network that
    leads outside; its name, and ids of the network and its subnet."""
    admin = _connection(real_facts, "admin", "admin")
    identity = admin.identity
    project = identity.create_project(name=f"hc-{uuid.uuid4().hex[:8]}", domain_id="default")
    identity.assign_project_role_to_user(
        project, identity.find_user("demo"), identity.find_role("member")
    )
    network = _connection(real_facts, "demo", project.name).network
    private = network.create_network(name="private")
    subnet = network.create_subnet(network_id=private.id, cidr="10.0.0.0/24", ip_version=4)
    outside = {"network_id": real_facts["ids"]["public_network"]}
    router = network.create_router(name="router1", external_gateway_info=outside)
    network.add_interface_to_router(router, subnet_id=subnet.id)
    yield {"name": project.name, "private_network": private.id, "private_subnet": subnet.id}
    network.remove_interface_from_router(router, subnet_id=subnet.id)
    network.delete_router(router)
    network.delete_network(private)
    for group in admin.network.security_groups(project_id=project.id):
        admin.network.delete_security_group(group)  # the default one, too
    identity.delete_project(project)


@pytest.fixture
def real_target_cloud(real_facts: dict[str, Any]) -> Iterator[TargetCloud]:
    """A region of its own in Keystone, gone afterwards."""
    admin = _connection(real_facts, "admin", "admin").identity
    services = {service.id: service.type for service in admin.services()}
    found = {
        services[one.service_id]: (one.service_id, one.url)
        for one in admin.endpoints(interface="public", region_id=real_facts["region"])
    }
    fronts = RecordingProxies(
        {kind: url for kind, (_, url) in found.items() if kind not in OWN_SERVICE_TYPES}
    )
    region = admin.create_region(id=f"hc-{uuid.uuid4().hex[:8]}")
    made = [
        admin.create_endpoint(
            service_id=found[kind][0], interface="public", region_id=region.id, url=url
        )
        for kind, url in fronts.urls.items()
    ]
    identity = CloudCredentials(
        auth_url=real_facts["auth_url"],
        user="demo",
        password=real_facts["password"],
        project="demo",
        service_user="heat",
        service_password=real_facts["password"],
        region=region.id,
        users_domain=real_facts["heat_domain_id"],
        domain_admin=real_facts["heat_domain_admin"],
    )

    def announce(url: str) -> None:
        made.append(
            admin.create_endpoint(
                service_id=found["orchestration"][0],
                interface="public",
                region_id=region.id,
                url=f"{url}/%(tenant_id)s",
            )
        )

    yield TargetCloud(identity, fronts.call_log, announce)
    for endpoint in made:
        admin.delete_endpoint(endpoint)
    admin.delete_region(region)
    fronts.close()


@pytest.fixture(params=["emulated", "real"])
def target_cloud(request: pytest.FixtureRequest) -> TargetCloud:
    return request.getfixturevalue(f"{request.param}_target_cloud")
