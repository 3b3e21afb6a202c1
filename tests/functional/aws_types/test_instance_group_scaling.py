"""Scaling of groups of instances by policies, and their members as servers."""

from __future__ import annotations

from typing import Any

from tests.functional.aws_types.group_templates import (
    BODY,
    addresses,
    auto_group,
    group,
    launch,
    member_ids,
    refuse,
    scaling,
    template,
    updates,
)
from tests.functional.openstack_types.emulated_service import ClockedEmulation
from tests.functional.project_client import ProjectClient

Json = Any


def signal(heat: ProjectClient, name: str) -> int:
    answer = heat.send("POST", f"{heat.path('s')}/resources/{name}/signal")
    assert answer.status_int == 200, answer.text
    return len(addresses(heat))


def test_policies_scale_the_group_within_its_bounds(local: ProjectClient) -> None:
    policies = {
        "Up": scaling(2),
        "Down": scaling(-1),
        "Exact": scaling(4, "ExactCapacity"),
        "Percent": scaling(10, "PercentChangeInCapacity", MinAdjustmentStep=2),
    }
    local.create("s", template(auto_group(DesiredCapacity=2), **policies), **BODY)
    assert len(addresses(local)) == 2
    sizes = [signal(local, name) for name in ("Up", "Up", "Down", "Exact", "Down", "Percent")]
    assert sizes == [4, 5, 4, 4, 3, 5]
    assert [signal(local, "Down") for _ in range(5)] == [4, 3, 2, 1, 1]


def test_update_keeps_the_size_that_policies_have_chosen(local: ProjectClient) -> None:
    policies = {"Up": scaling(2)}
    local.create("s", template(auto_group(), **policies), **BODY)
    assert signal(local, "Up") == 3
    local.update("s", template(auto_group(MaxSize=6), **policies), **BODY)
    assert len(addresses(local)) == 3
    local.update("s", template(auto_group(MaxSize=2), **policies), **BODY)
    assert len(addresses(local)) == 2
    local.update("s", template(auto_group(DesiredCapacity=4), **policies), **BODY)
    assert len(addresses(local)) == 4


def test_scaling_uses_the_configuration_of_the_last_update(local: ProjectClient) -> None:
    policies = {"Up": scaling(1)}
    local.create("s", template(auto_group(), **policies), **BODY)
    local.update("s", template(auto_group(), launch("i2"), **policies), **BODY)
    assert addresses(local) == ["i1"]
    signal(local, "Up")
    assert addresses(local) == ["i1", "i2"]


def test_rolling_update_of_a_scaled_group(local: ProjectClient) -> None:
    policies, policy = {"Up": scaling(3)}, {"MaxBatchSize": "2", "MinInstancesInService": "1"}
    local.create("s", template(auto_group(policy), **policies), **BODY)
    assert signal(local, "Up") == 4
    before = member_ids(local)
    local.update("s", template(auto_group(policy), launch("i2"), **policies), **BODY)
    assert addresses(local) == ["i2"] * 4
    assert member_ids(local) == before


def test_cooldown_ignores_signals_and_is_shown(local: ProjectClient) -> None:
    body = template(auto_group(Cooldown=60), Up=scaling(1), Fast=scaling(1, Cooldown=5))
    local.create("s", body, **BODY)
    assert signal(local, "Up") == 1
    shown = local.send("GET", f"{local.path('s')}/resources/Group/metadata").json["metadata"]
    assert list(shown["cooldown_end"].values()) == ["ExactCapacity : 1"]
    assert shown["scaling_in_progress"] is False
    local.service.clock.advance(61)
    assert [signal(local, "Fast"), signal(local, "Up")] == [2, 2]
    local.service.clock.advance(6)
    assert signal(local, "Up") == 3


def test_minimum_step_requires_a_percentage(local: ProjectClient) -> None:
    error = refuse(local, template(auto_group(), Up=scaling(1, MinAdjustmentStep=2)))
    assert error["type"] == "ResourcePropertyValueDependency"


def test_secret_of_a_configuration_is_not_shown_by_the_group(local: ProjectClient) -> None:
    body = template(group(1), launch(UserData={"Ref": "Secret"}))
    body["Parameters"] = {"Secret": {"Type": "String", "NoEcho": "true", "Default": "swordfish"}}
    local.create("s", body, **BODY)
    nested = local.nested_stack("s", "Group")["id"]
    (member,) = member_ids(local)
    shown = [local.resource("s", "Group"), local.resource("s", "Launch")]
    shown += [local.resource(nested, member), local.stack(nested)]
    text = str(shown)
    at = text.find("swordfish")
    assert at < 0, text[max(at - 300, 0) : at + 20]


def servers(cloud: ClockedEmulation) -> list[Json]:
    return [each for each in cloud.bodies("nova.server") if each["status"] != "DELETED"]


def network(**resources: Json) -> Json:
    return {
        "Net": {"Type": "OS::Neutron::Net"},
        "Subnet": {
            "Type": "OS::Neutron::Subnet",
            "Properties": {"network": {"Ref": "Net"}, "cidr": "10.90.0.0/24"},
        },
        **resources,
    }


def test_members_are_servers(heat: ProjectClient, emulated_cloud: ClockedEmulation) -> None:
    zones = [{"Ref": "Subnet"}]
    own = auto_group(VPCZoneIdentifier=zones, Tags=[{"Key": "a", "Value": "b"}])
    configuration = launch("cirros", UserData="#!/bin/sh", NovaSchedulerHints=[])
    heat.create("s", template(own, configuration, **network()))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    (server,) = servers(emulated_cloud)
    nested = heat.nested_stack("s", "Group")["id"]
    assert server["metadata"] == {
        "a": "b",
        "metering.groupname": nested,
        "metering.AutoScalingGroupName": nested,
    }
    assert addresses(heat) == emulated_cloud.addresses()
    own["Properties"]["DesiredCapacity"] = 3
    heat.update("s", template(own, configuration, **network()))
    assert len(addresses(heat)) == 3
    assert sorted(addresses(heat)) == sorted(emulated_cloud.addresses())
    heat.delete("s")
    assert heat.stack("s") is None
    assert (servers(emulated_cloud), emulated_cloud.bodies("neutron.port")) == ([], [])


def test_configuration_takes_the_values_of_a_server(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    instance = {
        "Type": "AWS::EC2::Instance",
        "Properties": {
            "ImageId": "cirros",
            "InstanceType": "m1.nano",
            "SubnetId": {"Ref": "Subnet"},
        },
    }
    configuration = {
        "Type": "AWS::AutoScaling::LaunchConfiguration",
        "Properties": {"InstanceId": {"Ref": "Server"}},
    }
    own = auto_group(VPCZoneIdentifier=[{"Ref": "Subnet"}])
    heat.create("s", template(own, configuration, **network(Server=instance)))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    first, second = servers(emulated_cloud)
    assert first["image"] == second["image"]
    assert first["flavor"] == second["flavor"]


def test_update_that_replaces_members_is_rolled_out_in_batches(
    heat: ProjectClient, emulated_cloud: ClockedEmulation
) -> None:
    policy = {"MaxBatchSize": "2"}
    own = auto_group(policy, DesiredCapacity=3, VPCZoneIdentifier=[{"Ref": "Subnet"}])
    heat.create("s", template(own, launch("cirros", UserData="a"), **network()))
    before, old = member_ids(heat), {each["id"] for each in servers(emulated_cloud)}
    heat.update("s", template(own, launch("cirros", UserData="b"), **network()))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    after = member_ids(heat)
    assert after.keys() == before.keys()
    assert not old & {each["id"] for each in servers(emulated_cloud)}
    assert set(after.values()) == {each["id"] for each in servers(emulated_cloud)}
    assert updates(heat) == 2
