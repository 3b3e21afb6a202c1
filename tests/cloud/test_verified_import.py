"""``import-heat --verify`` finds no difference between real Heat and the stacks imported from it.

``HEAT_CONVERGENCE_TEST_HEAT`` is real Heat's endpoint up to ``/v1``,
``HEAT_CONVERGENCE_TEST_HEAT_CONFIG`` its configuration file. Heat keeps the stacks: this service
has copies in a database that is dropped.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.cli.manage import main
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import HEAT_VARIABLE, CloudTestbed, DeployedService

CONFIG_VARIABLE = "HEAT_CONVERGENCE_TEST_HEAT_CONFIG"
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {"hidden": {"type": "string", "hidden": True, "default": "hidden-word"}},
    "resources": {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.78.0.0/24"},
        },
        "port": {
            "type": "OS::Neutron::Port",
            "depends_on": "subnet",
            "properties": {"network": {"get_resource": "net"}},
            "metadata": {"rack": 2},
        },
        "word": {"type": "OS::Heat::RandomString", "properties": {"length": 12}},
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "true"}},
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": 2,
                "resource_def": {
                    "type": "OS::Heat::Value",
                    "properties": {"value": {"get_resource": "net"}},
                },
            },
        },
    },
    "outputs": {
        "word": {"value": {"get_attr": ["word", "value"]}, "description": "a word"},
        "addresses": {"value": {"get_attr": ["port", "fixed_ips"]}},
        "values": {"value": {"get_attr": ["group", "value"]}},
    },
}


@pytest.fixture
def heat(cloud_testbed: CloudTestbed) -> DeployedService:
    """Real Heat, asked as this service is."""
    url = os.environ.get(HEAT_VARIABLE)
    if not url or not os.environ.get(CONFIG_VARIABLE):
        pytest.skip(f"{HEAT_VARIABLE} and {CONFIG_VARIABLE} name no real Heat")
    return DeployedService(cloud_testbed, url.removesuffix("/v1"), "RegionOne")


@pytest.fixture
def stack(heat: DeployedService, cloud_testbed: CloudTestbed) -> Iterator[str]:
    owner = cloud_testbed.identity_client("demo").session
    name = f"verify-{uuid.uuid4().hex[:8]}"
    heat.create_stack(owner, name, TEMPLATE)
    try:
        assert heat.wait_until_done(owner, name)[0] == "CREATE_COMPLETE"
        yield name
    finally:
        heat.delete_stack(owner, name)


def test_imported_stack_shows_what_heat_shows(
    cloud_testbed: CloudTestbed,
    deploy: DeployService,
    heat: DeployedService,
    stack: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = deploy()
    command = ["--config-file", str(service.config), "import-heat", "--stack", stack]
    source = ["--heat-config", os.environ[CONFIG_VARIABLE], "--despite-live-engines"]
    assert main.main([*command, *source]) == 0, capsys.readouterr().out
    for name, value in cloud_testbed.environment("demo", "RegionOne").items():
        monkeypatch.setenv(name, value)
    urls = ["--heat-url", f"{heat.endpoint}/v1", "--url", f"{service.endpoint}/v1"]

    exit_code: Any = main.main([*command, "--verify", *urls])

    printed = capsys.readouterr().out
    assert exit_code == 0, printed
    assert "2 stacks compared, 0 differences" in printed
