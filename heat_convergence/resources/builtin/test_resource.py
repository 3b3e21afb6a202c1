"""``OS::Heat::TestResource``: waits, fails or is replaced as its properties say.

Decides from properties and time alone how far an action has come.  Found by entry
point; used by tests, demos and benchmarks.  Must not sleep.

Source: heat-facts ``resource_groups.md``, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, busy_result, remaining_s
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import CustomConstraint

Json = Any

_MAKING = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT, Action.ROLLBACK})


def _wait(of: str) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.NUMBER,
        description=f"How long {of} takes, in seconds, whatever wait_secs says.",
        update_allowed=True,
    )


class TestResource(LocalType):
    __test__ = False  # not a test case, in spite of its name

    name = "OS::Heat::TestResource"
    schema = TypeSchema(
        description="Does what its properties say, so that everything around it can be tried.",
        support_status=SupportStatus(version="5.0.0"),
        properties={
            "constraint_prop_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="A number that the constraint test_constr looks at.",
                default=0,
                update_allowed=True,
                constraints=(CustomConstraint("test_constr"),),
                support_status=SupportStatus(version="6.0.0"),
            ),
            "attr_wait_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="How many seconds later than the resource its attributes are known.",
                default=0,
                update_allowed=True,
                support_status=SupportStatus(version="6.0.0"),
            ),
            "value": PropertySchema(
                type=PropertyType.STRING,
                description="What the attribute output shows.",
                default="test_string",
                update_allowed=True,
            ),
            "update_replace_value": PropertySchema(
                type=PropertyType.STRING,
                description="A text whose change always asks for a replacement.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            "fail": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Whether creating and updating end in failure.",
                default=False,
                update_allowed=True,
            ),
            "update_replace": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Whether a new value asks for a replacement.",
                default=False,
                update_allowed=True,
            ),
            "wait_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="How many seconds an action takes; less than 0: for ever.",
                default=0,
                update_allowed=True,
            ),
            "action_wait_secs": PropertySchema(
                type=PropertyType.MAP,
                description="How many seconds single actions take.",
                update_allowed=True,
                schema={
                    "create": _wait("creating"),
                    "update": _wait("updating"),
                    "delete": _wait("deleting"),
                },
            ),
            "client_name": PropertySchema(
                type=PropertyType.STRING,
                description="A service to ask about entity_name; kept, not used.",
                default="",
                update_allowed=True,
            ),
            "entity_name": PropertySchema(
                type=PropertyType.STRING,
                description="A collection of the service client_name; kept, not used.",
                default="",
                update_allowed=True,
            ),
        },
        attributes={
            "output": AttributeSchema(
                description="The value given at the last create or update.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def delete(self, context: ResourceContext) -> VerbResult:
        left_s = remaining_s(context, _wait_s(context.properties, Action.DELETE))
        return (
            busy_result(left_s, physical_id=context.physical_id)
            if left_s
            else VerbResult(ObservedState.ABSENT)
        )

    def observe(self, context: ResourceContext) -> VerbResult:
        if context.action is Action.DELETE:
            return self.delete(context)
        return super().observe(context)

    def check(self, context: ResourceContext) -> VerbResult:
        return self.observe(context)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        # By value: names may stand in ``changed`` for want of knowing what they were.
        return bool(after.get("update_replace")) and any(
            before.get(name) != after.get(name) for name in ("value", "update_replace")
        )

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        if context.action in _MAKING:
            left_s = remaining_s(context, _wait_s(properties, context.action))
            if left_s:
                return busy_result(left_s, physical_id=physical_id)
            if properties.get("fail"):
                return VerbResult(
                    ObservedState.FAILED,
                    physical_id=physical_id,
                    reason=f"Test Resource failed {context.name}",
                )
        return super().to_result(context, properties, physical_id=physical_id)

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"output": properties.get("value")}


def _wait_s(properties: Mapping[str, Json], action: Action) -> float:
    """``action_wait_secs`` where it names the action, else ``wait_secs``."""
    own = (properties.get("action_wait_secs") or {}).get(action.lower())
    wait = properties.get("wait_secs", 0) if own is None else own
    if wait >= 0 and action is not Action.DELETE:
        wait += max(0, properties.get("attr_wait_secs", 0))
    return float(wait)
