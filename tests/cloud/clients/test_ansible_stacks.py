"""Ansible's modules ``openstack.cloud.stack`` and ``stack_info``, with a failing update."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cloud.clients.conftest import FindSoftware
from tests.cloud.testbed import DeployedService

PLAYBOOK = Path(__file__).with_name("stacks.yaml")
# The collection reads openstack.version, which later releases of the SDK do not import.
REQUIREMENTS = ("ansible-core==2.19.*", "openstacksdk==4.4.0")
COLLECTIONS = "ansible==12.3.0"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("run", ["first run", "second run"])
def test_playbook(
    software: FindSoftware,
    cloud_environment: dict[str, str],
    deployed_service: DeployedService,
    run: str,
) -> None:
    """A second run finds nothing that the first one has left behind."""
    ansible = software("ansible").install(*REQUIREMENTS)
    environment = {
        **cloud_environment,
        "OS_CLOUD": "devstack",
        "ANSIBLE_COLLECTIONS_PATH": str(ansible.unpack_collection(COLLECTIONS)),
        "ANSIBLE_PYTHON_INTERPRETER": str(ansible.programs / "python"),
    }
    command = [
        ansible.programs / "ansible-playbook", "-i", "localhost,", "-c", "local", PLAYBOOK,
    ]  # fmt: skip
    printed = ansible.run(command, PLAYBOOK.parent, environment)
    assert "failed=0" in printed
