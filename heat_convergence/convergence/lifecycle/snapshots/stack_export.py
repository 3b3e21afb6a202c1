"""The document of a stack, which abandon and export return and snapshots store.

Called by ``snapshot_completion`` and the API, in a transaction or on a reading
connection.  Must show everything that exists: what is under way or being deleted is
listed, too, so that nothing is orphaned silently.

Source: docs/reference/rest-api.rst, view abandon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from heat_convergence.common.failures import RowsContradict
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.contents import ContentRepository
from heat_convergence.convergence.ports.goals import GoalRepository
from heat_convergence.convergence.ports.resources import ResourceRepository
from heat_convergence.convergence.ports.stacks import StackRepository
from heat_convergence.template.evaluation.resource_definition import (
    collect_definition_hashes,
    load_section,
)
from heat_convergence.template.expression import to_template_form
from heat_convergence.template.parsing.document_loader import load_document
from heat_convergence.template.text_redaction import MASK

Value = Any  # JSON with expressions in it
MetadataResolver = Callable[[Stack, Value, Mapping[str, Resource]], Json]
EntryAnnotator = Callable[[Stack, Resource, dict[str, Json]], dict[str, Json]]
_METADATA = "metadata"


class SecretVisibility(Enum):
    """The visibility of hidden parameters' values in the document."""

    SHOWN = "shown"  # an adoption of the stack needs them
    MASKED = "masked"


class StackExportReader(Protocol):
    """The part of ``ports.store.Transaction`` that an export reads."""

    @property
    def goals(self) -> GoalRepository:
        """Rows of goals."""

    @property
    def contents(self) -> ContentRepository:
        """Texts by hash."""

    @property
    def resources(self) -> ResourceRepository:
        """Rows of resources."""

    @property
    def stacks(self) -> StackRepository:
        """Rows of stacks."""


def keep_expressions(stack: Stack, value: Value, named: Mapping[str, Resource]) -> Json:
    """Return a value with its expressions as the template has them."""
    return to_template_form(value)


def keep_entry(stack: Stack, row: Resource, entry: dict[str, Json]) -> dict[str, Json]:
    """Return the entry of a resource unchanged."""
    return entry


def export_stack(
    reader: StackExportReader,
    stack: Stack,
    secret_visibility: SecretVisibility,
    nested_stacks: Sequence[Stack] = (),
    *,
    resolve_metadata: MetadataResolver = keep_expressions,
    annotate_entry: EntryAnnotator = keep_entry,
) -> tuple[dict[str, Json], bool]:
    """Make the document of a stack.

    Args:
        reader: the transaction or reading connection.
        stack: the stack.
        secret_visibility: whether values of hidden parameters are shown.
        nested_stacks: stacks of the tree; their documents stand in the place of their
            parents' resources.
        resolve_metadata: resolves the metadata of a resource.
        annotate_entry: adds to the entry of a resource.

    Returns:
        The document, and whether it has secrets.
    """
    nested = {
        child.owner_resource_id: export_stack(
            reader,
            child,
            secret_visibility,
            nested_stacks,
            resolve_metadata=resolve_metadata,
            annotate_entry=annotate_entry,
        )
        for child in nested_stacks
        if child.owner_id == stack.id
    }
    nested_documents = {row_id: shown for row_id, (shown, _sensitive) in nested.items()}
    goal = reader.goals.get(stack.goal_id)
    if goal is None:
        raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
    rows = reader.resources.get_by_stack(stack.id)
    metadata_hashes = {
        key
        for row in rows
        for key in collect_definition_hashes(row.desired.definition, [_METADATA])
    }
    texts = reader.contents.get({goal.template_hash, *goal.files.values(), *metadata_hashes})
    named = {row.name: row for row in rows if _is_present(row)}

    def metadata(row: Resource) -> Json:
        return (
            resolve_metadata(stack, load_section(row.desired.definition, _METADATA, texts), named)
            or {}
        )

    shown = {
        "name": stack.name,
        "id": stack.id,
        "action": str(stack.action),
        "status": str(stack.status),
        "environment": visible_environment(goal, secret_visibility),
        "files": {name: texts[key] for name, key in sorted(goal.files.items())},
        "template": load_document(texts[goal.template_hash]).data,
        "resources": {
            name: _with_resource_data(nested_documents.get(row.id), row)
            or annotate_entry(
                stack,
                row,
                row.physical.data.get(ADOPTED_STACK) or _resource_entry(row, metadata(row)),
            )
            for name, row in named.items()
        },
        "project_id": stack.project_id,
        "stack_user_project_id": None,
        "tags": list(reader.stacks.get_tags(stack.id)),
        "in_flight": [
            _in_flight_entry(row) | ({"nested": nested} if nested else {})
            for row in rows
            if _is_in_flight(row)
            for nested in [nested_documents.get(row.id) or row.physical.data.get(ADOPTED_STACK)]
        ],
    }
    sensitive = any(row.desired.sensitive for row in rows)
    sensitive = sensitive or any(secret for _shown, secret in nested.values())
    # Files and the template itself may hold hidden values, masked or not.
    return shown, sensitive or goal.sensitive


def _with_resource_data(
    shown: Mapping[str, Json] | None, row: Resource
) -> Mapping[str, Json] | None:
    """Add the data of a resource to the document of its nested stack."""
    data = {name: item for name, item in row.physical.data.items() if name != ADOPTED_STACK}
    return {**shown, "resource_data": data} if shown and data else shown


def visible_environment(goal: Goal, secrets: SecretVisibility) -> dict[str, Json]:
    """Return the environment of a goal as documents show it."""
    shown = dict(goal.environment)
    if secrets is SecretVisibility.MASKED:
        for section in ("parameters", "parameter_defaults"):
            if section in shown:
                shown[section] = {
                    name: MASK if goal.parameters.get(name) == MASK else value
                    for name, value in shown[section].items()
                }
    return shown


def _is_present(row: Resource) -> bool:
    return row.desired.state is DesiredState.PRESENT


def _resource_entry(row: Resource, metadata: Json) -> dict[str, Json]:
    return {
        "name": row.name,
        "resource_id": row.physical.id,
        "type": row.identity.type,
        "action": str(row.state.action),
        "status": str(row.state.status),
        "metadata": metadata,
        "resource_data": dict(row.physical.data),
        **(
            {}
            if row.desired.implementation == row.identity.type
            else {"implementation": row.desired.implementation}
        ),
        **({"paused": True} if row.physical.suspended else {}),
    }


def _is_in_flight(row: Resource) -> bool:
    """Return whether something may exist, or change, that ``resources`` does not show.

    A worker acts on the resource, or it is not desired and not deleted.
    """
    if row.lease.token is not None or row.state.status is Status.IN_PROGRESS:
        return True
    if row.desired.state is DesiredState.PRESENT:
        unknown = row.physical.id is None and row.state.action is not Action.INIT
        return unknown and not row.physical.awaits_stack_adoption
    if row.physical.awaits_stack_adoption:
        return True
    deleted = row.state.action is Action.DELETE and row.state.status is Status.COMPLETE
    return not deleted and (row.physical.id is not None or row.state.action is not Action.INIT)


def _in_flight_entry(row: Resource) -> dict[str, Json]:
    return {
        "name": row.name,
        "type": row.identity.type,
        "physical_name": row.identity.physical_name,
        "resource_id": row.physical.id,
        "action": str(row.state.action),
        "status": str(row.state.status),
        "wanted": _is_present(row),
    }


def resource_entries(saved: Mapping[str, Json] | None) -> Sequence[tuple[str, Mapping[str, Json]]]:
    """Return the name and the entry of each resource of a document."""
    return sorted(((saved or {}).get("resources") or {}).items())


def is_suspended_entry(entry: Mapping[str, Json]) -> bool:
    """Return whether the resource, or one of its nested stack, is suspended.

    That is: a suspend was tried before the document was written, and no resume observed.
    """
    action, status = entry.get("action"), entry.get("status")
    if is_stack_entry(entry):
        return any(is_suspended_entry(each) for _name, each in resource_entries(entry))
    resuming = action == Action.RESUME and status != Status.COMPLETE
    return entry.get("paused") is True or action == Action.SUSPEND or resuming


def is_stack_entry(entry: Mapping[str, Json]) -> bool:
    """Return whether the entry of a resource is the document of its nested stack."""
    return "template" in entry
