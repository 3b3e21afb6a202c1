"""Real Heat adopts the documents that ``heat-convergence-manage`` writes.

``HEAT_CONVERGENCE_TEST_HEAT`` is real Heat's endpoint up to ``/v1``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.manage import main
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import HEAT_VARIABLE, CloudTestbed, DeployedService

Json = Any
NAME = "back-to-heat"
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {"hidden": {"type": "string", "hidden": True, "default": "hidden-word"}},
    "resources": {
        "net": {"type": "OS::Neutron::Net", "properties": {"name": NAME}},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.77.0.0/24"},
        },
        "port": {
            "type": "OS::Neutron::Port",
            "depends_on": "subnet",
            "properties": {"network": {"get_resource": "net"}},
        },
        "word": {"type": "OS::Heat::RandomString", "properties": {"length": 12}},
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": 2,
                "resource_def": {
                    "type": "OS::Neutron::Port",
                    "properties": {"network": {"get_resource": "net"}},
                },
            },
        },
    },
    "outputs": {"word": {"value": {"get_attr": ["word", "value"]}}},
}


@pytest.fixture
def heat(cloud_testbed: CloudTestbed) -> DeployedService:
    """Real Heat, asked as this service is."""
    url = os.environ.get(HEAT_VARIABLE)
    if not url:
        pytest.skip(f"{HEAT_VARIABLE} names no real Heat")
    return DeployedService(cloud_testbed, url.removesuffix("/v1"), "RegionOne")


def _physical_ids(service: DeployedService, auth: Any) -> dict[str, Json]:
    path = f"/stacks/{NAME}/resources?nested_depth=2"
    listed = service.request(auth, "GET", path).json()["resources"]
    ports = [each for each in listed if each["resource_type"].startswith("OS::Neutron")]
    return {
        f"{each.get('parent_resource', '')}/{each['resource_name']}": each["physical_resource_id"]
        for each in ports
    }


def _word(service: DeployedService, auth: Any) -> Json:
    shown = service.request(auth, "GET", f"/stacks/{NAME}").json()["stack"]
    return shown["outputs"][0]["output_value"]


def test_heat_adopts_a_document_and_deletes_the_resources(
    cloud_testbed: CloudTestbed, deploy: DeployService, heat: DeployedService, tmp_path: Path
) -> None:
    service = deploy(enable_stack_abandon=True)
    owner = cloud_testbed.identity_client("demo").session
    service.create_stack(owner, NAME, TEMPLATE)
    assert service.wait_until_done(owner, NAME)[0] == "CREATE_COMPLETE"
    ids, word = _physical_ids(service, owner), _word(service, owner)
    folder = tmp_path / "documents"
    command = ["--config-file", str(service.config), "export-heat-documents"]
    assert main.main([*command, "--output", str(folder)]) == 0
    (path,) = folder.glob(f"{owner.get_project_id()}/{NAME}-*.json")
    stack_id = service.request(owner, "GET", f"/stacks/{NAME}").json()["stack"]["id"]
    abandoned = service.request(owner, "DELETE", f"/stacks/{NAME}/{stack_id}/abandon")
    assert abandoned.status_code == 200, abandoned.text

    document = json.loads(path.read_text())
    body = {
        "stack_name": NAME,
        "template": document["template"],
        "environment": document["environment"],
        "files": document["files"],
        "adopt_stack_data": json.dumps(document),
    }
    adopted = heat.request(owner, "POST", "/stacks", body)
    assert adopted.status_code == 201, adopted.text
    assert heat.wait_until_done(owner, NAME)[0] == "ADOPT_COMPLETE"
    assert _physical_ids(heat, owner) == ids
    assert _word(heat, owner) == word
    heat.delete_stack(owner, NAME)
    network = cloud_testbed.connection("demo", "RegionOne").network
    assert network.find_network(ids["/net"]) is None
