"""Existing objects, read as the resources of a stack that they are to become.

Called by the API for plans of imports, with the cloud of the user: what the user cannot read,
the stack cannot import.  Sends requests that read, and none that changes anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common import errors
from heat_convergence.common.failures import (
    ResourceFailure,
    ResourceGone,
    TemporaryFailure,
    Unavailable,
)
from heat_convergence.common.time_limit import time_limit
from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, ObservedState
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.handover import ExistingObject, import_row
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol import properties as props
from heat_convergence.resources.protocol.resource_context import (
    RowInputs,
    VerbInputs,
    build_context,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import resolve_value

Json = Any
TIME_LIMIT_S = 30.0  # for all objects of a plan together
_PROJECT_KEYS = ("project_id", "tenant_id", "os-vol-tenant-attr:tenant_id", "owner")


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object as it was read, and the row that it becomes.

    Attributes:
        differences: the properties of the template that differ from what was observed.
        unread: those that are set and cannot be compared.
    """

    row: Resource
    existing: ExistingObject
    differences: tuple[PropertyDrift, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectReader:
    """The reader of the objects that one stack imports.

    Attributes:
        cloud: that of the user.
        evaluated: the new template.
        plan_context: the stack and the time.
    """

    services: StackServices
    cloud: CloudClient
    stack: Stack
    evaluated: EvaluatedTemplate
    desired_resources: Mapping[str, DesiredResource]
    plan_context: PlanContext

    def read(
        self, physical_ids: Mapping[str, str], rows: Sequence[Resource]
    ) -> dict[str, ReadObject]:
        """Read the objects, requirements first, as later ones may refer to them.

        Args:
            physical_ids: name → physical id.
            rows: the resources that the stack has.

        Raises:
            HTTPBadRequest: the type cannot import, or the object is another project's.
            NotFound: there is no such object.
            Error: a property is wrong, or a service does not answer.
        """
        present = [row for row in rows if row.desired.state is DesiredState.PRESENT]
        inputs = {row.name: InputResource.from_resource(row) for row in present}
        found: dict[str, ReadObject] = {}
        with time_limit(TIME_LIMIT_S):
            for name in self.evaluated.graph.topological_order():
                if name in physical_ids:
                    found[name] = self._read(name, physical_ids[name], inputs)
                    inputs[name] = InputResource.from_resource(found[name].row)
        return found

    def _read(
        self, name: str, physical_id: str, inputs: Mapping[str, InputResource]
    ) -> ReadObject:
        desired = self.desired_resources[name]
        resource_type = self.services.registry.get(desired.implementation)
        existing = ExistingObject(physical_id, self._properties(name, resource_type, inputs), "")
        context = self._context(desired, existing)
        result = self._result(resource_type, context)
        body = (result.attributes or {}).get("show") or {}
        _require_own_project(name, physical_id, body, self.cloud.project_id)
        existing = ExistingObject(
            physical_id,
            existing.properties,
            props.properties_hash(existing.properties),
            result.attributes or {},
            result.data or {},
            resource_type.has_secret_data(existing.properties),
        )
        differences, unread = _compare(self.evaluated, name, resource_type, context, result)
        row = import_row(desired, existing, self.plan_context)
        return ReadObject(row, existing, differences, unread)

    def _properties(
        self, name: str, resource_type: ResourceType, inputs: Mapping[str, InputResource]
    ) -> dict[str, Json]:
        path = f"resources.{name}.properties"
        raw = resolve_value(
            self.evaluated.definitions[name].properties,
            RowInputs(inputs, self.stack, self.services.registry, self.plan_context.now),
            limits=self.services.limits,
            functions=self.services.functions,
            location=path,
        )
        return props.resolve_properties(resource_type.schema, raw or {}, path)

    def _context(self, desired: DesiredResource, existing: ExistingObject) -> ResourceContext:
        row = import_row(desired, existing, self.plan_context)
        verb_inputs = VerbInputs(properties=existing.properties, cloud=self.cloud)
        return build_context(row, self.stack, Action.ADOPT, self.plan_context.now, verb_inputs)

    @staticmethod
    def _result(resource_type: ResourceType, context: ResourceContext) -> VerbResult:
        """Return what was read of a ready object."""
        place = f"{context.physical_id} ({context.type})"
        try:
            result = resource_type.read_existing(context)
        except ResourceGone as error:
            raise errors.NotFound(f"There is no object {place} to import.") from error
        except (ResourceFailure, TemporaryFailure, errors.Forbidden) as error:
            text = f"The object {place} cannot be read: {error.message}"
            permanent = error.retry is errors.Retry.NEVER
            raise (errors.HTTPBadRequest(text) if permanent else Unavailable(text)) from error
        if result is None:
            raise errors.HTTPBadRequest(
                f"{context.name}: objects of type {context.type} cannot be imported."
            )
        if result.observed is not ObservedState.READY:
            state = result.reason or f"it is {result.observed.value.lower()}"
            raise errors.HTTPBadRequest(f"The object {place} is not ready to import: {state}")
        return replace(result, physical_id=context.physical_id)


def _require_own_project(
    name: str, physical_id: str, body: Mapping[str, Json], project_id: str | None
) -> None:
    """Require that an object belongs to the user's project; others may be shared with it.

    Raises:
        HTTPBadRequest: it does not.
    """
    owners = {str(body[key]) for key in _PROJECT_KEYS if body.get(key)}
    if owners and project_id is not None and project_id not in owners:
        raise errors.HTTPBadRequest(
            f"{name}: the object {physical_id} belongs to another project and is only shared."
        )


def _compare(
    evaluated: EvaluatedTemplate,
    name: str,
    resource_type: ResourceType,
    context: ResourceContext,
    result: VerbResult,
) -> tuple[tuple[PropertyDrift, ...], tuple[str, ...]]:
    """Return the properties that differ, and those of the template that cannot be compared."""
    if not isinstance(resource_type, DeclarativeType):
        return (), ()
    values = resource_type.comparable_values(context, result)
    differences = resource_type.compare(context, values)
    raw = evaluated.definitions[name].properties
    assigned = set(raw) if isinstance(raw, Mapping) else set(context.properties)
    return differences, tuple(sorted(assigned - values.keys()))
