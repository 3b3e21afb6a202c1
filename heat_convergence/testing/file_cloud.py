"""A cloud of files: a resource type whose physical resources outlive every process.

One file is one physical resource, and a journal keeps every call that changed one, so
that duplicated or left-over resources show afterwards.  The type is not installed:
``write_entry_point`` makes it known to the daemons.  Tests of killed daemons read the
``FileCloudAudit``.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

FILE_TYPE = "Testing::File"
FOLDER_VARIABLE = "HEAT_CONVERGENCE_FILE_CLOUD"
"""The environment variable with the folder of the cloud."""

_JOURNAL = "journal"
_RESOURCES = "resources"
Json = Any


class FileResource(ResourceType):
    """A file with a value, replaced when ``kind`` changes.

    ``build_s`` is how long it is BUSY after create and update, ``latency_s`` the time
    between a change and its answer, which a process killed meanwhile never receives.
    """

    name = FILE_TYPE
    physical_name_limit = 240  # a file name has at most 255 characters
    schema = TypeSchema(
        description="A file that says when it was made and changed.",
        properties={
            "value": PropertySchema(
                type=PropertyType.STRING, description="Its content.", update_allowed=True
            ),
            "kind": PropertySchema(type=PropertyType.STRING, description="What it is."),
            "build_s": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds until it is ready.",
                default=0,
                update_allowed=True,
            ),
            "latency_s": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds between a change and its answer.",
                default=0,
                update_allowed=True,
            ),
        },
        attributes={"value": AttributeSchema(description="Its content.")},
    )

    def create(self, view: ResourceContext) -> VerbResult:
        """Create the file."""
        cloud = FileCloud.from_environment()
        physical_id = cloud.create(view.physical_name, _content(view.properties))
        time.sleep(view.properties["latency_s"])
        return _present_state(physical_id, cloud.read(physical_id))

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Replace the value."""
        cloud, physical_id = FileCloud.from_environment(), view.physical_id or ""
        cloud.update(physical_id, _content(after))
        time.sleep(after["latency_s"])
        return _present_state(physical_id, cloud.read(physical_id))

    def delete(self, view: ResourceContext) -> VerbResult:
        """Delete the file."""
        if view.physical_id is not None:
            FileCloud.from_environment().delete(view.physical_id)
            time.sleep(view.properties.get("latency_s", 0))
        return VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        """Return the state of the file."""
        content = FileCloud.from_environment().read(view.physical_id or "")
        if content is None and view.action is Action.DELETE:
            return VerbResult(ObservedState.ABSENT)
        return _present_state(view.physical_id or "", content)

    def find(self, view: ResourceContext) -> str | None:
        """Return the physical id of the file with the physical name."""
        return FileCloud.from_environment().find(view.physical_name)


def _content(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "value": properties.get("value"),
        "kind": properties.get("kind"),
        "ready_at": time.time() + properties["build_s"],
    }


def _present_state(physical_id: str, content: Mapping[str, Json] | None) -> VerbResult:
    if content is None:
        raise ResourceGone(f"there is no file {physical_id}")
    attributes = {"value": content["value"]}
    left_s = content["ready_at"] - time.time()
    if left_s > 0:
        return VerbResult(ObservedState.BUSY, physical_id, attributes, poll_after_s=left_s)
    return VerbResult(ObservedState.READY, physical_id, attributes)


class FileCloud:
    """The files of one folder; any number of processes may use it at once.

    A physical resource's id is its physical name and, since a name may be used
    twice, some random digits.
    """

    def __init__(self, folder: Path) -> None:
        self._resources = folder / _RESOURCES
        self._resources.mkdir(parents=True, exist_ok=True)
        self._journal = folder / _JOURNAL

    @classmethod
    def from_environment(cls) -> FileCloud:
        """Return the cloud whose folder the environment variable names."""
        return cls(Path(os.environ[FOLDER_VARIABLE]))

    def create(self, physical_name: str, content: Mapping[str, Json]) -> str:
        """Create a file and return its physical id."""
        physical_id = f"{physical_name}.{secrets.token_hex(4)}"
        # Noted afterwards: a process killed in between has created the file, and the
        # search for it finds it.
        self._write(physical_id, content)
        self._note("create", physical_id)
        return physical_id

    def update(self, physical_id: str, content: Mapping[str, Json]) -> None:
        """Replace the content; ``ResourceGone`` if there is no such file."""
        if self.read(physical_id) is None:
            raise ResourceGone(f"there is no file {physical_id}")
        self._note("update", physical_id)
        self._write(physical_id, content)

    def delete(self, physical_id: str) -> None:
        """Delete the file, if it exists."""
        path = self._resources / physical_id
        if path.exists():
            path.unlink(missing_ok=True)
            self._note("delete", physical_id)

    def read(self, physical_id: str) -> dict[str, Json] | None:
        """Return the content, or None if there is no such file."""
        try:
            content: dict[str, Json] = json.loads((self._resources / physical_id).read_text())
        except (FileNotFoundError, IsADirectoryError):
            return None
        return content

    def find(self, physical_name: str) -> str | None:
        """Return the physical id of a file with the name, or None."""
        found = sorted(path.name for path in self._resources.glob(f"{physical_name}.*"))
        return found[0] if found else None

    def _write(self, physical_id: str, content: Mapping[str, Json]) -> None:
        # A process killed meanwhile leaves either the old or the new file.
        draft = self._resources.parent / f"draft.{secrets.token_hex(8)}"
        draft.write_text(json.dumps(content))
        draft.replace(self._resources / physical_id)

    def _note(self, action: str, physical_id: str) -> None:
        # One write to a file opened for appending is never mixed with another.
        with self._journal.open("ab", buffering=0) as journal:
            journal.write(f"{action} {physical_id}\n".encode())


@dataclass(frozen=True, slots=True)
class FileCloudAudit:
    """The existing files (physical id → content) and all calls in order."""

    existing: Mapping[str, Mapping[str, Json]]
    calls: tuple[tuple[str, str], ...]

    @classmethod
    def of_directory(cls, folder: Path) -> FileCloudAudit:
        """Return the audit of the cloud in a folder."""
        cloud, journal = FileCloud(folder), folder / _JOURNAL
        ids = sorted(path.name for path in (folder / _RESOURCES).iterdir())
        read = {physical_id: cloud.read(physical_id) or {} for physical_id in ids}
        lines = journal.read_text().splitlines() if journal.exists() else []
        calls = []
        for line in lines:
            action, _, physical_id = line.partition(" ")
            calls.append((action, physical_id))
        return cls(read, tuple(calls))

    def duplicated_names(self) -> list[str]:
        """Return the physical names created more than once, also if one was deleted."""
        ever = {physical_id for _, physical_id in self.calls} | self.existing.keys()
        created = Counter(_name(physical_id) for physical_id in ever)
        return sorted(name for name, count in created.items() if count > 1)


def _name(physical_id: str) -> str:
    return physical_id.rpartition(".")[0]


def write_entry_point(folder: Path, resource_type: type[ResourceType] = FileResource) -> Path:
    """Write a package of one entry point, for the ``PYTHONPATH`` of the daemons."""
    package = folder / "file_cloud_type-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: file-cloud-type\nVersion: 1.0\n"
    )
    target = f"{resource_type.__module__}:{resource_type.__qualname__}"
    (package / "entry_points.txt").write_text(
        f"[heat_convergence.resource_types]\n{resource_type.name} = {target}\n"
    )
    return folder
