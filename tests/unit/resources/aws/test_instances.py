"""Translation of the properties of ``AWS::EC2::Instance``."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common.errors import ResourcePropertyConflict, StackValidationFailed
from heat_convergence.resources.aws.ec2.instances import Instance
from tests.installed_types import REGISTRY

INSTANCE = REGISTRY.get("AWS::EC2::Instance")
PLAIN = {"ImageId": "i", "InstanceType": "t"}


def translate(**properties: Any) -> dict[str, Any]:
    assert isinstance(INSTANCE, Instance)
    found = INSTANCE.translate({**PLAIN, **properties}, "p")
    return {name: value for name, value in found.items() if value not in (None, {})}


def test_plain_instance() -> None:
    expected = {"image": "i", "flavor": "t", "user_data_format": "HEAT_CFNTOOLS"}
    assert translate() == expected


@pytest.mark.parametrize(
    ("interfaces", "ports"),
    [
        (["a", "b"], ["a", "b"]),
        (
            [
                {"NetworkInterfaceId": "a", "DeviceIndex": "2"},
                {"NetworkInterfaceId": "b", "DeviceIndex": 0},
            ],
            ["b", "a"],
        ),
        (["a", {"NetworkInterfaceId": "b", "DeviceIndex": 0}], ["a", "b"]),
    ],
)
def test_ports_are_in_order_of_their_devices(interfaces: list[Any], ports: list[str]) -> None:
    found = translate(NetworkInterfaces=interfaces, SubnetId="ignored")
    assert found["networks"] == [{"port": port} for port in ports]


def test_groups_tags_hints_and_subnet() -> None:
    found = translate(
        SecurityGroups=["a"],
        SecurityGroupIds=["b"],
        SubnetId="s",
        Tags=[{"Key": "k", "Value": "1"}],
        NovaSchedulerHints=[{"Key": "h", "Value": "1"}, {"Key": "h", "Value": "2"}],
    )
    assert found["security_groups"] == ["a", "b"]
    assert found["networks"] == [{"subnet": "s"}]
    assert (found["metadata"], found["scheduler_hints"]) == ({"k": "1"}, {"h": ["1", "2"]})


def test_devices_become_volumes() -> None:
    found = translate(
        Volumes=[{"VolumeId": "v", "Device": "/dev/vdc"}],
        BlockDeviceMappings=[
            {"DeviceName": "vdb", "Ebs": {"SnapshotId": "s", "VolumeSize": "5"}},
            {"DeviceName": "vde", "Ebs": {"SnapshotId": "u", "DeleteOnTermination": False}},
        ],
    )
    first, second, third = found["block_device_mapping_v2"]
    assert first == {"volume_id": "v", "device_name": "/dev/vdc", "boot_index": -1}
    assert (second["snapshot_id"], second["volume_size"]) == ("s", 5)
    assert (second["delete_on_termination"], third["delete_on_termination"]) == (True, False)


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"NetworkInterfaces": ["p"], "SecurityGroups": ["g"]}, ResourcePropertyConflict),
        ({"NetworkInterfaces": [{"DeviceIndex": 1}]}, StackValidationFailed),
        ({"NetworkInterfaces": [7]}, StackValidationFailed),
        ({"BlockDeviceMappings": [{"DeviceName": "vdb"}]}, StackValidationFailed),
    ],
)
def test_contradictions_are_refused(properties: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        INSTANCE.validate({**PLAIN, **properties}, None)
