"""Groups of resources in scenarios, and the policies that scale them.

Decides how a ``ResourceGroup``, ``ResourceChain``, ``ScalingGroup`` or ``ScalingPolicy``
is defined by the real resource types; every member is a ``Resource``.  Used by
``nested_templates`` and by the processes, which register those types; reads no rows.

    g: ResourceGroup size=3 flavor=sweet batch=1
    c: ResourceChain size=2
    f: ScalingGroup size=2 cooldown=60
    up: ScalingPolicy group=f adjustment=1
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.resources.builtin.nested.auto_scaling_group import AutoScalingGroup
from heat_convergence.resources.builtin.nested.resource_chain import ResourceChain
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.stacks.goal.desired_resources import (
    ATTRIBUTE_PATHS_KEY,
    CONTENT_DIGEST_KEY,
)
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.simulation.workload import template_notation
from heat_convergence.testing.simulation.workload.template_notation import (
    RESOURCE_CHAIN,
    RESOURCE_GROUP,
    SCALING_GROUP,
    SCALING_POLICY,
    TYPE_NAMES,
    ResourceSpec,
)

Json = Any
SCALING_RESOURCE_TYPES = (ResourceGroup, ResourceChain, AutoScalingGroup, ScalingPolicy)
_NAMES = {
    RESOURCE_GROUP: ResourceGroup.name,
    RESOURCE_CHAIN: ResourceChain.name,
    SCALING_GROUP: AutoScalingGroup.name,
    SCALING_POLICY: ScalingPolicy.name,
}
_MAX_MEMBERS = 6  # of a scaling group
SCALING_TYPE_ALIASES = frozenset(_NAMES)


def desired_resource(spec: ResourceSpec) -> DesiredResource:
    """Return the desired resource of a root stack."""
    definition = ResourceDefinition(
        name=spec.name,
        type=_NAMES[spec.type_alias],
        properties=_properties(spec, Expression("get_resource", "standard", spec.group)),
        update_policy=_update_policy(spec),
        deletion_policy=template_notation.deletion_policy(spec),
        requires=frozenset({*spec.depends_on, *([spec.group] if spec.group else [])}),
        referenced_names=frozenset([spec.group] if spec.group else []),
    )
    nested_keys = None
    if spec.type_alias != SCALING_POLICY:
        content = json.dumps([_properties(spec, None), _update_policy(spec)], sort_keys=True)
        nested_keys = {
            CONTENT_DIGEST_KEY: hashlib.sha256(content.encode()).hexdigest(),
            ATTRIBUTE_PATHS_KEY: [],
        }
    return DesiredResource.from_definition(definition, definition.type, nested_keys)


def template_resource(spec: ResourceSpec) -> dict[str, Json]:
    """Return the resource as a template defines it."""
    properties = _properties(spec, {"get_resource": spec.group})
    resource: dict[str, Json] = {"type": _NAMES[spec.type_alias], "properties": properties}
    if spec.depends_on:
        resource["depends_on"] = list(spec.depends_on)
    if spec.retain:
        resource["deletion_policy"] = "retain"
    if policy := _update_policy(spec):
        resource["update_policy"] = policy
    return resource


def _properties(spec: ResourceSpec, group: Json) -> dict[str, Json]:
    if spec.type_alias == SCALING_POLICY:
        return {
            "auto_scaling_group_id": group,
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": spec.adjustment,
        }
    member_properties = {"replace_key": spec.replace_key, "flavor": spec.flavor}
    member = {"type": TYPE_NAMES["Resource"], "properties": member_properties}
    if spec.type_alias == RESOURCE_CHAIN:
        members = [TYPE_NAMES["Resource"]] * spec.size
        return {"resources": members, "resource_properties": member_properties}
    if spec.type_alias == RESOURCE_GROUP:
        return {"count": spec.size, "resource_def": member}
    return {
        "min_size": 1,
        "max_size": _MAX_MEMBERS,
        "desired_capacity": spec.size,
        "cooldown": spec.cooldown,
        "resource": member,
        "rolling_updates": {
            "min_in_service": 0, "max_batch_size": spec.batch or _MAX_MEMBERS, "pause_time": 0,
        },
    }  # fmt: skip


def _update_policy(spec: ResourceSpec) -> dict[str, Json]:
    if spec.type_alias != RESOURCE_GROUP or not spec.batch:
        return {}
    batch = {"max_batch_size": spec.batch, "pause_time": 0}
    return {"batch_create": batch, "rolling_update": {**batch, "min_in_service": 0}}
