"""Public templates, unmodified, on real services.

``HEAT_CONVERGENCE_TEST_TEMPLATES`` is a clone of openstack/heat-templates; without it, or
without a cloud, these tests are skipped.  Some templates read scripts of openstack/heat-agents
and are left out unless its clone, ``heat-agents``, is beside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import wait_until
from tests.end_to_end.deployment_agent import DeploymentAgent
from tests.end_to_end.harness import TargetCloud, identity_of
from tests.end_to_end.public_templates import (
    ADMIN_TEMPLATES,
    AGENT_TEMPLATES,
    CASES,
    DEMO_USER_TEMPLATES,
    ENVIRONMENT_OPTION,
    REQUIRED_IMAGES,
)

Json = Any
TEMPLATES_VARIABLE = "HEAT_CONVERGENCE_TEST_TEMPLATES"
TEMPLATE_OPTION = "-t"


@pytest.fixture(scope="session")
def templates() -> Path:
    folder = os.environ.get(TEMPLATES_VARIABLE)
    if not folder:
        pytest.skip(f"{TEMPLATES_VARIABLE} names no clone of openstack/heat-templates")
    return Path(folder)


@pytest.fixture
def running_cloud(
    real_target_cloud: TargetCloud, deploy: Any, empty_project: Json
) -> Iterator[TargetCloud]:
    deploy(real_target_cloud)
    user_cloud = real_target_cloud.as_user("demo", empty_project["name"])
    connection = user_cloud.sdk_connection()
    images = [
        connection.image.create_image(
            name=name, disk_format="raw", container_format="bare", data=bytes(1024)
        )
        for name in REQUIRED_IMAGES
    ]
    yield user_cloud
    for image in images:
        connection.image.delete_image(image.id)


@pytest.fixture
def placeholders(
    running_cloud: TargetCloud, real_testbed: Json, empty_project: dict[str, str]
) -> Iterator[Json]:
    """Yield the values of placeholders in parameters; one template needs a group."""
    identity = identity_of(running_cloud.as_user("admin", "admin").sdk_connection())
    group = identity.create_group(name=f"hc-{empty_project['name']}", domain_id="default")
    yield {
        **real_testbed["ids"],
        **empty_project,
        "region": running_cloud.credentials.region,
        "host": _host(running_cloud),
        "group": group.id,
    }
    identity.delete_group(group)


@pytest.fixture
def unmanaged_server(
    running_cloud: TargetCloud, empty_project: dict[str, str]
) -> Iterator[Callable[[], str]]:
    """Yield a function that returns the id of a server outside of stacks.

    It is created by the first call, since no host with servers can join an aggregate.
    """
    cloud = running_cloud.sdk_connection()
    created: list[Json] = []

    def server_id() -> str:
        if not created:
            created.append(
                cloud.create_server(
                    "hc-others",
                    image="cirros",
                    flavor="m1.nano",
                    network=empty_project["private_network"],
                )
            )
            cloud.compute.wait_for_server(created[0], wait=300)
        return str(created[0].id)

    yield server_id
    for server in created:
        cloud.delete_server(server.id, wait=True)


@pytest.mark.timeout(5400)
def test_public_templates_run_unmodified(
    running_cloud: TargetCloud,
    placeholders: dict[str, str],
    unmanaged_server: Callable[[], str],
    templates: Path,
) -> None:
    failed = {}
    with DeploymentAgent(running_cloud):
        for name, user in _cases(templates):
            parameters = {**DEMO_USER_TEMPLATES, **ADMIN_TEMPLATES}[name]
            if "{server}" in parameters.values():
                placeholders["server"] = unmanaged_server()
            target_cloud = (
                running_cloud if user == "demo" else running_cloud.as_user("admin", "admin")
            )
            problem = _create_and_delete(
                target_cloud,
                [*_options(templates, {**parameters, TEMPLATE_OPTION: name}, placeholders)],
            )
            print(f"{name}: {problem or 'CREATE_COMPLETE, deleted'}", flush=True)
            if problem:
                failed[name] = problem
    assert failed == {}


def _cases(templates: Path) -> list[tuple[str, str]]:
    has_heat_agents = (templates.parent / "heat-agents").is_dir()
    with_agents = {
        name
        for name, parameters in DEMO_USER_TEMPLATES.items()
        if name.startswith(AGENT_TEMPLATES) or ENVIRONMENT_OPTION in parameters
    }
    return [case for case in CASES if has_heat_agents or case[0] not in with_agents]


def _host(target_cloud: TargetCloud) -> str:
    services = target_cloud.as_user("admin", "admin").openstack_json("compute", "service", "list")
    return next(str(item["Host"]) for item in services if item["Binary"] == "nova-compute")


def _options(
    templates: Path, parameters: dict[str, str], placeholders: dict[str, str]
) -> Iterator[str]:
    for key, value in parameters.items():
        if key in (TEMPLATE_OPTION, ENVIRONMENT_OPTION):
            yield from (key, str(templates / value))
            continue
        for placeholder, replacement in placeholders.items():
            value = value.replace("{" + placeholder + "}", replacement)
        yield f"--parameter={key}={value}"


def _create_and_delete(target_cloud: TargetCloud, options: list[str]) -> str:
    """Create a stack and delete it; return what went wrong, or an empty text."""
    output = target_cloud.openstack(
        "stack", "create", *options, "--timeout", "4", "--wait", "t", check=False
    )
    stacks = target_cloud.heat_user().heat.stacks
    statuses = [f"{item.stack_status}: {item.stack_status_reason}" for item in stacks.list()]
    for stack in list(stacks.list()):
        stacks.delete(stack.id)
    wait_until(
        lambda: all(item.stack_status == "DELETE_FAILED" for item in stacks.list()),
        "the stack is deleted",
        timeout_s=240,
    )
    remaining = [item.stack_status_reason for item in stacks.list()]
    is_complete = len(statuses) == 1 and statuses[0].startswith("CREATE_COMPLETE")
    return "; ".join(remaining) if is_complete else f"{output[-600:]} {statuses}"
