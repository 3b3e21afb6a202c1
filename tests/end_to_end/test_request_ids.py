"""The id of a request goes to every service that is called because of it, by whichever daemon."""

from __future__ import annotations

from typing import Any

import pytest

from tests.end_to_end.harness import TargetCloud
from tests.end_to_end.recorded_services import REQUEST_ID_HEADER

REQUEST_ID = "req-5f3c6a1e-1a1b-4a5c-8a55-0f5b3c2d1e0f"
SERVER = {
    "type": "OS::Nova::Server",
    "properties": {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"port": {"get_resource": "port"}}],
    },
}
TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.64.0.0/22"},
        },
        "port": {
            "type": "OS::Neutron::Port",
            "properties": {
                "network": {"get_resource": "net"},
                "fixed_ips": [{"subnet": {"get_resource": "subnet"}}],
            },
        },
        "server": SERVER,
        # it starts after an observation, which the observer's timer makes
        "volume": {
            "type": "OS::Cinder::Volume",
            "properties": {"size": 1, "description": {"get_attr": ["server", "name"]}},
        },
    },
}


@pytest.mark.timeout(300)
def test_services_receive_the_id_of_the_request(
    emulated_target_cloud: TargetCloud, deploy: Any
) -> None:
    deploy(emulated_target_cloud)
    session: Any = emulated_target_cloud.heat_user().heat.http_client
    answer = session.post(
        "/stacks",
        json={"stack_name": "traced", "template": TEMPLATE},
        headers={REQUEST_ID_HEADER: REQUEST_ID},
    )
    assert answer.status_code == 201
    user = emulated_target_cloud.heat_user()
    user.wait_for_status("traced", "CREATE_COMPLETE")
    calls = [call for call in emulated_target_cloud.call_log.calls if call.service != "identity"]
    made = {call.service for call in calls if call.method == "POST"}
    assert made >= {"network", "compute", "block-storage"}
    polled = {call.service for call in calls if call.method == "GET" and call.service != "network"}
    assert polled >= {"compute", "block-storage"}
    assert [call for call in calls if call.request_id != REQUEST_ID] == []
