"""Arguments of a server's create and rebuild that are more than renamed properties.

Decides their shape, and which properties contradict each other.  Makes no calls but lookups.
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
_COPIED_KEYS = (
    "device_name",
    "device_type",
    "disk_bus",
    "boot_index",
    "volume_size",
    "delete_on_termination",
    "volume_type",
)


def needs_extended_microversion(properties: Mapping[str, Json]) -> bool:
    """Return whether the properties need ``EXTENDED_MICROVERSION``."""
    networks = properties.get("networks") or ()
    devices = properties.get("block_device_mapping_v2") or ()
    return (
        any(item.get("allocate_network") or item.get("tag") for item in networks)
        or any(item.get("volume_type") for item in devices)
        or properties.get("user_data_update_policy") == "REBUILD"
        or bool(properties.get("tags"))
    )


def build_create_arguments(
    arguments: ArgumentBuilder, properties: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the additional arguments of a create call."""
    body: dict[str, Json] = {}
    if properties.get("metadata"):
        body["metadata"] = stringify_values(properties["metadata"])
    if properties.get("tags"):
        body["tags"] = [str(tag) for tag in properties["tags"]]
    if properties.get("security_groups"):
        body["security_groups"] = [{"name": name} for name in properties["security_groups"]]
    if properties.get("personality"):
        body["personality"] = [
            {"path": path, "contents": base64.b64encode(str(text).encode()).decode()}
            for path, text in properties["personality"].items()
        ]
    legacy_devices = [
        _legacy_device(device) for device in properties.get("block_device_mapping") or ()
    ]
    if legacy_devices:
        body["block_device_mapping"] = legacy_devices
    devices = [
        _device(arguments, device) for device in properties.get("block_device_mapping_v2") or ()
    ]
    if devices:
        body["block_device_mapping_v2"] = _with_image(arguments, properties, devices)
    return body


def build_rebuild_arguments(
    arguments: ArgumentBuilder,
    after: Mapping[str, Json],
    changed: frozenset[str],
    user_data: str | None,
) -> dict[str, Json]:
    """Return the arguments of a rebuild action.

    Args:
        arguments: Resolves names to ids.
        after: The new properties.
        changed: Names of the properties that change.
        user_data: The user data in Base64.
    """
    body: dict[str, Json] = {
        "imageRef": arguments.resolve_id("glance.image", after["image"], "image")
    }
    if after.get("image_update_policy") == "REBUILD_PRESERVE_EPHEMERAL":
        body["preserve_ephemeral"] = True
    if after.get("admin_pass"):
        body["adminPass"] = after["admin_pass"]
    if "user_data" in changed and after.get("user_data_update_policy") == "REBUILD":
        body["user_data"] = user_data
    return body


def stringify_values(values: Mapping[str, Json] | None) -> dict[str, str]:
    """Return the values as strings, the only type that Nova stores."""
    return {key: str(value) for key, value in (values or {}).items()}


def validate_properties(properties: Mapping[str, Json]) -> None:
    """Check that devices and networks do not contradict each other.

    Raises:
        StackValidationFailed: They do, or one of its subclasses.
    """
    for device in properties.get("block_device_mapping_v2") or ():
        sources = [
            key
            for key in ("volume_id", "snapshot_id", "image", "swap_size", "ephemeral_size")
            if device.get(key)
        ]
        if len(sources) > 1:
            raise ResourcePropertyConflict(
                "Cannot define the following properties at the same time: "
                + ", ".join(sources)
                + "."
            )
    _check_networks(properties.get("networks") or ())


def _check_networks(networks: Json) -> None:
    allocating = [network for network in networks if network.get("allocate_network")]
    if allocating and len(networks) > 1:
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


def validate_property_names(names: frozenset[str]) -> None:
    """Require exactly one source to boot from.

    Raises:
        StackValidationFailed: There is none, or there are several.
    """
    devices = names & {"block_device_mapping", "block_device_mapping_v2"}
    if len(devices) > 1:
        raise ResourcePropertyConflict(
            "Cannot define the following properties at the same time: "
            + ", ".join(sorted(devices))
            + "."
        )
    if not devices and "image" not in names:
        raise StackValidationFailed(
            "neither image nor a device of block_device_mapping or"
            " block_device_mapping_v2 that can be started from is given"
        )


def _legacy_device(device: Mapping[str, Json]) -> dict[str, Json]:
    body: dict[str, Json] = {"device_name": device["device_name"]}
    for key in ("volume_id", "snapshot_id", "volume_size", "delete_on_termination"):
        if device.get(key) is not None:
            body[key] = device[key]
    return body


def _device(arguments: ArgumentBuilder, device: Mapping[str, Json]) -> dict[str, Json]:
    body = {key: device[key] for key in _COPIED_KEYS if device.get(key) is not None}
    for key, source, entity in _SOURCES:
        if device.get(key):
            path = f"block_device_mapping_v2.{key}"
            return {
                **body,
                "uuid": arguments.resolve_id(entity, device[key], path),
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
    return {**body, "source_type": "blank", "destination_type": "volume", "boot_index": -1}


def _with_image(
    arguments: ArgumentBuilder, properties: Mapping[str, Json], devices: list[dict[str, Json]]
) -> list[dict[str, Json]]:
    """Add the image as the first device, which Nova expects once devices are listed."""
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
