"""``heat-convergence standalone --cloud emulated``, by REST."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from heat_convergence.testing.daemon_processes import ServiceDeployment

Json = Any
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.0.0/24"},
        },
        "web": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.nano",
                "networks": [{"subnet": {"get_resource": "subnet"}}],
            },
        },
    },
    "outputs": {"ip": {"value": {"get_attr": ["web", "first_address"]}}},
}
TIMEOUT_S = 60


@pytest.fixture
def stacks_url(tmp_path: Path) -> Iterator[str]:
    deployment = ServiceDeployment(
        tmp_path,
        database_url=f"sqlite:///{tmp_path}/stacks.sqlite",
        transport_url="fake:/",
        options={},
    ).start_standalone("--cloud", "emulated")
    yield f"http://127.0.0.1:{deployment.port}/v1/standalone/stacks"
    deployment.close()


def _wait_until(url: str, status: str) -> Json:
    end = time.monotonic() + TIMEOUT_S
    while True:
        stack = requests.get(url, timeout=TIMEOUT_S).json()["stack"]
        if not stack["stack_status"].endswith("IN_PROGRESS") or time.monotonic() > end:
            assert stack["stack_status"] == status, stack["stack_status_reason"]
            return stack
        time.sleep(0.2)


def test_server_exists_in_the_emulated_cloud(stacks_url: str) -> None:
    body = {"stack_name": "s", "template": TEMPLATE}
    created = requests.post(stacks_url, json=body, timeout=TIMEOUT_S)
    assert created.status_code == 201, created.text
    stack = _wait_until(f"{stacks_url}/s", "CREATE_COMPLETE")
    assert stack["outputs"][0]["output_value"].startswith("10.0.0.")
    shown = requests.get(f"{stacks_url}/s/{stack['id']}/resources/web", timeout=TIMEOUT_S)
    assert shown.json()["resource"]["attributes"]["status"] == "ACTIVE"


def test_missing_flavor_fails_the_stack(stacks_url: str) -> None:
    resources = {**TEMPLATE["resources"]}
    resources["web"] = {
        "type": "OS::Nova::Server",
        "properties": {"image": "cirros", "flavor": "none-such", "networks": [{"network": "x"}]},
    }
    body = {"stack_name": "s", "template": {**TEMPLATE, "resources": resources, "outputs": {}}}
    requests.post(stacks_url, json=body, timeout=TIMEOUT_S).raise_for_status()
    stack = _wait_until(f"{stacks_url}/s", "CREATE_FAILED")
    assert "none-such" in stack["stack_status_reason"]
