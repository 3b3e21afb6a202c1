"""RULE 4 on real processes: the engine dies between a service's answer and our record."""

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
    "server with a port of its own": (
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
    "security group of the author's words": (
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
    """Kills the engine when the service has answered its first create."""
    killed: list[RecordedCall] = []

    def after(call: RecordedCall) -> None:
        made = call.method == "POST" and call.path.partition("?")[0].endswith(path)
        if made and not killed:
            killed.append(call)
            assert call.status < 300, call
            deployment.daemons_with_role(ENGINE)[0].kill()

    return after


@pytest.mark.parametrize("kind", SCENARIOS)
def test_resource_created_exactly_once(kind: str, target_cloud: TargetCloud, deploy: Any) -> None:
    path, resources = SCENARIOS[kind]
    deployment = deploy(target_cloud)
    user = target_cloud.heat_user()
    target_cloud.call_log.on_call = kill_engine_after_create(path, deployment)
    user.create("s", {"heat_template_version": "2016-10-14", "resources": resources})
    (engine,) = deployment.daemons_with_role(ENGINE)
    engine._process.wait(120)  # until the kill
    engine.start()
    user.wait_for_status("s", "CREATE_COMPLETE")
    asked = [
        call
        for call in target_cloud.call_log.calls
        if call.method == "POST" and call.path.endswith(path) and call.status < 300
    ]
    assert len(asked) == 1, asked
    user.heat.stacks.delete("s")
    user.wait_deleted("s")
