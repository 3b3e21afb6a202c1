"""The change-over: stacks of real Heat in a project of their own, imported into this service.

``HEAT_CONVERGENCE_TEST_CLOUD`` names the cloud, ``HEAT_CONVERGENCE_TEST_HEAT`` real Heat's
endpoint up to ``/v1``, ``HEAT_CONVERGENCE_TEST_HEAT_CONFIG`` its configuration file, and
``HEAT_CONVERGENCE_TEST_TEMPLATES`` a clone of openstack/heat-templates. Heat goes on running: a
copy of its database is imported, and its own rows are deleted afterwards.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import (
    API,
    CFN,
    ENGINE,
    OBSERVER,
    ServiceDeployment,
    free_port,
    merge_options,
)
from tests.cloud.conftest import _bus, _database
from tests.cloud.heat_import.changeover import (
    CONFIG_VARIABLE,
    TEMPLATES_VARIABLE,
    Changeover,
    make_stacks,
)
from tests.cloud.heat_import.heat_copy import copy_heat_database, read_heat_option
from tests.cloud.testbed import (
    HEAT_VARIABLE,
    CloudTestbed,
    DeployedService,
    dedicated_region,
)
from tests.end_to_end.recorded_services import RecordingProxies


@pytest.fixture(scope="module")
def project(cloud_testbed: CloudTestbed) -> Iterator[str]:
    """Yield the name of a project of demo with a network that has a router to the public one."""
    missing = [
        name
        for name in (HEAT_VARIABLE, CONFIG_VARIABLE, TEMPLATES_VARIABLE)
        if not os.environ.get(name)
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} not set: no stacks of real Heat are imported")
    admin = cloud_testbed.identity_client()
    name = f"import-{uuid.uuid4().hex[:8]}"
    project = admin.post("/projects", {"project": {"name": name, "domain_id": "default"}})
    project_id = project["project"]["id"]
    user_id = cloud_testbed.identity_client("demo").user_id
    roles = {each["name"]: each["id"] for each in admin.get("/roles")["roles"]}
    for role in ("member", "heat_stack_owner"):
        admin.put(f"/projects/{project_id}/users/{user_id}/roles/{roles[role]}")
    with _private_network(cloud_testbed, name):
        yield name
    admin.delete(f"/projects/{project_id}")


@contextmanager
def _private_network(cloud_testbed: CloudTestbed, project: str) -> Iterator[None]:
    network = cloud_testbed.connection("demo", cloud_testbed.facts["region"], project).network
    private = network.create_network(name="private")
    subnet = network.create_subnet(network_id=private.id, cidr="10.0.0.0/24", ip_version=4)
    gateway = {"network_id": cloud_testbed.facts["ids"]["public_network"]}
    router = network.create_router(name="router1", external_gateway_info=gateway)
    network.add_interface_to_router(router, subnet.id)
    yield
    network.remove_interface_from_router(router, subnet.id)
    network.delete_router(router)
    network.delete_network(private)


@pytest.fixture(scope="module")
def changeover(
    cloud_testbed: CloudTestbed, project: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Changeover]:
    """Yield both services; Heat has made its stacks, and nothing is imported yet."""
    folder = tmp_path_factory.mktemp("import")
    heat_config = os.environ[CONFIG_VARIABLE]
    heat_url = os.environ[HEAT_VARIABLE].removesuffix("/v1")
    region = f"hc-{uuid.uuid4().hex[:8]}"
    with ExitStack() as cleanup:
        proxies = RecordingProxies(_public_endpoints(cloud_testbed), keep_host=False)
        cleanup.callback(proxies.close)
        cfn_port = free_port()
        options = merge_options(
            cloud_testbed.options(),
            {
                "DEFAULT": {
                    "region_name_for_services": region,
                    **{
                        name: read_heat_option(heat_config, "DEFAULT", name)
                        for name in ("heat_waitcondition_server_url", "heat_metadata_server_url")
                    },
                },
                "heat_api_cfn": {
                    "bind_host": "127.0.0.1",
                    "bind_port": cfn_port,
                    "workers": 1,
                },
            },
        )
        deployment = ServiceDeployment(
            folder,
            database_url=cleanup.enter_context(_database()),
            transport_url=cleanup.enter_context(_bus()),
            options=options,
        )
        cleanup.enter_context(deployment)
        deployment.upgrade_database()
        cleanup.enter_context(
            dedicated_region(cloud_testbed, deployment.endpoint, region, proxies.urls)
        )
        heat = DeployedService(cloud_testbed, heat_url, cloud_testbed.facts["region"])
        own = DeployedService(cloud_testbed, deployment.endpoint, region, deployment.config)
        found = Changeover(
            cloud_testbed, project, heat, own, f"http://127.0.0.1:{cfn_port}", proxies.call_log
        )
        cleanup.callback(found.delete_from_heat)
        make_stacks(found, Path(os.environ[TEMPLATES_VARIABLE]))
        found.copy_url = copy_heat_database(heat_config, folder / "heat.sqlite")
        found.start_daemons = lambda: _start(deployment)
        yield found


def _public_endpoints(cloud_testbed: CloudTestbed) -> dict[str, str]:
    """Return the public endpoints of the cloud's services by type, but those of Heat."""
    admin = cloud_testbed.identity_client()
    types = {each["id"]: each["type"] for each in admin.get("/services")["services"]}
    listed = admin.get("/endpoints")["endpoints"]
    return {
        types[each["service_id"]]: each["url"]
        for each in listed
        if each["region_id"] == cloud_testbed.facts["region"]
        and each["interface"] == "public"
        and types[each["service_id"]] not in ("orchestration", "cloudformation")
    }


def _start(deployment: ServiceDeployment) -> None:
    for role in (API, CFN, ENGINE, OBSERVER):
        deployment.add_daemon(role).start(wait=False)
    for daemon in deployment.daemons:
        daemon.wait_until_started()
