"""Existing resources that stacks reference, adopt, retain and save, never created twice."""

from __future__ import annotations

import json
from typing import Any

from heat_convergence.testing.daemon_processes import wait_until
from tests.end_to_end.harness import TargetCloud
from tests.integration.harness import HeatUser

Json = Any
ABANDON_AND_ADOPT_OPTIONS = {"enable_stack_abandon": True, "enable_stack_adopt": True}


def template(**resources: Json) -> Json:
    return {"heat_template_version": "2016-10-14", "resources": resources}


def physical_id(user: HeatUser, stack: str, name: str) -> str:
    return str(user.resources(stack)[name].physical_resource_id)


def count_create_calls(target_cloud: TargetCloud, path: str) -> int:
    posts = [call for call in target_cloud.call_log.calls if call.method == "POST"]
    return sum(call.path.partition("?")[0].endswith(path) for call in posts)


def test_retained_external_and_snapshot_resources(target_cloud: TargetCloud, deploy: Any) -> None:
    deploy(target_cloud)
    user, cloud = target_cloud.heat_user(), target_cloud.sdk_connection()
    net = {"type": "OS::Neutron::Net", "deletion_policy": "Retain"}
    volume = {
        "type": "OS::Cinder::Volume",
        "deletion_policy": "Snapshot",
        "properties": {"size": 1},
    }
    user.create("maker", template(net=net, volume=volume))
    user.wait_for_status("maker", "CREATE_COMPLETE")
    net_id, volume_id = (physical_id(user, "maker", name) for name in ("net", "volume"))
    user.heat.stacks.delete("maker")
    user.wait_deleted("maker")
    assert cloud.network.get_network(net_id).id == net_id
    assert volume_id not in [item.id for item in cloud.block_storage.volumes()]
    (backup,) = [item for item in cloud.block_storage.backups() if item.volume_id == volume_id]

    external = {"type": "OS::Neutron::Net", "external_id": net_id}
    port = {"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}}
    before = count_create_calls(target_cloud, "/networks")
    user.create("guest", template(net=external, port=port))
    user.wait_for_status("guest", "CREATE_COMPLETE")
    assert physical_id(user, "guest", "net") == net_id
    port_id = physical_id(user, "guest", "port")
    assert cloud.network.get_port(port_id).network_id == net_id
    user.heat.stacks.delete("guest")
    user.wait_deleted("guest")
    assert count_create_calls(target_cloud, "/networks") == before
    assert cloud.network.get_network(net_id).id == net_id
    cloud.network.delete_network(net_id)
    cloud.block_storage.delete_backup(backup.id)


def test_abandon_and_adopt_on_cloud(target_cloud: TargetCloud, deploy: Any) -> None:
    deploy(
        target_cloud, DEFAULT={**target_cloud.options()["DEFAULT"], **ABANDON_AND_ADOPT_OPTIONS}
    )
    user, cloud = target_cloud.heat_user(), target_cloud.sdk_connection()
    resources = template(
        net={"type": "OS::Neutron::Net"},
        subnet={
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.96.0.0/24"},
        },
        server={
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.nano",
                "networks": [{"subnet": {"get_resource": "subnet"}}],
            },
        },
        volume={"type": "OS::Cinder::Volume", "properties": {"size": 1}},
    )
    user.create("first", resources)
    user.wait_for_status("first", "CREATE_COMPLETE")
    names = sorted(resources["resources"])
    before = {name: physical_id(user, "first", name) for name in names}
    data = user.heat.stacks.abandon("first")
    wait_until(
        lambda: "first" not in [item.stack_name for item in user.heat.stacks.list()],
        "the stack is abandoned",
    )
    start = len(target_cloud.call_log.calls)
    user.heat.stacks.create(stack_name="second", template=resources, adopt_stack_data=_text(data))
    user.wait_for_status("second", "ADOPT_COMPLETE")
    assert {name: physical_id(user, "second", name) for name in names} == before
    posts = [call for call in target_cloud.call_log.calls[start:] if call.method == "POST"]
    assert [call for call in posts if call.service != "identity"] == []
    user.heat.stacks.delete("second")
    user.wait_deleted("second")
    # Nova lists a deleted server for a while.
    server_ids = [item.id for item in cloud.compute.servers() if item.status != "DELETED"]
    assert before["server"] not in server_ids
    assert before["net"] not in [item.id for item in cloud.network.networks()]


def _text(data: Json) -> str:
    return data if isinstance(data, str) else json.dumps(data)
