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
from tests.end_to_end.guest_agent import GuestAgent
from tests.end_to_end.harness import TargetCloud
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
def running(
    real_target_cloud: TargetCloud, deploy: Any, empty_project: Json
) -> Iterator[TargetCloud]:
    deploy(real_target_cloud)
    ours = real_target_cloud.as_user("demo", empty_project["name"])
    cloud = ours.sdk_connection()
    images = [
        cloud.image.create_image(
            name=name, disk_format="raw", container_format="bare", data=bytes(1024)
        )
        for name in REQUIRED_IMAGES
    ]
    yield ours
    for image in images:
        cloud.image.delete_image(image)


@pytest.fixture
def words(running: TargetCloud, real_facts: Json, empty_project: dict[str, str]) -> Iterator[Json]:
    """What templates are told of the cloud: one takes a group of others."""
    identity = running.as_user("admin", "admin").sdk_connection().identity
    group = identity.create_group(name=f"hc-{empty_project['name']}", domain_id="default")
    yield {
        **real_facts["ids"],
        **empty_project,
        "region": running.credentials.region,
        "host": _host(running),
        "group": group.id,
    }
    identity.delete_group(group)


@pytest.fixture
def others(running: TargetCloud, empty_project: dict[str, str]) -> Iterator[Callable[[], str]]:
    """Gives the id of a server of no stack's; not made before somebody asks, since no host
    that has servers goes into an aggregate."""
    cloud, made = running.sdk_connection(), []

    def server() -> str:
        if not made:
            made.append(
                cloud.create_server(
                    "hc-others",
                    image="cirros",
                    flavor="m1.nano",
                    network=empty_project["private_network"],
                )
            )
            cloud.compute.wait_for_server(made[0], wait=300)
        return str(made[0].id)

    yield server
    for one in made:
        cloud.delete_server(one.id, wait=True)


@pytest.mark.timeout(5400)
def test_public_templates_run_unmodified(
    running: TargetCloud, words: dict[str, str], others: Callable[[], str], templates: Path
) -> None:
    failed = {}
    with GuestAgent(running):
        for name, user in _cases(templates):
            given = {**DEMO_USER_TEMPLATES, **ADMIN_TEMPLATES}[name]
            if "{server}" in given.values():
                words["server"] = others()
            target_cloud = running if user == "demo" else running.as_user("admin", "admin")
            told = _try(
                target_cloud, [*_options(templates, {**given, TEMPLATE_OPTION: name}, words)]
            )
            print(f"{name}: {told or 'CREATE_COMPLETE, deleted'}", flush=True)
            if told:
                failed[name] = told
    assert failed == {}


def _cases(templates: Path) -> list[tuple[str, str]]:
    beside = (templates.parent / "heat-agents").is_dir()
    with_agents = {name for name, given in DEMO_USER_TEMPLATES.items()
                   if name.startswith(AGENT_TEMPLATES) or ENVIRONMENT_OPTION in given}  # fmt: skip
    return [case for case in CASES if beside or case[0] not in with_agents]


def _host(target_cloud: TargetCloud) -> str:
    services = target_cloud.as_user("admin", "admin").openstack_json("compute", "service", "list")
    return next(one["Host"] for one in services if one["Binary"] == "nova-compute")


def _options(templates: Path, given: dict[str, str], words: dict[str, str]) -> Iterator[str]:
    for key, value in given.items():
        if key in (TEMPLATE_OPTION, ENVIRONMENT_OPTION):
            yield from (key, str(templates / value))
            continue
        for word, meaning in words.items():
            value = value.replace("{" + word + "}", meaning)
        yield f"--parameter={key}={value}"


def _try(target_cloud: TargetCloud, options: list[str]) -> str:
    """Made and deleted; what went wrong, if anything."""
    made = target_cloud.openstack(
        "stack", "create", *options, "--timeout", "4", "--wait", "t", check=False
    )
    stacks = target_cloud.heat_user().heat.stacks
    told = [f"{one.stack_status}: {one.stack_status_reason}" for one in stacks.list()]
    for stack in list(stacks.list()):
        stacks.delete(stack.id)
    wait_until(
        lambda: all(one.stack_status == "DELETE_FAILED" for one in stacks.list()),
        "the stack is gone",
        timeout_s=240,
    )
    left = [one.stack_status_reason for one in stacks.list()]
    reached = len(told) == 1 and told[0].startswith("CREATE_COMPLETE")
    return "; ".join(left) if reached else f"{made[-600:]} {told}"
