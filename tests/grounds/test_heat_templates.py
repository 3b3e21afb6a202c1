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

from heat_convergence.testing.daemons import wait_until
from tests.grounds.guest_agent import GuestAgent
from tests.grounds.harness import Ground
from tests.grounds.public_templates import ADMIN, AGENTS, CASES, DEMO, ENVIRONMENT, IMAGES

Json = Any
VARIABLE = "HEAT_CONVERGENCE_TEST_TEMPLATES"
TEMPLATE = "-t"


@pytest.fixture(scope="session")
def templates() -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} names no clone of openstack/heat-templates")
    return Path(folder)


@pytest.fixture
def running(real_ground: Ground, deploy: Any, empty_project: Json) -> Iterator[Ground]:
    deploy(real_ground)
    ours = real_ground.of("demo", empty_project["name"])
    cloud = ours.cloud()
    images = [
        cloud.image.create_image(
            name=name, disk_format="raw", container_format="bare", data=bytes(1024)
        )
        for name in IMAGES
    ]
    yield ours
    for image in images:
        cloud.image.delete_image(image)


@pytest.fixture
def words(running: Ground, real_facts: Json, empty_project: dict[str, str]) -> Iterator[Json]:
    """What templates are told of the cloud: one takes a group of others."""
    identity = running.of("admin", "admin").cloud().identity
    group = identity.create_group(name=f"hc-{empty_project['name']}", domain_id="default")
    yield {**real_facts["ids"], **empty_project, "region": running.identity.region,
           "host": _host(running), "group": group.id}
    identity.delete_group(group)


@pytest.fixture
def others(running: Ground, empty_project: dict[str, str]) -> Iterator[Callable[[], str]]:
    """Gives the id of a server of no stack's; not made before somebody asks, since no host
    that has servers goes into an aggregate."""
    cloud, made = running.cloud(), []

    def server() -> str:
        if not made:
            made.append(
                cloud.create_server(
                    "hc-others", image="cirros", flavor="m1.nano",
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
    running: Ground, words: dict[str, str], others: Callable[[], str], templates: Path
) -> None:
    failed = {}
    with GuestAgent(running):
        for name, user in _cases(templates):
            given = {**DEMO, **ADMIN}[name]
            if "{server}" in given.values():
                words["server"] = others()
            ground = running if user == "demo" else running.of("admin", "admin")
            told = _try(ground, [*_options(templates, {**given, TEMPLATE: name}, words)])
            print(f"{name}: {told or 'CREATE_COMPLETE, deleted'}", flush=True)
            if told:
                failed[name] = told
    assert failed == {}


def _cases(templates: Path) -> list[tuple[str, str]]:
    beside = (templates.parent / "heat-agents").is_dir()
    with_agents = {name for name, given in DEMO.items()
                   if name.startswith(AGENTS) or ENVIRONMENT in given}  # fmt: skip
    return [case for case in CASES if beside or case[0] not in with_agents]


def _host(ground: Ground) -> str:
    services = ground.of("admin", "admin").told("compute", "service", "list")
    return next(one["Host"] for one in services if one["Binary"] == "nova-compute")


def _options(
    templates: Path, given: dict[str, str], words: dict[str, str]
) -> Iterator[str]:
    for key, value in given.items():
        if key in (TEMPLATE, ENVIRONMENT):
            yield from (key, str(templates / value))
            continue
        for word, meaning in words.items():
            value = value.replace("{" + word + "}", meaning)
        yield f"--parameter={key}={value}"


def _try(ground: Ground, options: list[str]) -> str:
    """Made and deleted; what went wrong, if anything."""
    made = ground.openstack(
        "stack", "create", *options, "--timeout", "4", "--wait", "t", check=False
    )
    stacks = ground.heat_user().heat.stacks
    told = [f"{one.stack_status}: {one.stack_status_reason}" for one in stacks.list()]
    for stack in list(stacks.list()):
        stacks.delete(stack.id)
    wait_until(
        lambda: all(one.stack_status == "DELETE_FAILED" for one in stacks.list()),
        "the stack is gone", within_s=240,
    )
    left = [one.stack_status_reason for one in stacks.list()]
    reached = len(told) == 1 and told[0].startswith("CREATE_COMPLETE")
    return "; ".join(left) if reached else f"{made[-600:]} {told}"
