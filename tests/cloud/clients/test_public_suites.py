"""The functional tests of openstacksdk and python-heatclient, unmodified."""

from __future__ import annotations

import re

import pytest

from tests.cloud.clients.conftest import FindSoftware
from tests.cloud.testbed import CloudTestbed, DeployedService

SDK, HEAT_CLIENT = "openstacksdk==4.22.0", "python-heatclient==5.3.0"
TEST_TOOLS = ("tempest==47.0.0", "stestr", "testtools", "fixtures", "requests-mock", "oslotest",
              "ddt", "statsd", "prometheus_client")  # fmt: skip
# This one reads its template from a host of the internet.
NEEDS_INTERNET = "test_stack_create_minimal_from_url"


@pytest.mark.timeout(3600)
def test_openstacksdk(
    software: FindSoftware, cloud_environment: dict[str, str], deployed_service: DeployedService
) -> None:
    sdk = software("openstacksdk").install(SDK, *TEST_TOOLS)
    environment = {
        **cloud_environment,
        "OPENSTACKSDK_FLAVOR": "m1.tiny",
        "OPENSTACKSDK_IMAGE": "cirros",
        "OPENSTACKSDK_FUNC_TEST_TIMEOUT": "600",
        "OS_TEST_TIMEOUT": "600",  # as in its tox.ini; the default of 5 s is that of units
    }
    suite = "openstack.tests.functional.orchestration.v1.test_stack"
    command = [sdk.programs / "python", "-m", "testtools.run", suite]
    printed = sdk.run(command, sdk.unpack_source(SDK), environment)
    assert re.search(r"Ran 2 tests .*\nOK", printed), printed[-2000:]


@pytest.mark.timeout(3600)
def test_python_heatclient(
    software: FindSoftware, cloud_testbed: CloudTestbed, deployed_service: DeployedService
) -> None:
    client = software("heatclient").install(HEAT_CLIENT, "python-openstackclient", *TEST_TOOLS)
    environment = {
        **cloud_testbed.environment("demo", deployed_service.region),
        "OS_TENANT_NAME": "demo",
        "OS_HEATCLIENT_EXEC_DIR": str(client.programs),
    }
    command = [
        client.programs / "stestr", "--test-path", "heatclient/tests/functional",
        "--top-dir", ".", "run", "--serial", "--exclude-regex", NEEDS_INTERNET,
    ]  # fmt: skip
    printed = client.run(command, client.unpack_source(HEAT_CLIENT), environment)
    assert re.search(r"Passed: [1-9]\d*\n - Skipped: 0\n.*\n?.*\n - Failed: 0", printed), printed
