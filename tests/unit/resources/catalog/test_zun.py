"""``OS::Zun::Container``: what Zun is sent, states, networks and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.errors import Invalid
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.openstack.zun.containers import restart_policy
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

NAME = "OS::Zun::Container"
CONTAINER = TYPES[NAME]
NET, OTHER = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on-failure:3", {"Name": "on-failure", "MaximumRetryCount": "3"}),
        ("always:3", {"Name": "always", "MaximumRetryCount": "0"}),
        ("sometimes", None),
    ],
)
def test_restart_policy_has_a_count_after_failures_only(text: str, expected: Any) -> None:
    assert restart_policy(text) == expected


def test_create_sends_lists_and_drops_what_is_not_set() -> None:
    properties = {
        "image": "cirros",
        "command": "sh -c 'echo a b'",
        "restart_policy": "sometimes",
        "mounts": [{"volume_id": NET, "mount_path": "/a"}, {"volume_size": 2, "mount_path": "/b"}],
        "networks": [{"network": NET, "fixed_ip": "2001:db8::1"}, {"port": OTHER}],
    }
    arguments = CONTAINER.create_arguments(EmulatedCloud().context(NAME, properties))
    assert arguments == {
        "name": "web-r-0123456789ab",
        "image": "cirros",
        "command": ["sh", "-c", "echo a b"],
        "mounts": [{"destination": "/a", "source": NET}, {"destination": "/b", "size": "2"}],
        "nets": [{"network": NET, "v6-fixed-ip": "2001:db8::1"}, {"port": OTHER}],
    }


@pytest.mark.parametrize(
    ("interactive", "action", "status", "expected"),
    [
        (False, Action.CREATE, "Running", ObservedState.READY),
        (False, Action.CREATE, "Creating", ObservedState.BUSY),
        (False, Action.CREATE, "Stopped", ObservedState.READY),
        (True, Action.CREATE, "Stopped", ObservedState.FAILED),
        (False, Action.CREATE, "Error", ObservedState.FAILED),
        (True, Action.DELETE, "Stopped", ObservedState.BUSY),
    ],
)
def test_interactive_container_must_not_stop(
    interactive: bool, action: Action, status: str, expected: ObservedState
) -> None:
    context = EmulatedCloud().context(NAME, {"image": "cirros", "interactive": interactive})
    body = {"status": status, "status_reason": "why"}
    assert CONTAINER.observed_state(replace(context, action=action), body)[0] is expected


def test_update_keeps_the_ports_of_networks_that_remain() -> None:
    cloud = EmulatedCloud()
    fixed = {"network": NET, "fixed_ip": "192.0.2.31"}
    context = cloud.created(NAME, {"image": "cirros", "networks": [fixed, {"network": OTHER}]})
    (before,) = (each["ports"] for each in cloud.emulation.collection("zun.container").bodies())
    after = {**context.properties, "networks": [fixed, {"network": NET}]}
    CONTAINER.update(context, after, frozenset({"networks"}))
    (ports,) = (each["ports"] for each in cloud.emulation.collection("zun.container").bodies())
    assert ports[0] == before[0]
    assert [each["net_id"] for each in ports] == [NET, NET]


def test_addresses_are_known_by_the_names_of_networks_too() -> None:
    cloud = EmulatedCloud()
    cloud.emulation.add("neutron.network", id=NET, name="front")
    context = cloud.created(NAME, {"image": "cirros", "networks": [{"network": NET}]})
    cloud.emulation.advance(2)
    result = CONTAINER.observe_many([context])[context.resource_id]
    addresses = (result.attributes or {})["addresses"]
    assert addresses["front"] == addresses[NET]
    assert addresses[NET][0]["addr"] == "192.0.2.30"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"mounts": [{"mount_path": "/a"}]}, "volume_id and volume_size"),
        ({"networks": [{"fixed_ip": "192.0.2.1"}]}, "network or port"),
        ({"networks": [{"port": "p", "fixed_ip": "192.0.2.1"}]}, "exclude each other"),
    ],
)
def test_contradicting_properties_are_refused(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        CONTAINER.validate(properties, None)
