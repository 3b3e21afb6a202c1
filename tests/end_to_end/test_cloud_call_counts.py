"""The number of calls to the cloud for the creation of many servers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.end_to_end.harness import TargetCloud

SERVER_COUNT = 200
TIMEOUT_S = 3600  # a small cloud makes some ten servers a minute


def template() -> dict[str, Any]:
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
        user.create("many", template())
        user.wait_for_status("many", "CREATE_COMPLETE", within_s=TIMEOUT_S)
    counts = Counter((call.service, call.method, call.path.partition("?")[0]) for call in calls)
    print(len(calls), Counter(call.service for call in calls), counts.most_common(8))
    assert len(calls) < 3 * SERVER_COUNT, counts.most_common(12)
    user.heat.stacks.delete("many")
    user.wait_deleted("many", within_s=TIMEOUT_S)
