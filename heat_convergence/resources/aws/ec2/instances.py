"""``AWS::EC2::Instance``: a server of the compute service.

Decides the properties of the server. Its verbs are those of ``OS::Nova::Server``.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import ResourcePropertyConflict, StackValidationFailed
from heat_convergence.resources.aws.autoscaling.launch_configuration import check_devices
from heat_convergence.resources.aws.tags import hints_as_map, tags_as_map
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.openstack.nova.user_data import HEAT_CFNTOOLS
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
NO_ADDRESS = "0.0.0.0"  # nosec B104  # the value of an address that is not known
_ZONE = "AvailabilityZone"
_INTERFACES, _GROUPS, _GROUP_IDS = "NetworkInterfaces", "SecurityGroups", "SecurityGroupIds"


class Instance(TranslatedType):
    """A server."""

    name = "AWS::EC2::Instance"
    target = "OS::Nova::Server"
    same_values: ClassVar[Mapping[str, str]] = {
        "image": "ImageId",
        "flavor": "InstanceType",
        "key_name": "KeyName",
    }

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the server."""
        get = properties.get
        return {
            "image": get("ImageId"),
            "flavor": get("InstanceType"),
            "key_name": get("KeyName"),
            "availability_zone": get(_ZONE),
            "security_groups": [*(get(_GROUPS) or ()), *(get(_GROUP_IDS) or ())] or None,
            "user_data": get("UserData"),
            "user_data_format": HEAT_CFNTOOLS,
            "metadata": tags_as_map(get("Tags")),
            "scheduler_hints": hints_as_map(get("NovaSchedulerHints")) or None,
            "networks": _networks(properties),
            "block_device_mapping_v2": _devices(properties) or None,
        }

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the first address, or the availability zone."""
        if name == _ZONE:
            shown = context.attributes.get("show") or {}
            return shown.get("OS-EXT-AZ:availability_zone") or context.properties.get(_ZONE)
        if name in self.schema.attributes:
            return first_address(context.attributes)
        return super().attribute(context, name)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the devices and the networks.

        Raises:
            ResourcePropertyConflict: Ports and security groups are both given.
            StackValidationFailed: A device has no snapshot, or an interface no port.
        """
        check_devices(properties)
        interfaces = properties.get(_INTERFACES)
        if interfaces and properties.get(_GROUPS):
            raise ResourcePropertyConflict(
                f"Cannot define the following properties at the same time: {_GROUPS},"
                f" {_INTERFACES}."
            )
        _port_ids(interfaces or ())


def first_address(attributes: Mapping[str, Json]) -> str:
    """Return the first address of the last network by name that has any."""
    networks = ((attributes.get("show") or {}).get("addresses")) or {}
    for _name, addresses in sorted(networks.items(), reverse=True):
        if addresses:
            return str(addresses[0]["addr"])
    return NO_ADDRESS


def _networks(properties: Mapping[str, Json]) -> list[Json] | None:
    ports = _port_ids(properties.get(_INTERFACES) or ())
    if ports:
        return [{"port": port} for port in ports]
    subnet = properties.get("SubnetId")
    return [{"subnet": subnet}] if subnet else None


def _port_ids(interfaces: Sequence[Json]) -> list[str]:
    """Return the ids of ports in the order of their devices.

    Raises:
        StackValidationFailed: An entry is neither an id nor a map with one and its index.
    """
    found: list[tuple[int, str]] = []
    for position, entry in enumerate(interfaces):
        if isinstance(entry, str):
            found.append((position, entry))
            continue
        try:
            found.append((int(entry["DeviceIndex"]), str(entry["NetworkInterfaceId"])))
        except (KeyError, TypeError, ValueError) as error:
            raise StackValidationFailed(
                "an ID, or a map with NetworkInterfaceId and DeviceIndex is needed",
                path=f"{_INTERFACES}[{position}]",
            ) from error
    return [port for _index, port in sorted(found, key=lambda each: each[0])]


def _devices(properties: Mapping[str, Json]) -> list[Json]:
    """Return the volumes that Nova attaches when it creates the server."""
    devices = [
        {"volume_id": each["VolumeId"], "device_name": each["Device"], "boot_index": -1}
        for each in properties.get("Volumes") or ()
    ]
    for mapping in properties.get("BlockDeviceMappings") or ():
        volume = mapping["Ebs"]
        device = {
            "device_name": mapping["DeviceName"],
            "snapshot_id": volume["SnapshotId"],
            "delete_on_termination": volume.get("DeleteOnTermination", True),
            "boot_index": -1,
        }
        size = volume.get("VolumeSize")
        devices.append({**device, "volume_size": int(size)} if size else device)
    return devices
