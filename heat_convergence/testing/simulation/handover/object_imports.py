"""Objects that no stack owns, and how simulated users read those that a stack imports."""

from __future__ import annotations

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.handover import ExistingObject, import_row
from heat_convergence.resources.protocol import properties as props
from heat_convergence.resources.protocol.resource_context import VerbInputs, build_context
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.simulation.cloud import CloudObject, ObjectOwner, SimulatedCloud
from heat_convergence.testing.simulation.resource_types import ImmutableType, SimulatedType

MAKE = "make"  # a third party makes an object
_TYPES = (SimulatedType, ImmutableType)
_FLAVORS = ("plain", "salty")


def make_object(cloud: SimulatedCloud, selector: float) -> CloudObject:
    """Make an object by hand, whose type and properties ``selector``, from 0 to 1, chooses."""
    number = int(selector * 12)
    resource_type = _TYPES[number % len(_TYPES)]
    return cloud.create(
        name=f"by-hand-{len(cloud.objects) + 1}",
        type_name=resource_type.name,
        owner=ObjectOwner("", ""),
        properties={
            "size": number % 3 + 1,
            "replace_key": 1,
            "flavor": _FLAVORS[number % len(_FLAVORS)],
            "snapshot_id": "",
            "references": [],
            "attributes": [],
        },
        duration_s=0.0,
    )


def find_importable(cloud: SimulatedCloud) -> CloudObject | None:
    """Return the oldest object that was made by hand and that no stack has imported."""
    return next((each for each in cloud.active_objects() if not each.resource_id), None)


def read_object(
    desired: DesiredResource,
    physical_id: str,
    stack: Stack,
    plan_context: PlanContext,
    registry: ResourceTypeRegistry,
) -> ExistingObject:
    """Return an object as it is read for its import.

    Raises:
        PlanOutdated: it does not exist any more, is not ready or differs from the template.
    """
    resource_type = registry.get(desired.implementation)
    properties = props.resolve_properties(
        resource_type.schema, dict(desired.definition["properties"]), desired.name
    )
    existing = ExistingObject(physical_id, properties, props.properties_hash(properties))
    row = import_row(desired, existing, plan_context)
    inputs = VerbInputs(properties=properties)
    context = build_context(row, stack, Action.ADOPT, plan_context.now, inputs)
    result = resource_type.check(context)
    if (
        result is None
        or result.observed is not ObservedState.READY
        or resource_type.drifted_properties(context, result)
    ):
        reason = "the object is not as it was observed"
        raise errors.PlanOutdated(
            [{"stack_name": stack.name, "resource_name": desired.name, "reason": reason}]
        )
    return ExistingObject(
        physical_id,
        properties,
        existing.properties_hash,
        result.attributes or {},
        result.data or {},
    )
