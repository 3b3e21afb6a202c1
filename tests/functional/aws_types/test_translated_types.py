"""Types that stand for OpenStack types, over the emulated cloud."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.openstack_types.emulated_service import ClockedEmulation
from tests.functional.project_client import ProjectClient

Json = Any


def typed(name: str, **properties: Json) -> Json:
    return {"Type": f"AWS::{name}", "Properties": properties}


def template(resources: Json, **outputs: Json) -> Json:
    values = {name: {"Value": value} for name, value in outputs.items()}
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": resources,
        "Outputs": values,
    }


def created(heat: ProjectClient, resources: Json, **outputs: Json) -> None:
    heat.create("s", template(resources, **outputs))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


def updated(heat: ProjectClient, resources: Json) -> None:
    heat.update("s", template(resources))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]


def rule(port: Json = 80, cidr: str = "10.0.0.0/8", **more: Json) -> Json:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "CidrIp": cidr, **more}


def rules(cloud: ClockedEmulation, direction: str) -> set[tuple[Json, ...]]:
    """Return protocol, lowest port and prefix of the rules of the only group of the stack."""
    (group,) = (g for g in cloud.bodies("neutron.security_group") if g["name"] != "default")
    return {
        (each.get("protocol"), each.get("port_range_min"), each.get("remote_ip_prefix"))
        for each in group["security_group_rules"]
        if each["direction"] == direction
    }


def test_security_group_has_its_rules(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    any_port = {"IpProtocol": "-1", "FromPort": "-1", "ToPort": "-1", "CidrIp": "10.1.0.0/16"}
    group = typed("EC2::SecurityGroup", GroupDescription="d", SecurityGroupIngress=[rule()])
    created(heat, {"g": group}, ref={"Ref": "g"})
    before = heat.resource("s", "g")["physical_resource_id"]
    assert heat.outputs("s")["ref"] == before
    assert rules(emulated_cloud, "ingress") == {("tcp", 80, "10.0.0.0/8")}
    assert rules(emulated_cloud, "egress") == {(None, None, None)}
    changed = {
        **group["Properties"],
        "SecurityGroupIngress": [rule("443"), any_port],
        "SecurityGroupEgress": [rule(53, IpProtocol="udp")],
    }
    updated(heat, {"g": typed("EC2::SecurityGroup", **changed)})
    assert heat.resource("s", "g")["physical_resource_id"] == before
    assert rules(emulated_cloud, "ingress") == {
        ("tcp", 443, "10.0.0.0/8"),
        (None, None, "10.1.0.0/16"),
    }
    assert rules(emulated_cloud, "egress") == {("udp", 53, "10.0.0.0/8")}
    heat.delete("s")
    assert heat.stack("s") is None
    names = {each["name"] for each in emulated_cloud.bodies("neutron.security_group")}
    assert names <= {"default"}


def test_group_of_the_other_side_is_named_by_reference(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    source = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    source["SourceSecurityGroupId"] = {"Ref": "a"}
    resources = {
        "a": typed("EC2::SecurityGroup", GroupDescription="a"),
        "b": typed("EC2::SecurityGroup", GroupDescription="b", SecurityGroupIngress=[source]),
    }
    created(heat, resources)
    remote = {
        each.get("remote_group_id")
        for group in emulated_cloud.bodies("neutron.security_group")
        for each in group["security_group_rules"]
    }
    assert heat.resource("s", "a")["physical_resource_id"] in remote


def test_volume_is_created_attached_and_deleted(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    resources = {
        "net": {"Type": "OS::Neutron::Net"},
        "subnet": {
            "Type": "OS::Neutron::Subnet",
            "Properties": {"network": {"Ref": "net"}, "cidr": "10.90.0.0/24"},
        },
        "server": typed(
            "EC2::Instance",
            ImageId="cirros",
            InstanceType="m1.nano",
            SubnetId={"Ref": "subnet"},
        ),
        "volume": typed(
            "EC2::Volume", Size=1, AvailabilityZone="nova", Tags=[{"Key": "k", "Value": "v"}]
        ),
        "attachment": typed(
            "EC2::VolumeAttachment",
            InstanceId={"Ref": "server"},
            VolumeId={"Ref": "volume"},
            Device="/dev/vdc",
        ),
    }
    created(heat, resources, ip={"Fn::GetAtt": ["server", "PublicIp"]})
    (volume,) = emulated_cloud.bodies("cinder.volume")
    assert (volume["size"], volume["status"]) == (1, "in-use")
    assert volume["metadata"]["k"] == "v"
    assert [heat.outputs("s")["ip"]] == emulated_cloud.addresses()
    without = {name: item for name, item in resources.items() if name != "attachment"}
    updated(heat, without)
    (volume,) = emulated_cloud.bodies("cinder.volume")
    assert volume["status"] == "available"
    heat.delete("s")
    assert heat.stack("s") is None
    assert emulated_cloud.bodies("cinder.volume") == []


def test_attachment_that_conflicts_is_tried_again(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    """Heat takes the conflict for a success, and waits for its timeout."""
    emulated_cloud.emulation.inject_failure("POST", "os-volume_attachments$", 409)
    zone = {"AvailabilityZone": "nova"}
    plain = {"ImageId": "cirros", "InstanceType": "m1.nano", "SubnetId": {"Ref": "subnet"}}
    resources = with_subnet(
        server=typed("EC2::Instance", **plain, **zone),
        volume=typed("EC2::Volume", Size=1, **zone),
        attachment=typed(
            "EC2::VolumeAttachment",
            InstanceId={"Ref": "server"},
            VolumeId={"Ref": "volume"},
            Device="/dev/vdc",
        ),
    )
    created(heat, resources, zone={"Fn::GetAtt": ["server", "AvailabilityZone"]})
    (volume,) = emulated_cloud.bodies("cinder.volume")
    assert volume["status"] == "in-use"
    # In Heat the attribute of an instance whose template names the zone fails.
    assert heat.outputs("s")["zone"] == "nova"


def test_tags_and_flavor_of_an_instance_change_in_place(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    resources = {
        "net": {"Type": "OS::Neutron::Net"},
        "subnet": {
            "Type": "OS::Neutron::Subnet",
            "Properties": {"network": {"Ref": "net"}, "cidr": "10.90.0.0/24"},
        },
    }

    def server(**properties: Json) -> Json:
        plain = {"ImageId": "cirros", "SubnetId": {"Ref": "subnet"}}
        return {"server": typed("EC2::Instance", **plain, **properties)}

    created(heat, {**resources, **server(InstanceType="m1.nano")})
    before = heat.resource("s", "server")["physical_resource_id"]
    tags = [{"Key": "k", "Value": "v"}]
    updated(heat, {**resources, **server(InstanceType="m1.tiny", Tags=tags)})
    (body,) = emulated_cloud.bodies("nova.server")
    assert (body["id"], body["metadata"]) == (before, {"k": "v"})
    assert heat.perform_action("s", "suspend").status_int == 200
    (body,) = emulated_cloud.bodies("nova.server")
    assert (heat.status("s"), body["status"]) == ("SUSPEND_COMPLETE", "SUSPENDED")


def with_subnet(**resources: Json) -> Json:
    return {
        "net": {"Type": "OS::Neutron::Net"},
        "subnet": {
            "Type": "OS::Neutron::Subnet",
            "Properties": {"network": {"Ref": "net"}, "cidr": "10.90.0.0/24"},
        },
        **resources,
    }


def test_interface_and_address_of_a_server(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    port = typed("EC2::NetworkInterface", SubnetId={"Ref": "subnet"}, PrivateIpAddress="10.90.0.9")
    servers = {
        name: typed(
            "EC2::Instance",
            ImageId="cirros",
            InstanceType="m1.nano",
            **({"NetworkInterfaces": [{"Ref": "port"}]} if name == "a" else subnet),
        )
        for subnet in [{"SubnetId": {"Ref": "subnet"}}]
        for name in ("a", "b")
    }
    resources = with_subnet(port=port, **servers)
    outputs = {
        "address": {"Ref": "eip"},
        "id": {"Fn::GetAtt": ["eip", "AllocationId"]},
        "private": {"Fn::GetAtt": ["port", "PrivateIpAddress"]},
    }
    created(heat, {**resources, "eip": typed("EC2::EIP", InstanceId={"Ref": "a"})}, **outputs)
    (floating_ip,) = emulated_cloud.bodies("neutron.floatingip")
    found = heat.outputs("s")
    assert found["private"] == "10.90.0.9"
    assert (found["address"], found["id"]) == (
        floating_ip["floating_ip_address"],
        floating_ip["id"],
    )
    assert floating_ip["port_id"] == heat.resource("s", "port")["physical_resource_id"]
    updated(heat, {**resources, "eip": typed("EC2::EIP", InstanceId={"Ref": "b"})})
    (moved,) = emulated_cloud.bodies("neutron.floatingip")
    assert moved["id"] == floating_ip["id"]
    ports = {each["id"]: each for each in emulated_cloud.bodies("neutron.port")}
    server = heat.resource("s", "b")["physical_resource_id"]
    assert ports[moved["port_id"]]["device_id"] == server
    updated(heat, {**resources, "eip": {"Type": "AWS::EC2::EIP"}})
    (free,) = emulated_cloud.bodies("neutron.floatingip")
    assert (free["id"], free["port_id"]) == (floating_ip["id"], None)
    heat.delete("s")
    assert heat.stack("s") is None
    left = [emulated_cloud.bodies(f"neutron.{each}") for each in ("floatingip", "port")]
    assert left == [[], []]


def test_address_moves_from_a_server_that_others_have_deleted(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    server = typed(
        "EC2::Instance", ImageId="cirros", InstanceType="m1.nano", SubnetId={"Ref": "subnet"}
    )
    resources = with_subnet(a=server, b=server)
    created(heat, {**resources, "eip": typed("EC2::EIP", InstanceId={"Ref": "a"})})
    lost = heat.resource("s", "a")["physical_resource_id"]
    emulated_cloud.emulation.collection("nova.server").remove(lost)
    for port in emulated_cloud.bodies("neutron.port"):
        if port["device_id"] == lost:
            emulated_cloud.emulation.collection("neutron.port").remove(port["id"])
    remaining = with_subnet(b=server, eip=typed("EC2::EIP", InstanceId={"Ref": "b"}))
    updated(heat, remaining)
    (floating_ip,) = emulated_cloud.bodies("neutron.floatingip")
    ports = {each["id"]: each for each in emulated_cloud.bodies("neutron.port")}
    found = ports[floating_ip["port_id"]]["device_id"]
    assert found == heat.resource("s", "b")["physical_resource_id"]


def test_check_finds_a_group_that_others_have_deleted(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    group = typed("EC2::SecurityGroup", GroupDescription="d")
    created(heat, {"g": group})
    found = heat.resource("s", "g")["physical_resource_id"]
    emulated_cloud.emulation.collection("neutron.security_group").remove(found)
    assert heat.perform_action("s", "check").status_int == 200
    assert heat.status("s") == "CHECK_FAILED"


def test_bucket_is_created_and_deleted(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    resources = {
        "b": typed("S3::Bucket", AccessControl="PublicRead"),
        "plain": {"Type": "AWS::S3::Bucket"},
    }
    url, name = {"Fn::GetAtt": ["b", "WebsiteURL"]}, {"Ref": "b"}
    created(heat, resources, url=url, name=name)
    outputs = heat.outputs("s")
    assert outputs["url"].endswith(f"/{outputs['name']}")
    containers = emulated_cloud.bodies("swift.container")
    assert len(containers) == 2
    assert outputs["name"] in {each["name"] for each in containers}
    for each in containers:
        each["objects"].clear()
    heat.delete("s")
    assert heat.stack("s") is None
    assert emulated_cloud.bodies("swift.container") == []


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (
            typed("EC2::SecurityGroup", GroupDescription="d", SecurityGroupIngress=[rule("x")]),
            "SecurityGroupIngress[0].FromPort: : a port is a number",
        ),
        (typed("EC2::Volume", AvailabilityZone="nova"), "Either Size or SnapshotId must be set"),
        (
            typed("EC2::VolumeAttachment", InstanceId="i", VolumeId="v", Device="/dev/sda"),
            "Device",
        ),
        (typed("S3::Bucket", AccessControl="All"), "AccessControl"),
    ],
)
def test_mistakes_are_refused(heat: ProjectClient, resource: Json, message: str) -> None:
    body = {"stack_name": "s", "template": template({"x": resource})}
    answer = heat.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert message in answer.json["error"]["message"]
