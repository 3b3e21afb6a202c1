"""Snapshots of Heat to snapshots of this service, with the goal that a restore returns to.

Called by ``tree_builder`` for each stack. A snapshot that cannot be read is left out with a note
for the operator: the stack is imported without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import SENSITIVE_KEY
from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    SecretVisibility,
    is_stack_entry,
    visible_environment,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.heat_import.evaluated_template import EvaluatedStackTemplate
from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree
from heat_convergence.heat_import.heat_values import (
    INTERRUPTED,
    HeatValueUnreadable,
    parse_map,
    to_utc,
)
from heat_convergence.heat_import.imported_data import HeatRecord, convert_data
from heat_convergence.heat_import.recorded_stack import RecordedTemplate, clean_environment
from heat_convergence.resources.registry import ResourceTypeRegistry

Json = Any
_REMEDY = "keep Heat's database: its row is the only record of the images and backups"


@dataclass(frozen=True, slots=True)
class ImportedSnapshot:
    """A snapshot with its goal and texts."""

    snapshot: Snapshot
    goal: Goal
    contents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SnapshotImport:
    """The import of the snapshots of one tree.

    Attributes:
        tree: Heat's rows.
        registry: the resource types.
    """

    tree: HeatTree
    registry: ResourceTypeRegistry

    def build(
        self,
        stack: Stack,
        rows: Sequence[Resource],
        evaluate: Callable[[RecordedTemplate], EvaluatedStackTemplate],
    ) -> tuple[list[ImportedSnapshot], list[str]]:
        """Return the snapshots of a stack, and a note for each that cannot be imported.

        Args:
            stack: the imported stack.
            rows: its resources.
            evaluate: evaluates a template with the parameters of its environment.
        """
        found: list[ImportedSnapshot] = []
        notes: list[str] = []
        sensitive = {row.name: row.desired.sensitive for row in rows}
        for row in self.tree.snapshots:
            if row.stack_id != stack.id:
                continue
            try:
                found.append(self._build_one(row, stack, sensitive, evaluate))
            except (HeatValueUnreadable, Error, KeyError) as error:
                notes.append(f"snapshot {row.id} is not imported: {error}; {_REMEDY}")
        return found, notes

    def _build_one(
        self,
        row: HeatRow,
        stack: Stack,
        sensitive: Mapping[str, bool],
        evaluate: Callable[[RecordedTemplate], EvaluatedStackTemplate],
    ) -> ImportedSnapshot:
        where = f"the data of snapshot {row.id}"
        data = parse_map(row.data, where)
        parts = {
            each.resource_name: parse_map(each.data, where)
            for each in self.tree.snapshot_parts.get(row.id, ())
        }
        recorded = RecordedTemplate(
            json.dumps(_section(data, "template", where), ensure_ascii=False),
            clean_environment(_section(data, "environment", where)),
            _section(data, "files", where),
        )
        evaluated = evaluate(recorded)
        entries = _Entries(self.registry, evaluated.desired_resources, sensitive)
        user_project = data.get("stack_user_project_id")
        resources = entries.convert({**_section(data, "resources", where), **parts}, user_project)
        document = {
            "name": stack.name,
            "id": stack.id,
            "action": data.get("action") or str(Action.SNAPSHOT),
            "status": data.get("status") or str(Status.COMPLETE),
            "environment": visible_environment(evaluated.goal, SecretVisibility.MASKED),
            "files": dict(recorded.files),
            "template": json.loads(recorded.text),
            "resources": resources,
            "project_id": stack.project_id,
            "stack_user_project_id": user_project,
            "tags": data.get("tags") or [],
            "in_flight": [],
        }
        has_secrets = evaluated.goal.sensitive or any(_sensitive_entries(resources))
        return ImportedSnapshot(
            _snapshot(row, stack, evaluated.goal, document, has_secrets),
            evaluated.goal,
            evaluated.contents,
        )


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of resources in a snapshot, in the form of this service."""

    registry: ResourceTypeRegistry
    desired: Mapping[str, DesiredResource]
    sensitive: Mapping[str, bool]

    def convert(self, entries: Mapping[str, Json], user_project: str | None) -> dict[str, Json]:
        """Return the entries by name; those of releases before 2026.1 may be nested stacks."""
        return {name: self._entry(name, each, user_project) for name, each in entries.items()}

    def _entry(self, name: str, entry: Json, user_project: str | None) -> dict[str, Json]:
        if not isinstance(entry, Mapping):
            raise HeatValueUnreadable(f"its resource {name} is no map")
        if is_stack_entry(entry):
            nested = _Entries(self.registry, {}, {})
            inner = nested.convert(entry.get("resources") or {}, user_project)
            return {**entry, "resources": inner}
        desired = self.desired.get(name)
        implementation = entry["type"] if desired is None else desired.implementation
        record = HeatRecord(
            entry.get("resource_data") or {}, entry.get("metadata") or {}, user_project
        )
        other = {} if implementation == entry["type"] else {"implementation": implementation}
        return {
            "name": name,
            "resource_id": entry.get("resource_id"),
            "type": entry["type"],
            "action": entry.get("action") or str(Action.SNAPSHOT),
            "status": entry.get("status") or str(Status.COMPLETE),
            "metadata": dict(record.metadata),
            "resource_data": convert_data(self.registry.find(implementation), record),
            SENSITIVE_KEY: self.sensitive.get(name, True),
            **other,
        }


def _section(data: Mapping[str, Json], name: str, where: str) -> dict[str, Json]:
    found = data.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise HeatValueUnreadable(f"{name} in {where} is no map")
    return found


def _sensitive_entries(entries: Mapping[str, Json]) -> Iterator[bool]:
    for entry in entries.values():
        yield is_stack_entry(entry) or entry[SENSITIVE_KEY]


def _snapshot(
    row: HeatRow, stack: Stack, goal: Goal, document: dict[str, Json], has_secrets: bool
) -> Snapshot:
    created_at = to_utc(row.created_at)
    if created_at is None:
        raise HeatValueUnreadable("it has no time of creation")
    status, reason = _status(row)
    return Snapshot(
        id=row.id,
        stack_id=stack.id,
        project_id=stack.project_id,
        name=row.name,
        version=stack.version,
        action=Action.DELETE if getattr(row, "action", None) == "DELETE" else Action.CREATE,
        status=status,
        status_reason=reason,
        goal_id=goal.id,
        created_at=created_at,
        data=document,
        sensitive=has_secrets,
    )


def _status(row: HeatRow) -> tuple[Status, str]:
    """Return the status and its reason; what was in progress has failed."""
    try:
        status = Status(row.status)
    except ValueError as error:
        raise HeatValueUnreadable(f"its status is {row.status}") from error
    if status is Status.IN_PROGRESS:
        return Status.FAILED, f"The snapshot {INTERRUPTED}"
    return status, row.status_reason or ""
