"""REST resources and specs of Cinder's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.cinder.associations import (
    EncryptedVolumeType,
    QosAssociation,
)
from heat_convergence.resources.openstack.cinder.qos_specs import QosSpecs
from heat_convergence.resources.openstack.cinder.subresources import (
    QOS_SPEC_KEYS,
    READ_ONLY_FLAG,
    VOLUME_METADATA,
    VOLUME_TYPE_ACCESS,
    VOLUME_TYPE_EXTRA_SPECS,
)
from heat_convergence.resources.openstack.cinder.volume_attachments import VolumeAttachment
from heat_convergence.resources.openstack.cinder.volumes import Volume
from heat_convergence.resources.openstack.quotas import Quota

TESTED_RELEASE = "Cinder 29"

VOLUME_STATUS = StatusMapping(
    ready=frozenset({"available", "in-use"}),
    failed=frozenset(
        {"error", "error_deleting", "error_extending", "error_restoring", "error_managing"}
    ),
)


_cinder = partial(make_rest_resource, "Cinder", "block_storage")

REST_RESOURCES = by_entity(
    _cinder(
        "volume",
        "block_storage.v3.volume.Volume",
        list_path="/volumes/detail",
        ownership_mark_field=OwnershipMarkField.METADATA,
    ),
    _cinder(
        "snapshot",
        "block_storage.v3.snapshot.Snapshot",
        list_path="/snapshots/detail",
        ownership_mark_field=OwnershipMarkField.METADATA,
    ),
    _cinder(
        "backup",
        "block_storage.v3.backup.Backup",
        list_path="/backups/detail",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _cinder(
        "vtype",
        "block_storage.v3.type.Type",
        name_query=None,
        entity_label="volume type",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        list_query=(("is_public", "None"),),
    ),
    _cinder("encryption", "block_storage.v3.type.TypeEncryption", name_key=None),
    _cinder("quota", "block_storage.v3.quota_set.QuotaSet", path="/os-quota-sets", name_key=None),
    _cinder("qos_specs", "block_storage.v3.qos_spec.QoSSpec", name_query=None),
)


_spec = partial(make_spec, "Cinder", REST_RESOURCES, test_environment=TESTED_RELEASE)

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

CINDER = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Cinder::EncryptedVolumeType": EncryptedVolumeType,
        "OS::Cinder::QoSAssociation": QosAssociation,
        "OS::Cinder::QoSSpecs": QosSpecs,
        "OS::Cinder::Quota": Quota,
        "OS::Cinder::Volume": Volume,
        "OS::Cinder::VolumeAttachment": VolumeAttachment,
    },
)
