"""The calls to the cloud that typical stacks cost, those for tokens included.

The emulation is called by the daemons as real services are: over HTTP, with tokens, catalogs and
version documents.  Ten servers become ready one after the other, as on a cloud that builds one in
a second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.end_to_end.harness import TargetCloud
from tests.end_to_end.recorded_services import EmulatedCloud, RecordedCall
from tests.integration.harness import HeatUser

SERVER_COUNT = 200
TIMEOUT_S = 3600  # a small cloud makes some ten servers a minute
SERVERS = 10
BUILD_TIME_S = 1.0  # of each server, one after the other
POLLS = (
    "compute GET /compute/v2.1/servers/",
    "block-storage GET /volume/v3/volumes/ID",
)
GET_NET = {"get_resource": "net"}
NETWORK: dict[str, Any] = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.64.0.0/22"},
    },
}
SERVER: dict[str, Any] = {
    "type": "OS::Nova::Server",
    "properties": {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"network": {"get_param": "net"}}],
    },
}
SERVER_TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "parameters": {"net": {"type": "string"}},
    "resources": {"server": SERVER},
}


def group_of_servers() -> dict[str, Any]:
    server = {**SERVER, "properties": {**SERVER["properties"], "networks": [{"network": GET_NET}]}}
    properties = {"count": SERVERS, "resource_def": server}
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": properties,
        "depends_on": "subnet",
    }
    return {"heat_template_version": "2016-10-14", "resources": {**NETWORK, "group": group}}


def seven_types() -> dict[str, Any]:
    resources = {
        **NETWORK,
        "security_group": {
            "type": "OS::Neutron::SecurityGroup",
            "properties": {"rules": [{"protocol": "tcp", "port_range_min": 22,
                                      "port_range_max": 22}]},
        },
        "port": {
            "type": "OS::Neutron::Port",
            "properties": {
                "network": GET_NET,
                "security_groups": [{"get_resource": "security_group"}],
            },
            "depends_on": "subnet",
        },
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.nano",
                "networks": [{"port": {"get_resource": "port"}}],
            },
        },
        "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        "attachment": {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {
                "instance_uuid": {"get_resource": "server"},
                "volume_id": {"get_resource": "volume"},
            },
        },
    }  # fmt: skip
    return {"heat_template_version": "2016-10-14", "resources": resources}


@pytest.fixture
def user(emulated_target_cloud: TargetCloud, deploy: Callable[..., Any]) -> HeatUser:
    # The watch of an earlier stack would be counted with a later one.
    deploy(emulated_target_cloud, drift={"enabled": False})
    user = emulated_target_cloud.heat_user()
    user.heat.stacks.list()  # the client has its token
    return user


@pytest.fixture
def cloud(emulated_target_cloud: TargetCloud) -> EmulatedCloud:
    cloud = emulated_target_cloud.emulated_cloud
    assert cloud is not None
    return cloud


def build_one_after_the_other(cloud: EmulatedCloud) -> None:
    """Let each further server take longer."""

    def delay_next(call: RecordedCall) -> None:
        if call.method == "POST" and call.path.endswith("/servers"):
            cloud.emulation.latency_s["nova.server"] += BUILD_TIME_S

    cloud.call_log.on_call = delay_next


@dataclass(frozen=True, slots=True)
class CountedCreate:
    """The calls of one create.

    Attributes:
        calls: Those that any cloud gets.
        polls: Those whose number depends on the time that the cloud takes.
        seconds: The duration.
    """

    calls: Counter[str]
    polls: Counter[str]
    seconds: float

    def total(self) -> int:
        """Return the number of all calls."""
        return self.calls.total() + self.polls.total()


def create(cloud: EmulatedCloud, user: HeatUser, name: str, template: Any) -> CountedCreate:
    """Create a stack and return the calls from the request until it is complete."""
    cloud.emulation.latency_s["nova.server"] = BUILD_TIME_S
    record, started_s = cloud.record_everything(), time.monotonic()
    user.create(name, template)
    user.wait_for_status(name, "CREATE_COMPLETE")
    seconds, counts = time.monotonic() - started_s, record.counts()
    polls = Counter({key: number for key, number in counts.items() if key.startswith(POLLS)})
    made = CountedCreate(counts - polls, polls, seconds)
    print(name, f"{seconds:.1f} s", made.total(), *counts.most_common(), sep="\n")
    return made


def test_calls_of_ten_servers_in_a_group(user: HeatUser, cloud: EmulatedCloud) -> None:
    build_one_after_the_other(cloud)
    cold = create(cloud, user, "cold", group_of_servers())
    # Besides 12 creates: a trust, 5 tokens of 3 processes (of the user, of the service for
    # keystonemiddleware and for itself, of the trust twice), one of them validated; version
    # documents, that of Keystone for keystonemiddleware alone; flavors and images in 2 processes;
    # ports, networks and subnets.
    assert cold.calls["identity POST /v3/auth/tokens"] <= 5
    assert cold.calls["identity GET /v3"] <= 1
    assert cold.calls["compute GET /compute/v2.1/flavors/detail"] <= 2
    assert cold.calls["image GET /image/v2/images"] <= 2
    assert cold.calls.total() <= 30
    warm = create(cloud, user, "warm", group_of_servers())
    assert warm.calls["identity POST /v3/auth/tokens"] == 2  # of the trust, in two processes
    assert warm.calls["identity GET /v3"] == 0
    assert warm.calls["image GET /image"] == 0
    assert warm.calls["network GET /network"] == 0
    assert warm.calls.total() <= 23
    for each in (cold, warm):
        assert each.polls.total() <= each.seconds + 2


def test_calls_of_seven_types(user: HeatUser, cloud: EmulatedCloud) -> None:
    create(cloud, user, "cold", seven_types())
    warm = create(cloud, user, "warm", seven_types())
    assert warm.calls.total() <= 20
    assert warm.polls.total() <= 2 * warm.seconds + 2


def many_servers() -> dict[str, Any]:
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "image": "cirros",
            "flavor": "m1.nano",
            "networks": [{"network": {"get_resource": "net"}}],
        },
    }
    resources: dict[str, Any] = {f"server{number}": server for number in range(SERVER_COUNT)}
    resources["net"] = {"type": "OS::Neutron::Net"}
    resources["subnet"] = {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.64.0.0/22"},
    }
    return {"heat_template_version": "2016-10-14", "resources": resources}


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_200_servers_take_fewer_than_three_calls_each(
    target_cloud: TargetCloud, deploy: Any
) -> None:
    user_cloud = (
        target_cloud
        if target_cloud.emulated_cloud
        else target_cloud.as_user("alt_demo", "alt_demo")
    )
    deploy(user_cloud)
    user = user_cloud.heat_user()
    with user_cloud.call_log.record_calls() as calls:
        user.create("many", many_servers())
        user.wait_for_status("many", "CREATE_COMPLETE", within_s=TIMEOUT_S)
    counts = Counter((call.service, call.method, call.path.partition("?")[0]) for call in calls)
    print(len(calls), Counter(call.service for call in calls), counts.most_common(8))
    assert len(calls) < 3 * SERVER_COUNT, counts.most_common(12)
    user.heat.stacks.delete("many")
    user.wait_deleted("many", within_s=TIMEOUT_S)
