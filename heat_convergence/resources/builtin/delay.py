"""``OS::Heat::Delay``: waits during the actions that it lists.

Decides when enough time has passed. Loaded by entry point. It must not sleep; the jitter is the
context's randomness, the same at every observation of one action.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, busy_result, remaining_s
from heat_convergence.resources.protocol.schema import (
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.parameters.constraints import AllowedValues, Range

Json = Any

_WAITS = (Action.CREATE, Action.DELETE, Action.SUSPEND, Action.RESUME)


def _number(description: str, default: float) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.NUMBER,
        description=description,
        default=default,
        update_allowed=True,
        constraints=(Range(min=0),),
    )


class Delay(LocalType):
    """A resource that takes time, so that its dependents start later."""

    name = "OS::Heat::Delay"
    schema = TypeSchema(
        description="A resource that waits, so that the resources that depend on it start later.",
        support_status=SupportStatus(version="11.0.0"),
        properties={
            "min_wait": _number("Minimum time in seconds to wait.", 0),
            "max_jitter": _number("Maximum jitter to add to the minimum wait time.", 0),
            "jitter_multiplier": _number("Number of seconds of one unit of jitter.", 1.0),
            "actions": PropertySchema(
                type=PropertyType.LIST,
                description="Actions during which to wait.",
                default=["CREATE"],
                update_allowed=True,
                constraints=(AllowedValues(tuple(str(action) for action in _WAITS)),),
            ),
        },
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Wait if CREATE is listed, then be ready."""
        return self._wait_result(context, ObservedState.READY, physical_id=context.physical_name)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Wait if DELETE is listed, then be absent."""
        return self._wait_result(context, ObservedState.ABSENT, physical_id=context.physical_id)

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Wait if SUSPEND is listed."""
        return self._wait_result(context, ObservedState.READY, physical_id=context.physical_id)

    def resume(self, context: ResourceContext) -> VerbResult:
        """Wait if RESUME is listed."""
        return self._wait_result(context, ObservedState.READY, physical_id=context.physical_id)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return BUSY while the current action waits."""
        if context.action is Action.DELETE:
            return self.delete(context)
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return self._wait_result(context, ObservedState.READY, physical_id=context.physical_id)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a wait that may exceed the stack's timeout."""
        names = ("min_wait", "max_jitter", "jitter_multiplier")
        if timeout_s is None or any(name not in properties for name in names):
            return
        longest_s = properties["min_wait"] + (
            properties["max_jitter"] * properties["jitter_multiplier"]
        )
        if longest_s > timeout_s:
            raise StackValidationFailed(
                f"a wait of up to {longest_s:g} s does not fit"
                f" into the stack's timeout of {timeout_s:g} s",
            )

    def _wait_result(
        self, context: ResourceContext, then: ObservedState, *, physical_id: str | None
    ) -> VerbResult:
        left_s = remaining_s(context, _wait_s(context))
        if left_s and context.action in context.properties.get("actions", ()):
            return busy_result(left_s, physical_id=physical_id)
        return VerbResult(then, physical_id=physical_id)


def _wait_s(context: ResourceContext) -> float:
    properties = context.properties
    jitter = properties.get("max_jitter", 0) * properties.get("jitter_multiplier", 1)
    return float(properties.get("min_wait", 0)) + context.random.random() * float(jitter)
