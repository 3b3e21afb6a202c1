"""A server's arguments that are more than a property under another name.

Decides their shapes, and what of properties contradicts itself.  No calls but lookups.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    PropertyUnspecifiedError,
    ResourcePropertyConflict,
    StackValidationFailed,
)
from heat_convergence.resources.driver.arguments import ArgumentBuilder

Json = Any
_SOURCES = (
    ("volume_id", "volume", "cinder.volume"),
    ("snapshot_id", "snapshot", "cinder.snapshot"),
    ("image", "image", "glance.image"),
)
_PLAIN = (
    "device_name",
    "device_type",
    "disk_bus",
    "boot_index",
    "volume_size",
    "delete_on_termination",
    "volume_type",
)


def needs_extended_microversion(properties: Mapping[str, Json]) -> bool:
    networks = properties.get("networks") or ()
    devices = properties.get("block_device_mapping_v2") or ()
    return (
        any(one.get("allocate_network") or one.get("tag") for one in networks)
        or any(one.get("volume_type") for one in devices)
        or properties.get("user_data_update_policy") == "REBUILD"
        or bool(properties.get("tags"))
    )


def build_create_arguments(
    arguments: ArgumentBuilder, properties: Mapping[str, Json]
) -> dict[str, Json]:
    """Of a create."""
    found: dict[str, Json] = {}
    if properties.get("metadata"):
        found["metadata"] = stringify_values(properties["metadata"])
    if properties.get("tags"):
        found["tags"] = [str(tag) for tag in properties["tags"]]
    if properties.get("security_groups"):
        found["security_groups"] = [{"name": name} for name in properties["security_groups"]]
    if properties.get("personality"):
        found["personality"] = [
            {"path": path, "contents": base64.b64encode(str(text).encode()).decode()}
            for path, text in properties["personality"].items()
        ]
    old = [_old_device(device) for device in properties.get("block_device_mapping") or ()]
    if old:
        found["block_device_mapping"] = old
    new = [
        _device(arguments, device) for device in properties.get("block_device_mapping_v2") or ()
    ]
    if new:
        found["block_device_mapping_v2"] = _with_image(arguments, properties, new)
    return found


def build_rebuild_arguments(
    arguments: ArgumentBuilder,
    after: Mapping[str, Json],
    changed: frozenset[str],
    user_data: str | None,
) -> dict[str, Json]:
    """``text`` are the user data as the service takes them."""
    found: dict[str, Json] = {
        "imageRef": arguments.resolve_id("glance.image", after["image"], "image")
    }
    if after.get("image_update_policy") == "REBUILD_PRESERVE_EPHEMERAL":
        found["preserve_ephemeral"] = True
    if after.get("admin_pass"):
        found["adminPass"] = after["admin_pass"]
    if "user_data" in changed and after.get("user_data_update_policy") == "REBUILD":
        found["user_data"] = user_data
    return found


def stringify_values(values: Mapping[str, Json] | None) -> dict[str, str]:
    """The service keeps texts alone."""
    return {key: str(value) for key, value in (values or {}).items()}


def addresses_by_network(known: Mapping[str, Json]) -> dict[str, list[str]]:
    """Network name → addresses."""
    return {
        network: [address["addr"] for address in several] for network, several in known.items()
    }


def validate_properties(properties: Mapping[str, Json]) -> None:
    """Raises for what contradicts itself."""
    for device in properties.get("block_device_mapping_v2") or ():
        given = [
            key
            for key in ("volume_id", "snapshot_id", "image", "swap_size", "ephemeral_size")
            if device.get(key)
        ]
        if len(given) > 1:
            raise ResourcePropertyConflict(
                "Cannot define the following properties at the same time: "
                + ", ".join(given)
                + "."
            )
    _check_networks(properties.get("networks") or ())


def _check_networks(networks: Json) -> None:
    allocated = [one for one in networks if one.get("allocate_network")]
    if allocated and len(networks) > 1:
        raise StackValidationFailed(
            "allocate_network excludes all other networks", path="networks"
        )
    for network in networks:
        keys = ("network", "port", "subnet", "allocate_network")
        if not any(network.get(key) for key in keys):
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: "
                + ", ".join(keys)
                + "."
            )
        if network.get("port") and network.get("fixed_ip"):
            raise ResourcePropertyConflict(
                "Cannot define the following properties at the same time:"
                " networks/fixed_ip, networks/port."
            )


def validate_property_names(given: frozenset[str]) -> None:
    """Raises where there is nothing to start from, or too much."""
    devices = given & {"block_device_mapping", "block_device_mapping_v2"}
    if len(devices) > 1:
        raise ResourcePropertyConflict(
            "Cannot define the following properties at the same time: "
            + ", ".join(sorted(devices))
            + "."
        )
    if not devices and "image" not in given:
        raise StackValidationFailed(
            "neither image nor a device of block_device_mapping or"
            " block_device_mapping_v2 that can be started from is given"
        )


def _old_device(device: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {"device_name": device["device_name"]}
    for key in ("volume_id", "snapshot_id", "volume_size", "delete_on_termination"):
        if device.get(key) is not None:
            found[key] = device[key]
    return found


def _device(arguments: ArgumentBuilder, device: Mapping[str, Json]) -> dict[str, Json]:
    found = {key: device[key] for key in _PLAIN if device.get(key) is not None}
    for key, source, noun in _SOURCES:
        if device.get(key):
            path = f"block_device_mapping_v2.{key}"
            return {
                **found,
                "uuid": arguments.resolve_id(noun, device[key], path),
                "source_type": source,
                "destination_type": "volume",
                "boot_index": device.get("boot_index", 0),
                "delete_on_termination": device.get("delete_on_termination", False),
            }
    local = {
        "source_type": "blank",
        "destination_type": "local",
        "boot_index": -1,
        "delete_on_termination": True,
    }
    if device.get("swap_size"):
        return {**local, "guest_format": "swap", "volume_size": device["swap_size"]}
    if device.get("ephemeral_size"):
        local["volume_size"] = device["ephemeral_size"]
        if device.get("ephemeral_format"):
            local["guest_format"] = device["ephemeral_format"]
        return local
    return {**found, "source_type": "blank", "destination_type": "volume", "boot_index": -1}


def _with_image(
    arguments: ArgumentBuilder, properties: Mapping[str, Json], devices: list[dict[str, Json]]
) -> list[dict[str, Json]]:
    """The image that is started from is a device as well, once devices are listed."""
    image = properties.get("image")
    if not image:
        return devices
    first = {
        "uuid": arguments.resolve_id("glance.image", image, "image"),
        "source_type": "image",
        "destination_type": "local",
        "boot_index": 0,
        "delete_on_termination": True,
    }
    others = [
        {**device, "boot_index": -1} if device.get("boot_index") == 0 else device
        for device in devices
    ]
    return [first, *others]
