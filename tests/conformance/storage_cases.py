"""Lives of the types of Cinder and Glance."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case, On
from tests.conformance.compute_cases import SERVER, VOLUME
from tests.conformance.neutron_cases import NET, SUBNET

KIND = ("kind", "OS::Cinder::VolumeType", {"name": "hc-kind"})
SECOND_KIND = ("second", "OS::Cinder::VolumeType", {"name": "hc-kind-2"})
QOS: tuple[str, str, dict[str, Any]] = ("qos", "OS::Cinder::QoSSpecs", {"specs": {"a": "1"}})
SECOND_SERVER = ("second", SERVER[1], SERVER[2])
SECOND_VOLUME = ("spare", VOLUME[1], VOLUME[2])


def _case(name: str, *before: Any, admin: bool = False, **given: Any) -> Case:
    return Case(f"OS::{name}", before, admin=admin, **given)


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
        label="Volume of an image",
    ),
    _case(
        "Cinder::Volume", VOLUME, KIND, admin=True, on=On.REAL,
        properties={"source_volid": {"get": "volume"}},
        changes=[{"volume_type": "hc-kind"}],
        successor={"volume_type": None},
        label="Volume cloned and retyped",
    ),
    _case(
        "Cinder::Volume", KIND, admin=True, on=On.REAL,
        properties={"size": 1},
        changes=[{"volume_type": "hc-kind", "size": 3, "read_only": True}],
        label="Volume extended and retyped at once",
    ),
    _case(
        "Cinder::Volume", VOLUME,
        properties={"backup_id": {"backup_of": "volume"}},
        changes=[{"backup_id": {"backup_of": "volume"}, "description": "d"}],
        label="Volume of a backup",
    ),
    _case(
        "Cinder::Volume", VOLUME,
        properties={"size": 1},
        changes=[{"backup_id": {"backup_of": "volume"}}],
        successor={"backup_id": None},
        label="Volume restored",
    ),
    _case(
        "Cinder::VolumeAttachment", NET, SUBNET, SERVER, VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        successor=None,
    ),
    _case(
        "Cinder::VolumeAttachment", NET, SUBNET, SERVER, SECOND_SERVER, VOLUME, SECOND_VOLUME,
        properties={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        changes=[{"instance_uuid": {"get": "second"}}, {"volume_id": {"get": "spare"}},
                 {"mountpoint": "/dev/vdz"}],
        successor={"instance_uuid": {"get": "server"}, "volume_id": {"get": "volume"}},
        label="VolumeAttachment moved",
    ),
    _case(
        "Cinder::VolumeType", admin=True,
        properties={"name": "hc-vt", "is_public": False, "metadata": {"k": "v"},
                    "projects": ["{other_project}"]},
        changes=[{"name": "hc-vt2", "metadata": {"l": "w"}, "description": "d",
                  "projects": []},
                 {"is_public": True}],
        successor={"name": "hc-vt3"},
    ),
    _case(
        "Cinder::EncryptedVolumeType", KIND, SECOND_KIND, admin=True,
        properties={"volume_type": {"get": "kind"}, "provider": "luks", "key_size": 256},
        changes=[{"key_size": 128, "control_location": "back-end"},
                 {"provider": "plain", "cipher": "aes-xts-plain64"}],
        successor={"volume_type": {"get": "second"}},
    ),
    _case(
        "Cinder::QoSSpecs", admin=True,
        properties={"specs": {"a": "1", "b": "2"}},
        changes=[{"specs": {"a": "3"}}],
    ),
    _case(
        "Cinder::QoSSpecs", admin=True, label="QoSSpecs of a given name",
        properties={"name": "hc-qos", "specs": {"a": "1"}},
        changes=[{"specs": {"b": "3"}}],
        successor={"name": "hc-qos-2"},
    ),
    _case(
        "Cinder::QoSAssociation", KIND, SECOND_KIND, QOS,
        ("better", "OS::Cinder::QoSSpecs", {"specs": {"a": "2"}}), admin=True,
        properties={"qos_specs": {"get": "qos"}, "volume_types": [{"get": "kind"}]},
        changes=[{"volume_types": [{"get": "second"}]}],
        successor={"qos_specs": {"get": "better"}, "volume_types": [{"get": "kind"}]},
    ),
    _case("Cinder::Quota", admin=True, lasting=True, successor=None,
          properties={"project": "{other_project}", "volumes": 11},
          changes=[{"volumes": 12, "gigabytes": 9},
                   {"backups": 1, "backup_gigabytes": 2, "snapshots": 3}]),
    _case(
        "Glance::WebImage",
        properties={"disk_format": "raw", "container_format": "bare", "location": "{file}"},
        changes=[
            {"tags": ["t"], "os_distro": "fedora", "os_version": "40", "architecture": "x86_64"},
            {"protected": True, "extra_properties": {"a": "b", "c": "d"}},
            {"protected": False, "extra_properties": {"a": "e"}, "visibility": "shared",
             "members": ["{other_project}"]},
            {"members": [], "active": True, "os_distro": None},
            {"kernel_id": "{uuid}", "ramdisk_id": "{uuid}"},
        ],
    ),
    _case(
        "Glance::WebImage", admin=True,
        properties={"disk_format": "raw", "container_format": "bare", "location": "{file}"},
        changes=[{"active": False}, {"active": True, "owner": "{other_project}"}],
        label="WebImage of an administrator",
    ),
]
