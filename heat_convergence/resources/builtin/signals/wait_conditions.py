"""Wait conditions, which are ready when their handle has received enough signals.

Decides by the handle's signals and by time alone. It must not wait: a signal, or the end of its
timeout, triggers an observation.

Source: docs/reference/resource-groups.rst, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, remaining_s
from heat_convergence.resources.builtin.signals.signal_log import SIGNALS, SignalCounts
from heat_convergence.resources.builtin.signals.signal_responder import SIGNED_URL
from heat_convergence.resources.builtin.signals.wait_condition_handles import NO_SIGNAL
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.parameters.constraints import Range

Json = Any
_MAX_TIMEOUT_S = 43_200
_WAITING_ACTIONS = frozenset({Action.CREATE, Action.UPDATE, Action.ROLLBACK})


def _schema(
    version: str, *, handle: str, seconds: PropertyType, named: Callable[[str], str] = str
) -> TypeSchema:
    """Return the schema of a wait condition.

    Args:
        version: Heat's version that introduced the type.
        handle: The description of the property that refers to the handle.
        seconds: The property type of times.
        named: Spells a name as the type's template language does.
    """
    return TypeSchema(
        description="A resource that is ready when its handle has received enough signals.",
        support_status=SupportStatus(version=version),
        properties={
            named("handle"): PropertySchema(
                type=PropertyType.STRING, description=handle, required=True
            ),
            named("timeout"): PropertySchema(
                type=seconds,
                description="Seconds to wait for the signals before the condition fails.",
                required=True,
                constraints=(Range(min=1, max=_MAX_TIMEOUT_S),),
            ),
            named("count"): PropertySchema(
                type=PropertyType.INTEGER,
                description="Number of success signals to wait for.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=1),),
            ),
        },
        attributes={
            named("data"): AttributeSchema(
                PropertyType.STRING,
                "JSON document with the data of the signals by their ids.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )


class WaitCondition(LocalType):
    """A resource that waits for signals of a handle in the same stack."""

    name = "OS::Heat::WaitCondition"
    observes_dependencies = True

    schema = _schema(
        "2014.2",
        handle="Reference id of the wait condition handle.",
        seconds=PropertyType.NUMBER,
    )

    @staticmethod
    def spell_name(name: str) -> str:
        """Spell a property name as the type's template language does."""
        return name

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name  # so that a create that was never recorded is deleted

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the condition, and the signals that its handle has."""
        handle = self._handle(context, context.properties.get(self.spell_name("handle")))
        resets: dict[str, Json] = {} if handle is None else {handle.resource_id: {SIGNALS: {}}}
        return VerbResult(ObservedState.ABSENT, data_resets=resets)

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """Return the state that the handle's signals and the timeout result in."""
        if context.action not in _WAITING_ACTIONS:
            return VerbResult(ObservedState.READY, physical_id=physical_id)
        handle = self._handle(context, properties[self.spell_name("handle")])
        if handle is None:
            reason = f"{self.spell_name('handle')} is no wait condition handle of this stack"
            return VerbResult(ObservedState.FAILED, physical_id, reason=reason)
        counts = SignalCounts.from_signals(handle.data[SIGNALS])
        count = int(properties[self.spell_name("count")])
        attributes = {self.spell_name("data"): json.dumps(counts.data, ensure_ascii=False)}
        if counts.failures:
            return VerbResult(
                ObservedState.FAILED,
                physical_id,
                attributes=attributes,
                reason=";".join(counts.failures),
                error_name="WaitConditionFailure",
            )
        if len(counts.successes) >= count or _has_no_signal(handle):
            return VerbResult(ObservedState.READY, physical_id, attributes=attributes)
        left_s = remaining_s(context, float(properties[self.spell_name("timeout")]))
        if left_s <= 0:
            return VerbResult(
                ObservedState.FAILED,
                physical_id,
                attributes=attributes,
                reason=counts.describe_progress(count),
                error_name="WaitConditionTimeout",
            )
        return VerbResult(ObservedState.BUSY, physical_id, attributes, poll_after_s=left_s)

    @staticmethod
    def _handle(context: ResourceContext, reference: Json) -> ResourceContext | None:
        for other in context.dependencies.values():
            if SIGNALS in other.data and reference in (
                other.physical_id,
                other.data.get(SIGNED_URL),
            ):
                return other
        return None


def _has_no_signal(handle: ResourceContext) -> bool:
    """Return whether nothing can signal the handle, so that nothing is waited for."""
    return handle.properties.get("signal_transport") == NO_SIGNAL


class CfnWaitCondition(WaitCondition):
    """A wait condition with CloudFormation's property names."""

    name = "AWS::CloudFormation::WaitCondition"

    schema = _schema(
        "2014.1",
        handle="URL of the wait condition handle.",
        seconds=PropertyType.INTEGER,
        named=str.capitalize,
    )

    @staticmethod
    def spell_name(name: str) -> str:
        """Spell a property name as CloudFormation does."""
        return name.capitalize()
