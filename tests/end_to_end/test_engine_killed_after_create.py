"""RULE 4 on real processes: an engine killed between the response to a create and its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import ENGINE, ServiceDeployment
from tests.end_to_end.harness import TargetCloud
from tests.end_to_end.recorded_services import RecordedCall

Json = Any
NET: Json = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.95.0.0/24"},
    },
}
SCENARIOS: dict[str, tuple[str, Json]] = {
    "server": (
        "/servers",
        {
            **NET,
            "it": {
                "type": "OS::Nova::Server",
                "properties": {
                    "image": "cirros",
                    "flavor": "m1.nano",
                    "networks": [{"network": {"get_resource": "net"}}],
                },
            },
        },
    ),
    "server with a managed port": (
        "/servers",
        {
            **NET,
            "it": {
                "type": "OS::Nova::Server",
                "properties": {
                    "image": "cirros",
                    "flavor": "m1.nano",
                    "name": "same",
                    "networks": [{"subnet": {"get_resource": "subnet"}}],
                },
            },
        },
    ),
    "port": (
        "/ports",
        {
            **NET,
            "it": {
                "type": "OS::Neutron::Port",
                "properties": {"network": {"get_resource": "net"}},
            },
        },
    ),
    "security group with a name and description": (
        "/security-groups",
        {
            "it": {
                "type": "OS::Neutron::SecurityGroup",
                "properties": {"name": "hc-words", "description": "the author's"},
            }
        },
    ),
    "volume": (
        "/volumes",
        {"it": {"type": "OS::Cinder::Volume", "properties": {"size": 1}}},
    ),
}


def kill_engine_after_create(
    path: str, deployment: ServiceDeployment
) -> Callable[[RecordedCall], None]:
    """Return a hook that kills the engine after the first create at ``path``."""
    killed: list[RecordedCall] = []

    def kill_once(call: RecordedCall) -> None:
        is_create = call.method == "POST" and call.path.partition("?")[0].endswith(path)
        if is_create and not killed:
            killed.append(call)
            assert call.status < 300, call
            deployment.daemons_with_role(ENGINE)[0].kill()

    return kill_once


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_resource_created_exactly_once(
    scenario: str, target_cloud: TargetCloud, deploy: Any
) -> None:
    path, resources = SCENARIOS[scenario]
    deployment = deploy(target_cloud)
    user = target_cloud.heat_user()
    target_cloud.call_log.on_call = kill_engine_after_create(path, deployment)
    user.create("s", {"heat_template_version": "2016-10-14", "resources": resources})
    (engine,) = deployment.daemons_with_role(ENGINE)
    engine._process.wait(120)  # until the kill
    engine.start()
    user.wait_for_status("s", "CREATE_COMPLETE")
    create_calls = [
        call
        for call in target_cloud.call_log.calls
        if call.method == "POST" and call.path.endswith(path) and call.status < 300
    ]
    assert len(create_calls) == 1, create_calls
    user.heat.stacks.delete("s")
    user.wait_deleted("s")
