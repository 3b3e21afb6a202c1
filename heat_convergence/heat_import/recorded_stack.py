"""The record that Heat has of one stack and its resources, decrypted and parsed.

Called by ``tree_builder``. Decides which of several rows of a name is the one that the stack's
template wants; must not evaluate templates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree
from heat_convergence.heat_import.heat_values import (
    INTERRUPTED,
    HeatCipher,
    HeatValueUnreadable,
    parse_files,
    parse_map,
    to_utc,
)
from heat_convergence.heat_import.imported_data import HeatRecord
from heat_convergence.heat_import.resource_builder import RecordedResource

Json = Any


@dataclass(frozen=True, slots=True)
class RecordedTemplate:
    """A template with what Heat stores beside it.

    Attributes:
        text: the template as JSON.
        environment: its sections, decrypted.
        files: name → text.
    """

    text: str
    environment: Mapping[str, Json]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TreeReader:
    """The reader of one tree's rows."""

    tree: HeatTree
    cipher: HeatCipher

    def template(self, key: int) -> RecordedTemplate:
        """Return a template.

        Raises:
            HeatValueUnreadable: a part of it cannot be read.
        """
        row = self.tree.templates.get(key)
        if row is None:
            raise HeatValueUnreadable(f"template {key} is missing")
        files = parse_files(row.files, f"files of template {key}")
        stored = self.tree.files.get(row.files_id)
        if not files and stored is not None:
            files = parse_files(stored.files, f"files {row.files_id}")
        found = parse_map(row.template, f"template {key}")
        environment = parse_map(row.environment, f"environment of template {key}")
        return RecordedTemplate(
            json.dumps(found, ensure_ascii=False),
            clean_environment(self.cipher.decrypt_parameters(environment)),
            files,
        )

    def resources(self, stack: HeatRow) -> list[RecordedResource]:
        """Return the resources of a stack, in the order of their keys.

        Raises:
            HeatValueUnreadable: a value cannot be read.
        """
        rows = self.tree.resources.get(stack.id, ())
        unclaimed = self._unclaimed_nested_stacks(stack)
        ids = {row.id: row.uuid for row in rows}
        newest = {row.name: row.id for row in rows}
        return [
            replace(
                self._resource(row, stack),
                physical_id=row.nova_instance or unclaimed.get(row.name),
                present=newest[row.name] == row.id,
                replaces=ids.get(row.replaces),
                replaced_by=ids.get(row.replaced_by),
            )
            for row in rows
        ]

    def _unclaimed_nested_stacks(self, stack: HeatRow) -> dict[str, str]:
        """Return nested stacks whose ids no resource has recorded yet, by resource name."""
        physical_ids = {row.nova_instance for row in self.tree.resources.get(stack.id, ())}
        return {
            each.parent_resource_name: each.id
            for each in self.tree.stacks
            if each.owner_id == stack.id and each.id not in physical_ids
        }

    def _resource(self, row: HeatRow, stack: HeatRow) -> RecordedResource:
        data: dict[str, str] = {}
        stored = self.tree.data.get(row.id, ())
        for each in reversed(stored):  # of several with one key the first counts
            where = f"data {each.key} of resource {row.name}"
            data[each.key] = (
                self.cipher.decrypt(each.decrypt_method, each.value, where)
                if each.redact
                else each.value
            )
        metadata = parse_map(row.rsrc_metadata, f"metadata of resource {row.name}")
        record = HeatRecord(data, metadata, stack.stack_user_project_id)
        properties = self._values(row.rsrc_prop_data_id, row) or self._legacy_properties(row)
        secrets = any(each.redact for each in stored)
        return RecordedResource(row, record, properties, has_secrets=secrets)

    def cached_attributes(self, row: HeatRow) -> dict[str, Json]:
        """Return the attributes that Heat had cached of a resource."""
        return self._values(row.attr_data_id, row)

    def _values(self, key: int | None, row: HeatRow) -> dict[str, Json]:
        stored = self.tree.values.get(key or 0)
        if stored is None:
            return {}
        where = f"values of resource {row.name}"
        found = parse_map(stored.data, where)
        return self.cipher.decrypt_each(found, where) if stored.encrypted else found

    def _legacy_properties(self, row: HeatRow) -> dict[str, Json]:
        where = f"properties of resource {row.name}"
        found = parse_map(row.properties_data, where)
        return self.cipher.decrypt_each(found, where) if row.properties_data_encrypted else found


def new_stack(
    row: HeatRow,
    goal_id: str,
    owner: tuple[Stack, str] | None,
    resources: Sequence[RecordedResource],
) -> Stack:
    """Return a stack as Heat shows it, with version 1; an interrupted action has failed.

    Args:
        row: Heat's row.
        goal_id: the id that its goal gets.
        owner: the stack that it is nested in, and the id of the resource there.
        resources: its resources.

    Raises:
        HeatValueUnreadable: action or status is unknown.
    """
    created_at = to_utc(row.created_at)
    try:
        action, status = Action(row.action), Status(row.status)
    except ValueError as error:
        raise HeatValueUnreadable(f"stack {row.name} is {row.action}_{row.status}") from error
    if created_at is None:
        raise HeatValueUnreadable(f"stack {row.name} has no time of creation")
    updated_at, reason = to_utc(row.updated_at), row.status_reason or ""
    if is_interrupted(row, resources):
        status, reason = Status.FAILED, f"{action} {INTERRUPTED}"
    parent, owner_id = owner or (None, None)
    return Stack(
        id=row.id,
        name=row.name,
        project_id=row.tenant,
        version=1,
        action=action,
        status=status,
        status_reason=reason,
        goal_id=goal_id,
        created_at=created_at,
        username=row.username,
        disable_rollback=bool(row.disable_rollback),
        timeout_mins=row.timeout,
        updated_at=updated_at,
        owner_id=None if parent is None else parent.id,
        owner_resource_id=owner_id,
        root_id=None if parent is None else parent.tree_id,
        depth=0 if parent is None else parent.depth + 1,
        parent_resource=row.parent_resource_name,
        started_at=updated_at or created_at,
    )


def is_interrupted(row: HeatRow, resources: Sequence[RecordedResource]) -> bool:
    """Return whether Heat was at work on a stack, or on one of its resources."""
    return row.status == "IN_PROGRESS" or any(each.interrupted for each in resources)


def has_reached_template(row: HeatRow, resources: Sequence[RecordedResource]) -> bool:
    """Return whether a stack is at its template, whatever its last action was."""
    return row.status == "COMPLETE" and all(
        each.present
        and not each.interrupted
        and each.row.current_template_id in (None, row.raw_template_id)
        for each in resources
    )


def clean_environment(sections: Mapping[str, Json]) -> dict[str, Json]:
    """Return the sections without what Heat has added: templates that stand for themselves."""
    found = {name: section for name, section in sections.items() if section is not None}
    registry = found.get("resource_registry")
    if isinstance(registry, Mapping):
        found["resource_registry"] = {
            name: entry for name, entry in registry.items() if name != entry
        }
    return found
