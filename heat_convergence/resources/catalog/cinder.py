"""Cinder's resource types, as data."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.row import Arg, Row, Status, not_sent, sent
from heat_convergence.resources.openstack.storage_parts import (
    EXTRA_SPECS,
    PROJECT_ACCESS,
    QOS_KEYS,
    READ_ONLY,
    VOLUME_METADATA,
)

REAL = "Cinder 29"

VOLUME_STATUS = Status(
    ready=frozenset({"available", "in-use"}),
    failed=frozenset(
        {"error", "error_deleting", "error_extending", "error_restoring", "error_managing"}
    ),
)


def _row(name: str, noun: str, **given: Any) -> Row:
    return Row(
        name=f"OS::Cinder::{name}",
        schema="cinder",
        service="cinder",
        thing=THINGS[f"cinder.{noun}"],
        tested_on=REAL,
        **given,
    )


ROWS = (
    _row(
        "Volume", "volume",
        arguments={
            "image": Arg("imageRef", "glance.image"),
            "snapshot_id": Arg("snapshot_id", "cinder.snapshot"),
            "source_volid": Arg("source_volid", "cinder.volume"),
            **not_sent("backup_id", "scheduler_hints", "multiattach"),
        },
        aliases={"imageRef": "image"},
        status=VOLUME_STATUS,
        attributes={
            "display_name": "name",
            "display_description": "description",
            "metadata_values": "metadata",
            "attachments_list": "attachments",
        },
        parts=(VOLUME_METADATA, READ_ONLY),
        waits_for_delete=True,
    ),
    _row("VolumeAttachment", "volume", named=False),
    _row(
        "VolumeType", "vtype",
        arguments=sent(is_public="os-volume-type-access:is_public"),
        renamed={"os-volume-type-access:is_public": "is_public"},
        parts=(EXTRA_SPECS, PROJECT_ACCESS),
    ),
    _row("EncryptedVolumeType", "encryption", named=False),
    _row("QoSSpecs", "qos_specs", parts=(QOS_KEYS,)),
    _row("QoSAssociation", "qos_specs", named=False),
    _row("Quota", "quota", named=False),
)
