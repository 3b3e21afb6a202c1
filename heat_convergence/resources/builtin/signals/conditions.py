"""Wait conditions: ready when their handle has been signalled often enough.

Decides by the handle's signals and by time alone.  Nothing waits for it: a signal has
it looked at, and so does the end of its time.
Source: heat-facts ``resource_groups.md``, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.builtin.local import LocalType, remaining_s
from heat_convergence.resources.builtin.signals.responder import URL
from heat_convergence.resources.builtin.signals.stored import SIGNALS, Tally
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.constraints import Range

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
    sees_others = True
    named: ClassVar[Callable[[str], str]] = str
    schema = _schema(
        "2014.2",
        handle="The reference id of the handle whose signals count.",
        seconds=PropertyType.NUMBER,
    )

    def find(self, view: View) -> str | None:
        return view.physical_name  # so that a create that was never recorded is deleted, too

    def delete(self, view: View) -> Look:
        handle = self._handle(view, view.properties.get(self.named("handle")))
        resets = {} if handle is None else {handle.resource_id: {SIGNALS: {}}}
        return Look(Observed.ABSENT, resets=resets)

    def look(self, view: View, properties: Mapping[str, Json], *, physical_id: str | None) -> Look:
        if view.action not in _WAITING:
            return Look(Observed.READY, physical_id=physical_id)
        handle = self._handle(view, properties[self.named("handle")])
        if handle is None:
            reason = f"{self.named('handle')} is no wait condition handle of this stack"
            return Look(Observed.FAILED, physical_id, reason=reason)
        tally, count = Tally.of(handle.data[SIGNALS]), int(properties[self.named("count")])
        if tally.failures:
            return Look(
                Observed.FAILED,
                physical_id,
                reason=";".join(tally.failures),
                error="WaitConditionFailure",
            )
        if len(tally.successes) >= count:
            told = {self.named("data"): json.dumps(tally.data, ensure_ascii=False)}
            return Look(Observed.READY, physical_id, attributes=told)
        left_s = remaining_s(view, float(properties[self.named("timeout")]))
        if left_s <= 0:
            return Look(
                Observed.FAILED,
                physical_id,
                reason=tally.progress(count),
                error="WaitConditionTimeout",
            )
        return Look(Observed.BUSY, physical_id, again_s=left_s)

    @staticmethod
    def _handle(view: View, reference: Json) -> View | None:
        for other in view.others.values():
            if SIGNALS in other.data and reference in (other.physical_id, other.data.get(URL)):
                return other
        return None


class CfnWaitCondition(WaitCondition):
    name = "AWS::CloudFormation::WaitCondition"
    named = staticmethod(str.capitalize)
    schema = _schema(
        "2014.1",
        handle="The URL of the handle whose signals count.",
        seconds=PropertyType.INTEGER,
        named=str.capitalize,
    )
