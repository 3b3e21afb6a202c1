"""Resources as previews show them: the raw maps, and the plan in detail.

Pure functions of what ``stacks.preview`` found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.resources.protocol.type_schema import TypeSchema
from heat_convergence.stacks.nested_preview import NestedStackChange
from heat_convergence.stacks.preview import ResourceChange
from heat_convergence.template.expression import is_known, to_template_form

Json = Any


def format_preview_resource(
    change: ResourceChange,
    stack: Stack,
    required_by: Sequence[str],
    parent_resource: str | None = None,
) -> dict[str, Json]:
    """Return a resource with separate action and status, and identities as maps.

    One that is to be replaced is shown as the new resource.
    """
    row, definition = change.current, change.definition
    if change.change_kind is ChangeKind.REPLACED and definition is not None:
        row = None
    name = change.name
    created_at = None if row is None else row.identity.created_at
    updated_at = None if row is None else row.state.updated_at
    attributes = (
        _unread_attributes(change)
        if row is None
        else _recorded_attributes(row.physical.attributes)
    )
    metadata = to_template_form(definition.metadata) if definition is not None else {}
    return {
        **({} if parent_resource is None else {"parent_resource": parent_resource}),
        "resource_name": name,
        "physical_resource_id": (row.physical.id if row else None) or "",
        "resource_type": definition.type if definition else row.identity.type if row else "",
        "resource_action": row.state.action if row else Action.INIT,
        "resource_status": row.state.status if row else Status.COMPLETE,
        "resource_status_reason": row.state.reason if row else "",
        "creation_time": format_time(created_at),
        "updated_time": format_time(updated_at or created_at),
        "resource_identity": {**_identity(stack), "path": f"/resources/{name}"},
        "stack_identity": _identity(stack),
        "stack_name": stack.name,
        "description": definition.description if definition else "",
        "attributes": attributes,
        "metadata": metadata,
        "required_by": list(required_by),
    }


def format_stack_preview(
    stack: Stack,
    changes: Sequence[ResourceChange],
    nested_changes: Sequence[NestedStackChange],
    parent_resource: str | None = None,
) -> list[Json]:
    """Return a new stack's resources.

    In the place of a resource with a nested stack stands the list of that stack's resources.
    """
    required_by_name = required_by_names(changes)
    nested_by_resource = {each.parent_resource: each for each in nested_changes}
    found: list[Json] = []
    for each in changes:
        nested = nested_by_resource.get(each.name)
        if nested is None:
            required_by = required_by_name[each.name]
            entry = format_preview_resource(each, stack, required_by, parent_resource)
            found.append({**entry, "properties": _properties(each)})
        else:
            found.append(
                format_stack_preview(
                    nested.stack, nested.changes, nested.nested_changes, each.name
                )
            )
    return found


def format_resource_changes(
    stack: Stack,
    changes: Sequence[ResourceChange],
    nested_changes: Sequence[NestedStackChange],
    known_stacks: Mapping[str, Stack],
    parent_resource: str | None = None,
) -> dict[str, list[Json]]:
    """Return the five lists; a nested stack's resources follow their parent's.

    Args:
        stack: the stack.
        changes: those of its resources.
        nested_changes: those in its nested stacks.
        known_stacks: the nested stacks as they are, by id.
        parent_resource: the resource whose nested stack it is; None for a root stack.
    """
    found: dict[str, list[Json]] = {str(change_kind): [] for change_kind in ChangeKind}
    required_by_name = required_by_names(changes)
    for each in changes:
        required_by = required_by_name[each.name]
        entry = format_preview_resource(each, stack, required_by, parent_resource)
        nested_stack = known_stacks.get(entry["physical_resource_id"])
        if nested_stack is not None:
            entry["nested_stack_id"] = _identity(nested_stack)
        found[each.change_kind].append(entry)
    for nested in nested_changes:
        inner = format_resource_changes(
            nested.stack,
            nested.changes,
            nested.nested_changes,
            known_stacks,
            nested.parent_resource,
        )
        for change_kind, entries in inner.items():
            found[change_kind].extend(entries)
    return found


def format_planned_change(change: ResourceChange, required_by: Sequence[str]) -> dict[str, Json]:
    """Return an entry of the plan: old and new value of each property that differs."""
    return {
        "resource_name": change.name,
        "change": str(change.change_kind),
        "why": change.reason,
        "properties": [
            {
                "name": name,
                "old": change.before.get(name),
                "new": to_template_form(change.after.get(name)),
                "known": is_known(change.after.get(name)),
            }
            for name in sorted(_shown_names(change))
        ],
        "required_by": list(required_by),
    }


def required_by_names(changes: Sequence[ResourceChange]) -> Mapping[str, list[str]]:
    """Return the names of the resources that need each one, by its name.

    They are those of the new goal, for a deleted resource those of the old one.
    """
    found: dict[str, list[str]] = {each.name: [] for each in changes}
    for each in changes:
        for name in sorted(_required_names(each)):
            if name in found:
                found[name].append(each.name)
    return found


def _required_names(change: ResourceChange) -> Collection[str]:
    if change.definition is not None:
        return change.definition.requires
    return change.current.desired.requires if change.current is not None else ()


def _shown_names(change: ResourceChange) -> frozenset[str]:
    if change.change_kind is ChangeKind.ADDED:
        return frozenset(change.after)
    return change.changed_properties


def _recorded_attributes(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the attributes of the last observation, without the service's own records."""
    return {name: value for name, value in attributes.items() if not name.startswith("$")}


def _unread_attributes(change: ResourceChange) -> dict[str, Json]:
    return {} if change.schema is None else dict.fromkeys(change.schema.attributes)


def _properties(change: ResourceChange) -> Json:
    """Return all properties of the type, null for those without a value."""
    assigned = to_template_form(change.after if change.definition else change.before)
    return assigned if change.schema is None else {**_unset_properties(change.schema), **assigned}


def _unset_properties(schema: TypeSchema) -> dict[str, Json]:
    return {name: None for name, each in schema.properties.items() if each.alias_of is None}


def _identity(stack: Stack) -> dict[str, str]:
    return {
        "tenant": stack.project_id,
        "stack_name": stack.name,
        "stack_id": stack.id,
        "path": "",
    }
