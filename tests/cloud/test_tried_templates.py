"""Public templates give the same graph and events offline and on a real cloud.

``HEAT_CONVERGENCE_TEST_TEMPLATES`` is a clone of openstack/heat-templates. Each template that the
emulated cloud completes without agents in guests is created there, and by daemons with the real
services; resources, what requires them, and the statuses of their events must be the same.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from heatclient.common import template_utils
from keystoneauth1.session import Session

from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService
from tests.end_to_end.public_templates import CASES, REQUIRED_IMAGES
from tests.end_to_end.test_heat_templates import TEMPLATES_VARIABLE
from tests.functional.openstack_types.emulated_service import emulation_service
from tools.public_templates import SampleCloud, sample_parameters

Json = Any
Get = Callable[[str], Json]
USER = "demo"
ADMIN = "admin"
AGGREGATE = "hot/nova/host_aggregate.yaml"  # needs a host without servers
LEAST = 40  # templates that must have been compared
CREATED_S = 300.0
COMPLETE = "CREATE_COMPLETE"


@pytest.fixture(scope="module")
def templates() -> Path:
    folder = os.environ.get(TEMPLATES_VARIABLE)
    if not folder:
        pytest.skip(f"{TEMPLATES_VARIABLE} names no clone of openstack/heat-templates")
    return Path(folder).resolve()


@pytest.fixture(scope="module")
def service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def placeholders(cloud_testbed: CloudTestbed) -> Iterator[Mapping[str, str]]:
    """The values of placeholders in parameters; the images that templates name exist meanwhile."""
    cloud = cloud_testbed.connection(USER, cloud_testbed.facts["region"])
    images = [
        cloud.image.create_image(
            name=name, disk_format="raw", container_format="bare", data=bytes(1024)
        )
        for name in REQUIRED_IMAGES
    ]
    ids = cloud_testbed.facts["ids"]
    other = cloud.compute.create_server(
        name="tried-others",
        image_id=ids["image"],
        flavor_id=ids["flavor_m1.nano"],
        networks=[{"uuid": ids["private_network"]}],
    )
    cloud.compute.wait_for_server(other, wait=300)
    identity = cloud_testbed.connection(ADMIN, cloud_testbed.facts["region"]).identity
    group = identity.create_group(name="tried-group", domain_id="default")
    values = {**ids, "server": other.id, "group": group.id}
    yield {"{" + key + "}": value for key, value in values.items()}
    identity.delete_group(group)
    cloud.compute.delete_server(other)
    cloud.compute.wait_for_delete(other)
    for image in images:
        cloud.image.delete_image(image.id)


def _body(templates: Path, name: str, values: Mapping[str, str] | None = None) -> Json:
    """Return the request of a template, with sample values of the emulation or of a cloud."""
    path = templates / name
    files, template = template_utils.get_template_contents(str(path))
    parameters, environments = sample_parameters(templates, path, template, values)
    more, environment = template_utils.process_multiple_environments_and_files(
        [str(each) for each in environments]
    )
    environment["parameters"] = {**parameters, **(environment.get("parameters") or {})}
    texts = {
        key: text.decode() if isinstance(text, bytes) else text
        for key, text in {**files, **more}.items()
    }
    return {"template": template, "files": texts, "environment": environment}


def _story(get: Get) -> Json:
    """Return graph and events of a created stack without what differs from stack to stack.

    Resources of nested stacks have random names, so that only their number is compared.
    """
    rows = get("/resources?nested_depth=5")["resources"]
    statuses: dict[str, list[str]] = {}
    for event in get("/events?sort_dir=asc")["events"]:
        statuses.setdefault(event["resource_name"], []).append(event["resource_status"])
    root = {row["resource_name"]: row for row in rows if "parent_resource" not in row}
    nested = [row for row in rows if "parent_resource" in row]
    return {
        "status": get("")["stack"]["stack_status"],
        "graph": {
            name: (row["resource_type"], sorted(row["required_by"])) for name, row in root.items()
        },
        "events": {name: statuses.get(name, []) for name in root},
        "nested": Counter((row["resource_type"], row["resource_status"]) for row in nested),
    }


def _offline(templates: Path, name: str) -> Json | None:
    """Return graph and events in the emulated cloud; None if it does not complete the stack."""
    with tempfile.TemporaryDirectory() as folder:
        service = emulation_service(SampleCloud(), folder)
        try:
            created = service.send(
                "POST", "/stacks", {"stack_name": "s", **_body(templates, name)}
            )
            if created.status_int != 201:
                return None
            path = f"/stacks/s/{created.json['stack']['id']}"
            story = _story(lambda suffix: service.send("GET", path + suffix).json)
        finally:
            service.close()
    return story if story["status"] == COMPLETE else None


def _on_cloud(service: DeployedService, auth: Session, number: int, body: Json) -> Json:
    """Create a stack on the cloud, and delete it; return its graph and events."""
    name = f"tried-{number}"
    response = service.request(auth, "POST", "/stacks", {"stack_name": name, **body})
    assert response.status_code == 201, response.text
    path = f"/stacks/{name}/{response.json()['stack']['id']}"
    try:
        service.wait_until_done(auth, name, within_s=CREATED_S)
        return _story(lambda suffix: service.request(auth, "GET", path + suffix).json())
    finally:
        service.delete_stack(auth, name)


@pytest.mark.timeout(2400)
def test_real_cloud_shows_the_same_graph_and_events(
    service: DeployedService,
    cloud_testbed: CloudTestbed,
    templates: Path,
    placeholders: Mapping[str, str],
) -> None:
    """Compare every template that the emulated cloud completes."""
    offline = {name: _offline(templates, name) for name, _ in CASES if name != AGGREGATE}
    expected = {name: story for name, story in offline.items() if story is not None}
    sessions = {user: cloud_testbed.session(user) for user in (USER, ADMIN)}
    numbers = {name: number for number, name in enumerate(expected)}
    users = {name: user for name, user in CASES if name in expected}

    def create(name: str) -> Json:
        body = _body(templates, name, {**placeholders, "{region}": service.region})
        return _on_cloud(service, sessions[users[name]], numbers[name], body)

    # One at a time: servers without networks need a project with a single one.
    found = {name: create(name) for name in expected}
    for name in expected:
        print(f"{name}: {'the same' if found[name] == expected[name] else 'different'}")
    assert found == expected
    assert len(expected) >= LEAST
