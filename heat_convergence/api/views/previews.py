"""Resources as previews show them: the raw maps, and the plan in detail.

Pure functions; source: heat-facts/rest_api.md, views stack_preview and
update_preview.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.stacks.nested_preview import NestedStackChange
from heat_convergence.stacks.preview import ResourceChange
from heat_convergence.template.expression import is_known, to_template_form

Json = Any


def format_preview_resource(
    foreseen: ResourceChange, stack: Stack, required_by: Sequence[str]
) -> dict[str, Json]:
    """With separate action and status, and identities as maps."""
    row, definition = foreseen.current, foreseen.definition
    name = foreseen.name
    made = stack.created_at if row is None else row.created_at
    changed = None if row is None else row.updated_at
    attributes = {} if row is None else dict(row.attributes)
    metadata = to_template_form(definition.metadata) if definition is not None else {}
    return {
        "resource_name": name,
        "logical_resource_id": name,
        "physical_resource_id": (row.physical_id if row else None) or "",
        "resource_type": definition.type if definition else row.type if row else "",
        "resource_action": row.action if row else Action.INIT,
        "resource_status": row.status if row else Status.COMPLETE,
        "resource_status_reason": row.status_reason if row else "",
        "creation_time": format_time(made),
        "updated_time": format_time(changed or made),
        "resource_identity": {**_identity(stack), "path": f"/resources/{name}"},
        "stack_identity": _identity(stack),
        "stack_name": stack.name,
        "description": definition.description if definition else "",
        "properties": to_template_form(foreseen.after if definition else foreseen.before),
        "attributes": attributes,
        "metadata": metadata,
        "required_by": list(required_by),
    }


def format_stack_preview(
    stack: Stack, foreseen: Sequence[ResourceChange], below: Sequence[NestedStackChange]
) -> list[Json]:
    """A new stack's resources; in the place of one with a stack behind it, the list of
    what is in that."""
    its = required_by_names(foreseen)
    behind = {each.parent_resource: each for each in below}
    found: list[Json] = []
    for each in foreseen:
        nested = behind.get(each.name)
        if nested is None:
            found.append(format_preview_resource(each, stack, its[each.name]))
        else:
            found.append(format_stack_preview(nested.stack, nested.changes, nested.nested_changes))
    return found


def format_resource_changes(
    stack: Stack, foreseen: Sequence[ResourceChange], below: Sequence[NestedStackChange]
) -> dict[str, list[Json]]:
    """The five lists; what is below comes after what it is behind."""
    found: dict[str, list[Json]] = {str(fate): [] for fate in ChangeKind}
    its = required_by_names(foreseen)
    for each in foreseen:
        found[each.change_kind].append(format_preview_resource(each, stack, its[each.name]))
    for nested in below:
        inner = format_resource_changes(nested.stack, nested.changes, nested.nested_changes)
        for fate, entries in inner.items():
            found[fate].extend(entries)
    return found


def format_planned_change(foreseen: ResourceChange, required_by: Sequence[str]) -> dict[str, Json]:
    """One entry of the plan: old and new of each property that differs."""
    return {
        "resource_name": foreseen.name,
        "change": str(foreseen.change_kind),
        "why": foreseen.reason,
        "properties": [
            {
                "name": name,
                "old": foreseen.before.get(name),
                "new": to_template_form(foreseen.after.get(name)),
                "known": is_known(foreseen.after.get(name)),
            }
            for name in sorted(_shown_names(foreseen))
        ],
        "required_by": list(required_by),
    }


def required_by_names(foreseen: Sequence[ResourceChange]) -> Mapping[str, list[str]]:
    """Name → names of those that need it in the new goal; in the old one for what
    is deleted."""
    found: dict[str, list[str]] = {each.name: [] for each in foreseen}
    for each in foreseen:
        for name in sorted(_needs(each)):
            if name in found:
                found[name].append(each.name)
    return found


def _needs(foreseen: ResourceChange) -> Collection[str]:
    if foreseen.definition is not None:
        return foreseen.definition.requires
    return foreseen.current.requires if foreseen.current is not None else ()


def _shown_names(foreseen: ResourceChange) -> frozenset[str]:
    if foreseen.change_kind is ChangeKind.ADDED:
        return frozenset(foreseen.after)
    return foreseen.changed_properties


def _identity(stack: Stack) -> dict[str, str]:
    return {
        "tenant": stack.project_id,
        "stack_name": stack.name,
        "stack_id": stack.id,
        "path": "",
    }
