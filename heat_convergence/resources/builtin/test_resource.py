"""``OS::Heat::TestResource``: waits, fails or is replaced according to its properties.

Decides the progress of an action from properties and time alone. Loaded by entry point; used by
tests, demonstrations and benchmarks. It must not sleep.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, busy_result, remaining_s
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import (
    NOT_CREATED,
    ResourceContext,
    VerbResult,
)
from heat_convergence.template.parameters.constraints import CustomConstraint

Json = Any

# In the data of a resource whose creation has failed: Heat gives such a one no id.
_NEVER_CREATED = "never_created"
_MAKING = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT, Action.ROLLBACK})


def _wait(activity: str) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.NUMBER,
        description=f"Seconds that {activity} takes; overrides wait_secs.",
        update_allowed=True,
    )


class TestResource(LocalType):
    """A resource whose behaviour its properties describe."""

    __test__ = False  # not a test case, in spite of its name

    name = "OS::Heat::TestResource"
    schema = TypeSchema(
        description="A resource which behaves as its properties specify, for tests.",
        support_status=SupportStatus(version="5.0.0"),
        properties={
            "constraint_prop_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="A number that the custom constraint test_constr checks.",
                default=0,
                update_allowed=True,
                constraints=(CustomConstraint("test_constr"),),
                support_status=SupportStatus(version="6.0.0"),
            ),
            "attr_wait_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds until the attributes are available after the resource is.",
                default=0,
                update_allowed=True,
                support_status=SupportStatus(version="6.0.0"),
            ),
            "value": PropertySchema(
                type=PropertyType.STRING,
                description="Value of the attribute output.",
                default="test_string",
                update_allowed=True,
            ),
            "update_replace_value": PropertySchema(
                type=PropertyType.STRING,
                description="A text whose change always requires replacement.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            "fail": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Fail when the resource is created or updated.",
                default=False,
                update_allowed=True,
            ),
            "update_replace": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Require replacement when value changes.",
                default=False,
                update_allowed=True,
            ),
            "wait_secs": PropertySchema(
                type=PropertyType.NUMBER,
                description="Seconds that an action takes; a negative value never ends.",
                default=0,
                update_allowed=True,
            ),
            "action_wait_secs": PropertySchema(
                type=PropertyType.MAP,
                description="Seconds that single actions take.",
                update_allowed=True,
                schema={
                    "create": _wait("creating"),
                    "update": _wait("updating"),
                    "delete": _wait("deleting"),
                },
            ),
            "client_name": PropertySchema(
                type=PropertyType.STRING,
                description="A service that manages entity_name; accepted but not used.",
                default="",
                update_allowed=True,
            ),
            "entity_name": PropertySchema(
                type=PropertyType.STRING,
                description="A collection of the service client_name; accepted but not used.",
                default="",
                update_allowed=True,
            ),
        },
        attributes={
            "output": AttributeSchema(
                description="The value at the last create or update.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete after the wait."""
        left_s = remaining_s(context, _wait_s(context.properties, Action.DELETE))
        return (
            busy_result(left_s, physical_id=context.physical_id)
            if left_s
            else VerbResult(ObservedState.ABSENT)
        )

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return BUSY while the current action waits."""
        if context.action is Action.DELETE:
            return self.delete(context)
        return super().observe(context)

    def check(self, context: ResourceContext) -> VerbResult:
        """Observe the resource; one whose creation has failed is not there."""
        if context.data.get(_NEVER_CREATED):
            return NOT_CREATED
        return self.observe(context)

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Return whether ``update_replace`` requires a replacement of this change."""
        # By value, because ``changed`` contains names whose earlier values are not known.
        return bool(after.get("update_replace")) and any(
            before.get(name) != after.get(name) for name in ("value", "update_replace")
        )

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """Return BUSY during the wait, then FAILED if ``fail`` is set; an update fails at once."""
        if context.action in _MAKING:
            fails = bool(properties.get("fail"))
            left_s = remaining_s(context, _wait_s(properties, context.action))
            if left_s and not (fails and context.action is Action.UPDATE):
                return busy_result(left_s, physical_id=physical_id)
            if fails:
                data = None if context.action is Action.UPDATE else {_NEVER_CREATED: True}
                return VerbResult(
                    ObservedState.FAILED,
                    physical_id=physical_id,
                    data=data,
                    reason=f"Test Resource failed {context.name}",
                    error_name="ValueError",
                )
        return super().to_result(context, properties, physical_id=physical_id)

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the attribute ``output``."""
        return {"output": properties.get("value")}


def _wait_s(properties: Mapping[str, Json], action: Action) -> float:
    """Return ``action_wait_secs`` of the action, or ``wait_secs``."""
    own = (properties.get("action_wait_secs") or {}).get(action.lower())
    wait = properties.get("wait_secs", 0) if own is None else own
    if wait >= 0 and action is not Action.DELETE:
        wait += max(0, properties.get("attr_wait_secs", 0))
    return float(wait)
