"""``AWS::EC2::Volume`` and its attachments.

Decides the properties of the block storage types whose verbs they have.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.aws.tags import tags_as_map
from heat_convergence.resources.aws.translated_type import TranslatedType

Json = Any
_SIZE, _BACKUP = "Size", "SnapshotId"


class AwsVolume(TranslatedType):
    """A volume, empty or restored from a backup."""

    name = "AWS::EC2::Volume"
    target = "OS::Cinder::Volume"
    same_values: ClassVar[Mapping[str, str]] = {
        "size": _SIZE,
        "availability_zone": "AvailabilityZone",
    }

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the volume."""
        return {
            "size": properties.get(_SIZE),
            "availability_zone": properties.get("AvailabilityZone"),
            "backup_id": properties.get(_BACKUP),
            "metadata": tags_as_map(properties.get("Tags")),
        }

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require a size or a backup.

        Raises:
            StackValidationFailed: There is neither.
        """
        if not names & {_SIZE, _BACKUP}:
            raise StackValidationFailed(f"Either {_SIZE} or {_BACKUP} must be set")


class AwsVolumeAttachment(TranslatedType):
    """The attachment of a volume to a server."""

    name = "AWS::EC2::VolumeAttachment"
    target = "OS::Cinder::VolumeAttachment"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the attachment."""
        return {
            "instance_uuid": properties["InstanceId"],
            "volume_id": properties["VolumeId"],
            "mountpoint": properties["Device"],
        }
