"""Specs of Cinder's resource types."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.cinder.subresources import (
    QOS_SPEC_KEYS,
    READ_ONLY_FLAG,
    VOLUME_METADATA,
    VOLUME_TYPE_ACCESS,
    VOLUME_TYPE_EXTRA_SPECS,
)

TESTED_RELEASE = "Cinder 29"

VOLUME_STATUS = StatusMapping(
    ready=frozenset({"available", "in-use"}),
    failed=frozenset(
        {"error", "error_deleting", "error_extending", "error_restoring", "error_managing"}
    ),
)


def _spec(name: str, entity: str, **fields: Any) -> TypeSpec:
    return TypeSpec(
        name=f"OS::Cinder::{name}",
        schema_file="cinder",
        service="cinder",
        rest_resource=REST_RESOURCES[f"cinder.{entity}"],
        test_environment=TESTED_RELEASE,
        **fields,
    )


TYPE_SPECS = (
    _spec(
        "Volume",
        "volume",
        arguments={
            "image": ArgumentMapping("imageRef", "glance.image"),
            "snapshot_id": ArgumentMapping("snapshot_id", "cinder.snapshot"),
            "source_volid": ArgumentMapping("source_volid", "cinder.volume"),
            **omit_arguments("backup_id", "scheduler_hints", "multiattach"),
        },
        aliases={"imageRef": "image"},
        unset_when_blank=frozenset({"availability_zone", "volume_type"}),
        status_mapping=VOLUME_STATUS,
        attribute_paths={
            "display_name": "name",
            "display_description": "description",
            "metadata_values": "metadata",
            "attachments_list": "attachments",
        },
        live_attributes=frozenset(
            {
                "show",
                "status",
                "size",
                "metadata",
                "metadata_values",
                "attachments",
                "attachments_list",
            }
        ),
        subresources=(VOLUME_METADATA, READ_ONLY_FLAG),
        deletes_asynchronously=True,
    ),
    _spec("VolumeAttachment", "volume", has_name=False),
    _spec(
        "VolumeType",
        "vtype",
        arguments=rename_arguments(is_public="os-volume-type-access:is_public"),
        update_argument_names={"os-volume-type-access:is_public": "is_public"},
        subresources=(VOLUME_TYPE_EXTRA_SPECS, VOLUME_TYPE_ACCESS),
    ),
    _spec("EncryptedVolumeType", "encryption", has_name=False),
    _spec("QoSSpecs", "qos_specs", subresources=(QOS_SPEC_KEYS,)),
    _spec("QoSAssociation", "qos_specs", has_name=False),
    _spec("Quota", "quota", has_name=False),
)
