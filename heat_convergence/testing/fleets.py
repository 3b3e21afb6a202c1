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

from heat_convergence.convergence.wanted import Wanted
from heat_convergence.resources.builtin.nested.auto_scaling_group import AutoScalingGroup
from heat_convergence.resources.builtin.nested.resource_chain import ResourceChain
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.resources.nesting.wanting import DIGEST, READS
from heat_convergence.template.definition import Definition
from heat_convergence.template.expression import Expression
from heat_convergence.testing import goals
from heat_convergence.testing.goals import CHAIN, FLEET, GROUP, LEVER, TYPES, Spec

Json = Any
REAL = (ResourceGroup, ResourceChain, AutoScalingGroup, ScalingPolicy)
_NAMES = {
    GROUP: ResourceGroup.name,
    CHAIN: ResourceChain.name,
    FLEET: AutoScalingGroup.name,
    LEVER: ScalingPolicy.name,
}
_MOST = 6  # members of a fleet
KINDS = frozenset(_NAMES)


def wanted(spec: Spec) -> Wanted:
    """As a traversal of a root takes it."""
    definition = Definition(
        name=spec.name,
        type=_NAMES[spec.kind],
        properties=_properties(spec, Expression("get_resource", "standard", spec.of)),
        update_policy=_policy(spec),
        deletion_policy=goals.policy(spec),
        requires=frozenset({*spec.after, *([spec.of] if spec.of else [])}),
        draws_on=frozenset([spec.of] if spec.of else []),
    )
    behind = None
    if spec.kind != LEVER:
        made_of = json.dumps([_properties(spec, None), _policy(spec)], sort_keys=True)
        behind = {DIGEST: hashlib.sha256(made_of.encode()).hexdigest(), READS: []}
    return Wanted.of(definition, definition.type, behind)


def resource(spec: Spec) -> dict[str, Json]:
    """As a template says it."""
    more: dict[str, Json] = {"depends_on": list(spec.after)} if spec.after else {}
    if spec.retain:
        more["deletion_policy"] = "retain"
    if policy := _policy(spec):
        more["update_policy"] = policy
    properties = _properties(spec, {"get_resource": spec.of})
    return {"type": _NAMES[spec.kind], "properties": properties, **more}


def _properties(spec: Spec, group: Json) -> dict[str, Json]:
    if spec.kind == LEVER:
        return {
            "auto_scaling_group_id": group,
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": spec.by,
        }
    given = {"grip": spec.grip, "flavor": spec.flavor}
    member = {"type": TYPES["Thing"], "properties": given}
    if spec.kind == CHAIN:
        return {"resources": [TYPES["Thing"]] * spec.size, "resource_properties": given}
    if spec.kind == GROUP:
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


def _policy(spec: Spec) -> dict[str, Json]:
    if spec.kind != GROUP or not spec.batch:
        return {}
    batch = {"max_batch_size": spec.batch, "pause_time": 0}
    return {"batch_create": batch, "rolling_update": {**batch, "min_in_service": 0}}
