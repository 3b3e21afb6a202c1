"""Conformance cases of Cinder's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.compute.nova import SERVER, VOLUME
from tests.conformance.cases.networking.networks import NET, SUBNET

VOLUME_TYPE = ("kind", "OS::Cinder::VolumeType", {"name": "hc-kind"})
SECOND_VOLUME_TYPE = ("second", "OS::Cinder::VolumeType", {"name": "hc-kind-2"})
QOS_SPECS: tuple[str, str, dict[str, Any]] = ("qos", "OS::Cinder::QoSSpecs", {"specs": {"a": "1"}})
SECOND_SERVER = ("second", SERVER[1], SERVER[2])
SECOND_VOLUME = ("spare", VOLUME[1], VOLUME[2])


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::{name}", prerequisites, needs_admin=admin, **fields)


CASES = [
    _case(
        "Cinder::Volume",
        properties={"size": 1, "metadata": {"a": 1}, "description": "d"},
        changes=[
            {"size": 2, "name": "hc-volume", "metadata": {"b": "2"}},
            {"description": "e", "read_only": True},
        ],
        attributes={"size": "2", "display_name": "hc-volume", "status": "available"},
    ),
    _case(
        "Cinder::Volume",
        properties={"size": 1, "image": "cirros"},
        attributes={"bootable": "true"},
        case_label="Volume of an image",
    ),
    _case(
        "Cinder::Volume",
        VOLUME,
        VOLUME_TYPE,
        admin=True,
        runs_on=SupportedCloud.REAL_ONLY,
        properties={"source_volid": {"get": "volume"}},
        changes=[{"volume_type": "hc-kind"}],
        replacement_properties={"volume_type": None},
        case_label="Volume cloned and retyped",
    ),
    _case(
        "Cinder::Volume",
        VOLUME_TYPE,
        admin=True,
        runs_on=SupportedCloud.REAL_ONLY,
        properties={"size": 1},
        changes=[{"volume_type": "hc-kind", "size": 3, "read_only": True}],
        case_label="Volume extended and retyped at once",
    ),
    _case(
        "Cinder::Volume",
        VOLUME,
        properties={"backup_id": {"backup_of": "volume"}},
        changes=[{"backup_id": {"backup_of": "volume"}, "description": "d"}],
        case_label="Volume of a backup",
    ),
    _case(
        "Cinder::Volume",
        VOLUME,
        properties={"size": 1},
        changes=[{"backup_id": {"backup_of": "volume"}}],
        replacement_properties={"backup_id": None},
        case_label="Volume restored",
    ),
    _case(
        "Cinder::VolumeAttachment",
        NET,
        SUBNET,
        SERVER,
        VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        replacement_properties=None,
    ),
    _case(
        "Cinder::VolumeAttachment",
        NET,
        SUBNET,
        SERVER,
        SECOND_SERVER,
        VOLUME,
        SECOND_VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        changes=[
            {"instance_uuid": {"get": "second"}},
            {"volume_id": {"get": "spare"}},
            {"mountpoint": "/dev/vdz"},
        ],
        replacement_properties={
            "instance_uuid": {"get": "server"},
            "volume_id": {"get": "volume"},
        },
        case_label="VolumeAttachment moved",
    ),
    _case(
        "Cinder::VolumeType",
        admin=True,
        properties={
            "name": "hc-vt",
            "is_public": False,
            "metadata": {"k": "v"},
            "projects": ["{other_project}"],
        },
        changes=[
            {"name": "hc-vt2", "metadata": {"l": "w"}, "description": "d", "projects": []},
            {"is_public": True},
        ],
        replacement_properties={"name": "hc-vt3"},
    ),
    _case(
        "Cinder::EncryptedVolumeType",
        VOLUME_TYPE,
        SECOND_VOLUME_TYPE,
        admin=True,
        properties={"volume_type": {"get": "kind"}, "provider": "luks", "key_size": 256},
        changes=[
            {"key_size": 128, "control_location": "back-end"},
            {"provider": "plain", "cipher": "aes-xts-plain64"},
        ],
        replacement_properties={"volume_type": {"get": "second"}},
    ),
    _case(
        "Cinder::QoSSpecs",
        admin=True,
        properties={"specs": {"a": "1", "b": "2"}},
        changes=[{"specs": {"a": "3"}}],
    ),
    _case(
        "Cinder::QoSSpecs",
        admin=True,
        case_label="QoSSpecs of a given name",
        properties={"name": "hc-qos", "specs": {"a": "1"}},
        changes=[{"specs": {"b": "3"}}],
        replacement_properties={"name": "hc-qos-2"},
    ),
    _case(
        "Cinder::QoSAssociation",
        VOLUME_TYPE,
        SECOND_VOLUME_TYPE,
        QOS_SPECS,
        ("better", "OS::Cinder::QoSSpecs", {"specs": {"a": "2"}}),
        admin=True,
        properties={"qos_specs": {"get": "qos"}, "volume_types": [{"get": "kind"}]},
        changes=[{"volume_types": [{"get": "second"}]}],
        replacement_properties={"qos_specs": {"get": "better"}, "volume_types": [{"get": "kind"}]},
    ),
    _case(
        "Cinder::Quota",
        admin=True,
        always_exists=True,
        replacement_properties=None,
        properties={"project": "{other_project}", "volumes": 11},
        changes=[
            {"volumes": 12, "gigabytes": 9},
            {"backups": 1, "backup_gigabytes": 2, "snapshots": 3},
        ],
    ),
]
