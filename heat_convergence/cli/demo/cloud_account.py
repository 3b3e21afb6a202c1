"""The demo's view of its cloud: the account of all creations, and changes by others.

Reads and writes the files past the service, as another user of a cloud would. Decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from heat_convergence.testing.file_cloud import FileCloud, FileCloudAudit

_POLL_S = 0.02  # less than the time that the cloud takes for an answer
_CREATION_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class CloudSummary:
    """The creations of a cloud.

    Attributes:
        created: Number of creations.
        twice: Names that were created more than once.
        left_over: Ids of what exists and no stack has.
    """

    created: int
    twice: tuple[str, ...]
    left_over: tuple[str, ...]


class CloudAccount:
    """The cloud in a folder.

    Args:
        folder: The folder, which the service's resource type uses, too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cloud = FileCloud(folder)

    def summarize(self, used: Collection[str]) -> CloudSummary:
        """Return what was created, and what of it none of the used ids is."""
        audit = FileCloudAudit.of_directory(self._folder)
        return CloudSummary(
            created=sum(action == "create" for action, _ in audit.calls),
            twice=tuple(audit.duplicated_names()),
            left_over=tuple(sorted(audit.existing.keys() - set(used))),
        )

    def last_creation(self) -> str:
        """Return the id of the newest creation; an empty text if there is none."""
        calls = FileCloudAudit.of_directory(self._folder).calls
        created = [physical_id for action, physical_id in calls if action == "create"]
        return created[-1] if created else ""

    def wait_for_creation(self, after: str) -> str | None:
        """Return the id of the next creation, None if there is none for a minute.

        Args:
            after: The id that ``last_creation`` returned before.
        """
        deadline = time.monotonic() + _CREATION_TIMEOUT_S
        while time.monotonic() < deadline:
            found = self.last_creation()
            if found != after:
                return found
            time.sleep(_POLL_S)  # another process writes the account
        return None

    def delete(self, physical_id: str) -> None:
        """Delete something, as another user."""
        self._cloud.delete(physical_id)

    def change(self, physical_id: str, value: str) -> None:
        """Change the value of something, as another user."""
        content = self._cloud.read(physical_id) or {}
        self._cloud.update(physical_id, {**content, "value": value})

    def value_of(self, physical_id: str) -> str | None:
        """Return the value of something, None if it does not exist."""
        content = self._cloud.read(physical_id)
        return None if content is None else str(content["value"])
