"""The functional tests that OpenStack publishes for its orchestration service, unmodified."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import ConfigOptions, write_config
from tests.cloud.clients.client_software import ClientSoftware
from tests.cloud.clients.conftest import FindSoftware
from tests.cloud.testbed import CloudTestbed, DeployedService

PLUGIN = ("heat-tempest-plugin==3.0.0", "tempest==47.0.0")
PACKAGE = "heat_tempest_plugin"
# Tests of one class share stacks, so that one process runs all of them.
GROUPS = r"([^\.]*\.)*"
TESTS = 139
# Two of them run where the cloud has Zaqar.
MOST_SKIPPED = 12
# These need a guest that starts, a load balancer, an alarm service or a volume's backup.
SKIPPED_SCENARIOS = (
    "AodhAlarmTest",
    "CfnInitIntegrationTest",
    "LoadBalancerTest",
    "ServerSignalIntegrationTest",
    "SoftwareConfigIntegrationTest",
    "VolumeBackupRestoreIntegrationTest",
)
SKIPPED_FUNCTIONS = (
    "NotificationTest",  # needs a message service
    "ZaqarSignalTransportTest",  # its agent speaks version 1.1 of Zaqar's API, which is removed
)
SERVICES = ("heat", "nova", "neutron", "glance", "cinder")


@pytest.mark.timeout(7200)
def test_all_tests_of_the_plugin(
    software: FindSoftware,
    cloud_testbed: CloudTestbed,
    deployed_service: DeployedService,
    tmp_path: Path,
) -> None:
    """Prints the seconds of every test."""
    plugin = software("tempest").install(*PLUGIN)
    write_config(
        tmp_path / "tempest.conf",
        tempest_options(cloud_testbed, deployed_service.region, tmp_path),
    )
    environment = {"TEMPEST_CONFIG_DIR": str(tmp_path), "TEMPEST_CONFIG": "tempest.conf"}
    package = find_package(plugin, tmp_path)
    command = [
        plugin.programs / "stestr", "--test-path", package / "tests", "--top-dir", package.parent,
        "--group_regex", GROUPS, "run", "--concurrency", "2", rf"^{PACKAGE}\.",
    ]  # fmt: skip
    printed = plugin.run(command, tmp_path, environment)
    print(plugin.run([plugin.programs / "stestr", "slowest", "--all"], tmp_path, {}))
    counted = {name: int(number) for name, number in re.findall(r" - (\w+): (\d+)", printed)}
    assert counted["Failed"] == 0, printed[-2000:]
    assert counted["Passed"] + counted["Skipped"] == TESTS, printed[-2000:]
    assert counted["Skipped"] <= MOST_SKIPPED, printed[-2000:]


def find_package(plugin: ClientSoftware, folder: Path) -> Path:
    """Return the folder of the plug-in's package."""
    statement = f"import {PACKAGE} as found; print(found.__path__[0])"
    printed = plugin.run([plugin.programs / "python", "-c", statement], folder, {})
    return Path(printed.splitlines()[-1])


def tempest_options(cloud_testbed: CloudTestbed, region: str, folder: Path) -> ConfigOptions:
    """Return tempest's configuration for the cloud and the service's region."""
    ids: dict[str, Any] = cloud_testbed.facts["ids"]
    password = cloud_testbed.facts["password"]
    return {
        "DEFAULT": {"log_file": folder / "tempest.log"},
        "oslo_concurrency": {"lock_path": folder},
        "auth": {
            "use_dynamic_credentials": True,
            "admin_username": "admin",
            "admin_password": password,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
        },
        "identity": {"uri_v3": cloud_testbed.auth_url, "auth_version": "v3", "region": region},
        "identity-feature-enabled": {"api_v3": True},
        "compute": {
            "image_ref": ids["image"],
            "image_ref_alt": ids["image"],
            "flavor_ref": ids["flavor_m1.tiny"],
            "flavor_ref_alt": ids["flavor_m1.small"],
        },
        "network": {"public_network_id": ids["public_network"]},
        "service_available": {**dict.fromkeys(SERVICES, True), "swift": False},
        "heat_plugin": plugin_options(cloud_testbed, region),
        "heat_features_enabled": {"stack_cancel": True, "multi_cloud": False},
    }


def plugin_options(cloud_testbed: CloudTestbed, region: str) -> dict[str, object]:
    """Return the plug-in's own section: users, and what exists in the cloud."""
    password = cloud_testbed.facts["password"]
    return {
        "catalog_type": "orchestration",
        "auth_url": cloud_testbed.auth_url,
        "region": region,
        "username": "demo",
        "password": password,
        "project_name": "demo",
        "admin_username": "admin",
        "admin_password": password,
        "admin_project_name": "admin",
        "user_domain_id": "default",
        "project_domain_id": "default",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "image_ref": "cirros",
        "minimal_image_ref": "cirros",
        "instance_type": "m1.small",
        "minimal_instance_type": "m1.tiny",
        "keypair_name": "heat_key",
        "fixed_network_name": "private",
        "fixed_subnet_name": "private-subnet",
        "network_for_ssh": "private",
        "floating_network_name": "public",
        "build_interval": 1,
        "build_timeout": 300,
        "connectivity_timeout": 20,
        "hidden_stack_tag": "hidden",
        "convergence_engine_enabled": True,
        "volume_size": 1,
        "skip_scenario_test_list": ",".join(SKIPPED_SCENARIOS),
        "skip_functional_test_list": ",".join(SKIPPED_FUNCTIONS),
    }
