"""Wait conditions: ready when their handle has been signalled often enough.

Decides by the handle's signals and by time alone.  Nothing waits for it: a signal has
it looked at, and so does the end of its time.
Source: heat-facts ``resource_groups.md``, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, remaining_s
from heat_convergence.resources.builtin.signals.signal_log import SIGNALS, SignalCounts
from heat_convergence.resources.builtin.signals.signal_responder import SIGNED_URL
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import Range

Json = Any
_LONGEST_S = 43_200
_WAITING = frozenset({Action.CREATE, Action.UPDATE, Action.ROLLBACK})


def _schema(
    version: str, *, handle: str, seconds: PropertyType, named: Callable[[str], str] = str
) -> TypeSchema:
    """``named`` spells names as the type's template language does; ``seconds`` is of what
    type a time is there; ``handle`` describes what names the handle."""
    return TypeSchema(
        description="Ready when its handle has been signalled as often as it says.",
        support_status=SupportStatus(version=version),
        properties={
            named("handle"): PropertySchema(
                type=PropertyType.STRING, description=handle, required=True
            ),
            named("timeout"): PropertySchema(
                type=seconds,
                description="How many seconds to wait before that counts as a failure.",
                required=True,
                constraints=(Range(min=1, max=_LONGEST_S),),
            ),
            named("count"): PropertySchema(
                type=PropertyType.INTEGER,
                description="How many signals of success it takes.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=1),),
            ),
        },
        attributes={
            named("data"): AttributeSchema(
                PropertyType.STRING,
                "What the signals brought along, by their ids, as JSON.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )


class WaitCondition(LocalType):
    name = "OS::Heat::WaitCondition"
    observes_dependencies = True
    spell_name: ClassVar[Callable[[str], str]] = str
    schema = _schema(
        "2014.2",
        handle="The reference id of the handle whose signals count.",
        seconds=PropertyType.NUMBER,
    )

    def find(self, context: ResourceContext) -> str | None:
        return context.physical_name  # so that a create that was never recorded is deleted, too

    def delete(self, context: ResourceContext) -> VerbResult:
        handle = self._handle(context, context.properties.get(self.spell_name("handle")))
        resets = {} if handle is None else {handle.resource_id: {SIGNALS: {}}}
        return VerbResult(ObservedState.ABSENT, data_resets=resets)

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        if context.action not in _WAITING:
            return VerbResult(ObservedState.READY, physical_id=physical_id)
        handle = self._handle(context, properties[self.spell_name("handle")])
        if handle is None:
            reason = f"{self.spell_name('handle')} is no wait condition handle of this stack"
            return VerbResult(ObservedState.FAILED, physical_id, reason=reason)
        tally, count = (
            SignalCounts.from_signals(handle.data[SIGNALS]),
            int(properties[self.spell_name("count")]),
        )
        if tally.failures:
            return VerbResult(
                ObservedState.FAILED,
                physical_id,
                reason=";".join(tally.failures),
                error_name="WaitConditionFailure",
            )
        if len(tally.successes) >= count:
            told = {self.spell_name("data"): json.dumps(tally.data, ensure_ascii=False)}
            return VerbResult(ObservedState.READY, physical_id, attributes=told)
        left_s = remaining_s(context, float(properties[self.spell_name("timeout")]))
        if left_s <= 0:
            return VerbResult(
                ObservedState.FAILED,
                physical_id,
                reason=tally.describe_progress(count),
                error_name="WaitConditionTimeout",
            )
        return VerbResult(ObservedState.BUSY, physical_id, poll_after_s=left_s)

    @staticmethod
    def _handle(context: ResourceContext, reference: Json) -> ResourceContext | None:
        for other in context.dependencies.values():
            if SIGNALS in other.data and reference in (
                other.physical_id,
                other.data.get(SIGNED_URL),
            ):
                return other
        return None


class CfnWaitCondition(WaitCondition):
    name = "AWS::CloudFormation::WaitCondition"
    spell_name = staticmethod(str.capitalize)
    schema = _schema(
        "2014.1",
        handle="The URL of the handle whose signals count.",
        seconds=PropertyType.INTEGER,
        named=str.capitalize,
    )
