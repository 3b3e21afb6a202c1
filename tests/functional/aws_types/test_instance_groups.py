"""Groups of instances and their rolling updates, to docs/reference/aws-types.rst."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.aws_types.group_templates import (
    BODY,
    addresses,
    auto_group,
    group,
    launch,
    member_ids,
    refuse,
    template,
    updates,
)
from tests.functional.project_client import ProjectClient

Json = Any


def test_group_has_the_members_of_its_launch_configuration(local: ProjectClient) -> None:
    first = local.create("s", template(group(), launch(UserData="hello")), **BODY)
    assert first
    assert local.status("s") == "CREATE_COMPLETE"
    assert addresses(local) == ["i1"] * 3
    assert local.outputs("s")["group"] == local.nested_stack("s", "Group")["id"]
    members = local.resources(local.nested_stack("s", "Group")["id"])
    assert {each["resource_type"] for each in members} == {"OS::Heat::ScaledResource"}
    assert all(len(each["resource_name"]) == 12 for each in members)
    local.delete("s")
    assert local.stack("s") is None


def test_size_is_changed_and_the_oldest_leave(local: ProjectClient) -> None:
    local.create("s", template(group(3)), **BODY)
    before = member_ids(local)
    local.update("s", template(group(5)), **BODY)
    assert before.items() < member_ids(local).items()
    assert len(addresses(local)) == 5
    local.update("s", template(group(2)), **BODY)
    assert len(addresses(local)) == 2
    assert not before.keys() & member_ids(local).keys()
    local.update("s", template(group(0)), **BODY)
    assert (addresses(local), local.outputs("s")["addresses"]) == ([], None)


def test_changed_configuration_without_a_policy_reaches_new_members_only(
    local: ProjectClient,
) -> None:
    local.create("s", template(group(2)), **BODY)
    before = (member_ids(local), local.outputs("s")["launch"])
    local.update("s", template(group(3), launch("i2")), **BODY)
    assert local.outputs("s")["launch"] != before[1]
    assert before[0].items() < member_ids(local).items()
    assert addresses(local) == ["i1", "i1", "i2"]


@pytest.mark.parametrize(
    ("policy", "kept", "steps"),
    [
        ({"MinInstancesInService": "1", "MaxBatchSize": "3", "PauseTime": "PT0S"}, 5, 2),
        ({"MinInstancesInService": "4", "MaxBatchSize": "4", "PauseTime": "PT0S"}, 2, 3),
        ({"MinInstancesInService": "0", "MaxBatchSize": "20", "PauseTime": "PT0S"}, 5, 1),
        ({"MinInstancesInService": "8", "MaxBatchSize": "1", "PauseTime": "PT0S"}, 4, 7),
    ],
    ids=["batches", "adjusted_capacity", "huge_batch", "huge_minimum_in_service"],
)
def test_changed_configuration_is_rolled_out_in_batches(
    local: ProjectClient, policy: Json, kept: int, steps: int
) -> None:
    local.create("s", template(group(5, policy)), **BODY)
    before = member_ids(local)
    local.update("s", template(group(5, policy), launch("i2")), **BODY)
    assert (local.status("s"), addresses(local)) == ("UPDATE_COMPLETE", ["i2"] * 5)
    assert len(before.keys() & member_ids(local).keys()) == kept
    assert updates(local) == steps


def test_policy_alone_changes_nothing(local: ProjectClient) -> None:
    local.create("s", template(group(2)), **BODY)
    local.update("s", template(group(2), launch("i2")), **BODY)
    before = member_ids(local)
    local.update("s", template(group(2, {"MaxBatchSize": "1"}), launch("i2")), **BODY)
    assert (addresses(local), member_ids(local)) == (["i1", "i1"], before)
    local.update("s", template(group(2, {"MaxBatchSize": "1"}), launch("i3")), **BODY)
    assert addresses(local) == ["i3", "i3"]


def test_pauses_between_batches_do_not_block_a_worker(local: ProjectClient) -> None:
    policy = {"MaxBatchSize": "1", "PauseTime": "PT1M40S"}
    local.create("s", template(group(3, policy)), **BODY)
    began = local.service.clock()
    local.update("s", template(group(3, policy), launch("i2")), hold=True, **BODY)
    local.service.run_due_work()
    assert sorted(addresses(local)) == ["i1", "i1", "i2"]
    local.service.run_until_idle()
    assert addresses(local) == ["i2"] * 3
    assert 200 <= (local.service.clock() - began).total_seconds() < 300


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"PauseTime": "PT1H1S"}, "Maximum PauseTime is 1 hour"),
        ({"PauseTime": "P1D"}, "Invalid ISO 8601 duration"),
        ({"PauseTime": "PT"}, "Invalid ISO 8601 duration"),
        ({"MaxSize": "1"}, "Unknown Property MaxSize"),
    ],
)
def test_wrong_policy_is_refused(local: ProjectClient, policy: Json, message: str) -> None:
    error = refuse(local, template(group(2, policy)))
    assert error["type"] == "StackValidationFailed"
    assert message in error["message"]
    assert "Group" in error["message"]


def test_pauses_that_exceed_the_timeout_fail_the_update(local: ProjectClient) -> None:
    policy = {"MaxBatchSize": "1", "PauseTime": "PT30M"}
    local.create("s", template(group(3, policy)), timeout_mins=30, **BODY)
    local.update("s", template(group(3, policy), launch("i2")), timeout_mins=30, **BODY)
    stack = local.stack("s")
    assert stack["stack_status"] == "UPDATE_FAILED"
    assert "do not fit into the stack's timeout" in stack["stack_status_reason"]
    assert addresses(local) == ["i1"] * 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (group(LaunchConfigurationName="Launch"), "(Launch) reference can not be found"),
        (group(LoadBalancerNames=["lb"]), "The members of load balancers are not changed"),
        (auto_group(LaunchConfigurationName="Launch"), "(Launch) reference can not be found"),
        (auto_group(MinSize=6), "MinSize can not be greater than MaxSize"),
        (auto_group(MinSize=-1), "can not be less than zero"),
        (auto_group(DesiredCapacity=6), "DesiredCapacity must be between MinSize and MaxSize"),
        (auto_group(DesiredCapacity=1, MinSize=2), "DesiredCapacity must be between"),
        (auto_group(VPCZoneIdentifier=["a", "b"]), "Only one VPCZoneIdentifier"),
        (auto_group(HealthCheckType="EC2"), "Property HealthCheckType not implemented yet"),
        (auto_group(InstanceId="x"), "InstanceId of AWS::AutoScaling::AutoScalingGroup"),
    ],
)
def test_wrong_group_is_refused(local: ProjectClient, body: Json, message: str) -> None:
    assert message in refuse(local, template(body))["message"]


def test_reference_to_another_resource_is_no_launch_configuration(local: ProjectClient) -> None:
    other = {"Type": "OS::Heat::RandomString"}
    body = template(group(LaunchConfigurationName={"Ref": "Other"}), Other=other)
    local.create("s", body, **BODY)
    stack = local.stack("s")
    assert stack["stack_status"] == "CREATE_FAILED"
    assert "reference can not be found" in stack["stack_status_reason"]


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (launch(KernelId="k"), "Property KernelId not implemented yet"),
        (
            launch(BlockDeviceMappings=[{"DeviceName": "vdb", "Ebs": {"VolumeSize": "1"}}]),
            "Ebs.SnapshotId is missing",
        ),
        (
            {"Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {"ImageId": "i"}},
            "there is no InstanceType",
        ),
    ],
)
def test_wrong_launch_configuration_is_refused(
    local: ProjectClient, configuration: Json, message: str
) -> None:
    assert message in refuse(local, template(group(), configuration))["message"]
