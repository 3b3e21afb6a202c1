"""A resource's row of Heat to a row of this service.

Called by ``tree_builder``. Decides the state that the next update finds: a row that reached
its definition has that definition's hash, any other is converged again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import (
    ActionState,
    DesiredDefinition,
    LastObservation,
    PhysicalState,
    Resource,
    ResourceIdentity,
    ResourceJob,
)
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.heat_import.heat_rows import HeatRow
from heat_convergence.heat_import.heat_values import (
    HeatValueUnreadable,
    physical_name,
    to_utc,
)
from heat_convergence.heat_import.imported_data import HeatRecord, convert_data
from heat_convergence.resources.protocol.properties import properties_hash, resolve_properties
from heat_convergence.resources.protocol.resource_type import ResourceType

Json = Any
_VERBS = frozenset({Verb.SUSPEND, Verb.RESUME, Verb.CHECK, Verb.SNAPSHOT})


@dataclass(frozen=True, slots=True)
class RecordedResource:
    """A row of Heat with its values, decrypted.

    Attributes:
        properties: evaluated, without defaults.
        present: whether the stack's template wants this incarnation.
        replaces: id of the incarnation before this one.
        replaced_by: id of the incarnation after this one.
        has_secrets: whether Heat had encrypted any of the data.
        physical_id: the physical id, also that of a nested stack that the row lacks yet.
    """

    row: HeatRow
    record: HeatRecord
    properties: Mapping[str, Json]
    present: bool = True
    replaces: str | None = None
    replaced_by: str | None = None
    has_secrets: bool = False
    physical_id: str | None = None

    @property
    def interrupted(self) -> bool:
        """True if Heat was at work on the resource."""
        return self.row.status == str(Status.IN_PROGRESS) or self.row.engine_id is not None


def build_resource(
    found: RecordedResource,
    stack: Stack,
    desired: DesiredResource,
    resource_type: ResourceType | None,
) -> Resource:
    """Return the row; its attributes are still missing.

    Args:
        found: Heat's row.
        stack: the imported stack.
        desired: the resource by the template that Heat's row was last converged to.
        resource_type: its type.

    Raises:
        HeatValueUnreadable: action or status is unknown.
    """
    row, name = found.row, physical_name(stack.name, found.row.name, found.row.uuid)
    action, status = _state_of(row)
    properties = _properties(found, resource_type)
    reached = status is Status.COMPLETE and action is not Action.INIT and not found.interrupted
    data = convert_data(resource_type, found.record)
    secret = resource_type is not None and resource_type.has_secret_data(properties or {})
    created_at = _required_time(row)
    return Resource(
        ResourceIdentity(
            id=row.uuid,
            stack_id=stack.id,
            name=row.name,
            type=desired.type,
            physical_name=name,
            created_at=created_at,
            project_id=stack.project_id,
            root_id=stack.tree_id,
            replaces=found.replaces,
            replaced_by=found.replaced_by,
        ),
        DesiredDefinition(
            state=DesiredState.PRESENT if found.present else DesiredState.ABSENT,
            implementation=desired.implementation,
            definition=desired.definition,
            definition_hash=desired.definition_hash,
            requires=tuple(sorted(desired.requires)),
            referenced_names=tuple(sorted(desired.referenced_names)),
            sensitive=desired.sensitive or secret or found.has_secrets,
            hooks_and_restrictions=desired.hooks_and_restrictions,
        ),
        _job(found, stack, action),
        observation=LastObservation(ObservedState.READY if reached else None),
        physical=PhysicalState(
            id=_physical_id(found, name, resource_type) if reached else found.physical_id,
            applied_hash=desired.definition_hash if reached else None,
            suspended=action is Action.SUSPEND or (action is Action.RESUME and not reached),
            properties_hash=_hash(found, action, properties),
            properties=properties,
            data=data,
        ),
        state=ActionState(
            action=action,
            status=status,
            reason=row.status_reason or "",
            updated_at=to_utc(row.updated_at) or created_at,
        ),
    )


def _state_of(row: HeatRow) -> tuple[Action, Status]:
    try:
        return Action(row.action or "INIT"), Status(row.status or "COMPLETE")
    except ValueError as error:
        raise HeatValueUnreadable(
            f"resource {row.name} is in the unknown state {row.action}_{row.status}"
        ) from error


def _required_time(row: HeatRow) -> datetime:
    found = to_utc(row.created_at)
    if found is None:
        raise HeatValueUnreadable(f"resource {row.name} has no time of creation")
    return found


def _job(found: RecordedResource, stack: Stack, action: Action) -> ResourceJob:
    """Return no job, or the one that a cancelled traversal leaves: something is to be done."""
    if found.present and not found.interrupted:
        return ResourceJob(stack.version)
    verb = Verb(str(action)) if found.present and str(action) in _VERBS else Verb.CONVERGE
    return ResourceJob(stack.version, verb, JobState.CANCELLED)


def _hash(
    found: RecordedResource, action: Action, properties: Mapping[str, Json] | None
) -> str | None:
    """Return the hash of the properties; None after an update of unknown outcome."""
    if properties is None or (found.interrupted and action is Action.UPDATE):
        return None
    return properties_hash(properties)


def _physical_id(
    found: RecordedResource, name: str, resource_type: ResourceType | None
) -> str | None:
    """Return the physical id; types of the service itself use the physical name for none."""
    if found.physical_id or resource_type is None or resource_type.has_nested_stack:
        return found.physical_id or None
    return name


def _properties(
    found: RecordedResource, resource_type: ResourceType | None
) -> dict[str, Json] | None:
    """Return the properties with the defaults that Heat leaves out; None if none were used."""
    row = found.row
    if row.action in (None, "INIT") or (found.physical_id is None and row.status != "COMPLETE"):
        return None
    values = dict(found.properties)
    if resource_type is None:
        return values
    if resource_type.schema.ignores_properties:
        return {}
    try:
        return resolve_properties(resource_type.schema, values)
    except Error:
        return values  # of an older schema: an update compares them as they are
