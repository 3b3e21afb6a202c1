"""Virtual networks with route tables, gateways and associated addresses, on the emulation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.aws_types.test_translated_types import created, typed, updated
from tests.functional.openstack_types.emulated_service import ClockedEmulation
from tests.functional.project_client import ProjectClient

Json = Any


def network(**more: Json) -> Json:
    return {
        "vpc": typed("EC2::VPC", CidrBlock="10.90.0.0/16"),
        "subnet": typed("EC2::Subnet", VpcId={"Ref": "vpc"}, CidrBlock="10.90.0.0/24"),
        **more,
    }


def with_table(**more: Json) -> Json:
    association = typed(
        "EC2::SubnetRouteTableAssociation",
        RouteTableId={"Ref": "table"},
        SubnetId={"Ref": "subnet"},
    )
    return network(
        table=typed("EC2::RouteTable", VpcId={"Ref": "vpc"}), association=association, **more
    )


def connected_routers(cloud: ClockedEmulation) -> list[str]:
    """Return the names of the routers with an interface."""
    names = {each["id"]: each["name"] for each in cloud.bodies("neutron.router")}
    return [
        names[port["device_id"]]
        for port in cloud.bodies("neutron.port")
        if str(port.get("device_owner")).startswith("network:router_interface")
    ]


def gateways(cloud: ClockedEmulation) -> list[Json]:
    """Return the gateway of each router with tags."""
    return [
        (each.get("external_gateway_info") or {}).get("network_id")
        for each in cloud.bodies("neutron.router")
        if each.get("tags")
    ]


def test_subnet_is_connected_to_the_router_of_its_network(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    subnet = network()["subnet"]
    subnet["Properties"]["AvailabilityZone"] = "nova"
    created(heat, network(subnet=subnet), zone={"Fn::GetAtt": ["subnet", "AvailabilityZone"]})
    (router,) = emulated_cloud.bodies("neutron.router")
    names = {each["name"] for each in emulated_cloud.bodies("neutron.network")}
    assert router["name"] in names
    assert connected_routers(emulated_cloud) == [router["name"]]
    assert heat.outputs("s")["zone"] == "nova"
    heat.delete("s")
    assert heat.stack("s") is None
    assert emulated_cloud.bodies("neutron.router") == []
    names = {each["name"] for each in emulated_cloud.bodies("neutron.subnet")}
    assert names == {"public-subnet"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/networks$"),
        ("POST", "/routers$"),
        ("POST", "/subnets$"),
        ("PUT", "add_router_interface"),
        ("PUT", "remove_router_interface"),
        ("PUT", "/tags$"),
    ],
)
def test_lost_responses_create_nothing_twice(
    heat: ProjectClient, emulated_cloud: ClockedEmulation, method: str, path: str
) -> None:
    emulated_cloud.emulation.inject_failure(method, path, 503, after_processing=True)
    created(heat, with_table())
    routers = {each["name"] for each in emulated_cloud.bodies("neutron.router")}
    assert len(routers) == len(emulated_cloud.bodies("neutron.router")) == 2
    (table,) = (each for each in emulated_cloud.bodies("neutron.router") if each.get("tags"))
    assert connected_routers(emulated_cloud) == [table["name"]]
    heat.delete("s")
    assert heat.stack("s") is None
    assert emulated_cloud.bodies("neutron.router") == []


def test_route_table_takes_the_subnet_and_returns_it(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    created(heat, network())
    (own,) = connected_routers(emulated_cloud)
    updated(heat, with_table())
    (table,) = connected_routers(emulated_cloud)
    assert table != own
    updated(heat, network())
    assert connected_routers(emulated_cloud) == [own]


def test_association_that_is_replaced_moves_the_subnet(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    other = typed("EC2::RouteTable", VpcId={"Ref": "vpc"})
    created(heat, with_table(other=other))
    moved = with_table(other=other)
    moved["association"]["Properties"]["RouteTableId"] = {"Ref": "other"}
    updated(heat, moved)
    names = {each["id"]: each["name"] for each in emulated_cloud.bodies("neutron.router")}
    assert connected_routers(emulated_cloud) == [
        names[heat.resource("s", "other")["physical_resource_id"]]
    ]


@pytest.mark.parametrize("created_first", [True, False], ids=["table first", "gateway first"])
def test_gateway_reaches_all_route_tables_of_the_network(
    heat: ProjectClient, emulated_cloud: ClockedEmulation, created_first: bool
) -> None:
    gateway = {
        "gateway": {"Type": "AWS::EC2::InternetGateway"},
        "attachment": typed(
            "EC2::VPCGatewayAttachment", VpcId={"Ref": "vpc"}, InternetGatewayId={"Ref": "gateway"}
        ),
    }
    if created_first:
        created(heat, with_table())
        assert gateways(emulated_cloud) == [None]
        updated(heat, with_table(**gateway))
    else:
        created(heat, with_table(**gateway))
    public = next(
        each["id"]
        for each in emulated_cloud.bodies("neutron.network")
        if each.get("router:external")
    )
    assert gateways(emulated_cloud) == [public]
    second = {"second": typed("EC2::RouteTable", VpcId={"Ref": "vpc"})}
    updated(heat, with_table(**gateway, **second))
    assert gateways(emulated_cloud) == [public, public]
    updated(heat, with_table(**second))
    assert gateways(emulated_cloud) == [None, None]
    heat.delete("s")
    assert heat.stack("s") is None
    assert emulated_cloud.bodies("neutron.router") == []


def servers(*names: str) -> Json:
    return {
        name: typed(
            "EC2::Instance", ImageId="cirros", InstanceType="m1.nano", SubnetId={"Ref": "subnet"}
        )
        for name in names
    }


def association(**properties: Json) -> Json:
    return {"at": typed("EC2::EIPAssociation", **properties)}


def holders(cloud: ClockedEmulation) -> list[str | None]:
    """Return the servers that have the floating IPs."""
    ports = {each["id"]: each.get("device_id") for each in cloud.bodies("neutron.port")}
    return [ports.get(each["port_id"]) for each in cloud.bodies("neutron.floatingip")]


def test_address_is_associated_with_a_server_and_moves(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    fixed = network(eip={"Type": "AWS::EC2::EIP"}, **servers("a", "b"))
    created(heat, {**fixed, **association(EIP={"Ref": "eip"}, InstanceId={"Ref": "a"})})
    first, second = (heat.resource("s", name)["physical_resource_id"] for name in ("a", "b"))
    assert holders(emulated_cloud) == [first]
    (floating_ip,) = emulated_cloud.bodies("neutron.floatingip")
    before = heat.resource("s", "at")["physical_resource_id"]
    assert before == floating_ip["floating_ip_address"]
    updated(heat, {**fixed, **association(EIP={"Ref": "eip"}, InstanceId={"Ref": "b"})})
    assert holders(emulated_cloud) == [second]
    updated(heat, fixed)
    assert holders(emulated_cloud) == [None]


def test_other_address_clears_the_former_one(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    addresses = {name: {"Type": "AWS::EC2::EIP"} for name in ("x", "y")}
    fixed = network(**addresses, **servers("a"))
    created(heat, {**fixed, **association(EIP={"Ref": "x"}, InstanceId={"Ref": "a"})})
    updated(heat, {**fixed, **association(EIP={"Ref": "y"}, InstanceId={"Ref": "a"})})
    server = heat.resource("s", "a")["physical_resource_id"]
    assert sorted(map(str, holders(emulated_cloud))) == sorted(["None", server])
    held = next(each for each in emulated_cloud.bodies("neutron.floatingip") if each["port_id"])
    found = heat.resource("s", "at")["physical_resource_id"]
    assert found == held["floating_ip_address"]


def test_allocated_address_sets_the_gateway_of_the_network(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    port = typed("EC2::NetworkInterface", SubnetId={"Ref": "subnet"})
    allocated = {"Fn::GetAtt": ["eip", "AllocationId"]}
    fixed = network(eip={"Type": "AWS::EC2::EIP"}, port=port)
    created(
        heat,
        {**fixed, **association(AllocationId=allocated, NetworkInterfaceId={"Ref": "port"})},
        ref={"Ref": "at"},
    )
    (floating_ip,) = emulated_cloud.bodies("neutron.floatingip")
    assert floating_ip["port_id"] == heat.resource("s", "port")["physical_resource_id"]
    (router,) = emulated_cloud.bodies("neutron.router")
    network_id = floating_ip["floating_network_id"]
    assert router["external_gateway_info"]["network_id"] == network_id
    assert str(heat.outputs("s")["ref"]).startswith("s-at-")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"EIP": "1.2.3.4", "AllocationId": "x", "InstanceId": "a"}, "same time"),
        ({"InstanceId": "a"}, "EIP, AllocationId"),
        ({"EIP": "1.2.3.4"}, "InstanceId"),
        ({"EIP": "1.2.3.4", "NetworkInterfaceId": "p"}, "InstanceId"),
        ({"AllocationId": "x"}, "InstanceId, NetworkInterfaceId"),
    ],
)
def test_incomplete_association_is_refused(
    local: ProjectClient, properties: Json, text: str
) -> None:
    body = {
        "stack_name": "s",
        "template": {
            "HeatTemplateFormatVersion": "2012-12-12",
            "Resources": {"at": typed("EC2::EIPAssociation", **properties)},
        },
    }
    response = local.send("POST", "/stacks", body)
    assert (response.status_int, text in response.text) == (400, True), response.text


def test_tags_of_a_network_are_refused(local: ProjectClient) -> None:
    tagged = typed("EC2::VPC", Tags=[{"Key": "k", "Value": "v"}])
    template = {"HeatTemplateFormatVersion": "2012-12-12", "Resources": {"vpc": tagged}}
    response = local.send("POST", "/stacks", {"stack_name": "s", "template": template})
    assert response.status_int == 400
    assert "not implemented" in response.text
