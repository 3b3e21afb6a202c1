"""Groups of things in the simulated world, and the levers that scale them.

Decides what a ``Group``, a ``Chain``, a ``Fleet`` and a ``Lever`` are in terms of real types,
whose code real engines run: every member is a ``Thing``.  Used by ``testing.trees`` and by
processes, which register those types; knows no rows.

    g: Group size=3 flavor=sweet batch=1
    c: Chain size=2
    f: Fleet size=2 cooldown=60
    up: Lever of=f by=1
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
_MOST = 6  # members of a fleet
SCALING_TYPE_ALIASES = frozenset(_NAMES)


def desired_resource(spec: ResourceSpec) -> DesiredResource:
    """As a traversal of a root takes it."""
    definition = ResourceDefinition(
        name=spec.name,
        type=_NAMES[spec.type_alias],
        properties=_properties(spec, Expression("get_resource", "standard", spec.of)),
        update_policy=_policy(spec),
        deletion_policy=template_notation.deletion_policy(spec),
        requires=frozenset({*spec.after, *([spec.of] if spec.of else [])}),
        referenced_names=frozenset([spec.of] if spec.of else []),
    )
    behind = None
    if spec.type_alias != SCALING_POLICY:
        made_of = json.dumps([_properties(spec, None), _policy(spec)], sort_keys=True)
        behind = {
            CONTENT_DIGEST_KEY: hashlib.sha256(made_of.encode()).hexdigest(),
            ATTRIBUTE_PATHS_KEY: [],
        }
    return DesiredResource.from_definition(definition, definition.type, behind)


def template_resource(spec: ResourceSpec) -> dict[str, Json]:
    """As a template says it."""
    more: dict[str, Json] = {"depends_on": list(spec.after)} if spec.after else {}
    if spec.retain:
        more["deletion_policy"] = "retain"
    if policy := _policy(spec):
        more["update_policy"] = policy
    properties = _properties(spec, {"get_resource": spec.of})
    return {"type": _NAMES[spec.type_alias], "properties": properties, **more}


def _properties(spec: ResourceSpec, group: Json) -> dict[str, Json]:
    if spec.type_alias == SCALING_POLICY:
        return {
            "auto_scaling_group_id": group,
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": spec.by,
        }
    given = {"grip": spec.grip, "flavor": spec.flavor}
    member = {"type": TYPE_NAMES["Thing"], "properties": given}
    if spec.type_alias == RESOURCE_CHAIN:
        return {"resources": [TYPE_NAMES["Thing"]] * spec.size, "resource_properties": given}
    if spec.type_alias == RESOURCE_GROUP:
        return {"count": spec.size, "resource_def": member}
    return {
        "min_size": 1,
        "max_size": _MOST,
        "desired_capacity": spec.size,
        "cooldown": spec.cooldown,
        "resource": member,
        "rolling_updates": {
            "min_in_service": 0, "max_batch_size": spec.batch or _MOST, "pause_time": 0,
        },
    }  # fmt: skip


def _policy(spec: ResourceSpec) -> dict[str, Json]:
    if spec.type_alias != RESOURCE_GROUP or not spec.batch:
        return {}
    batch = {"max_batch_size": spec.batch, "pause_time": 0}
    return {"batch_create": batch, "rolling_update": {**batch, "min_in_service": 0}}
