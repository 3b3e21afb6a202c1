"""Wait conditions: ready when their handle has been signalled often enough.

Decides by the handle's signals and by time alone.  Nothing waits for it: a signal has
it looked at, and so does the end of its time.
Source: heat-facts ``resource_groups.md``, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.builtin.local import LocalType, remaining_s
from heat_convergence.resources.builtin.signals.responder import URL
from heat_convergence.resources.builtin.signals.stored import SIGNALS, Signals, Tally
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


class WaitCondition(LocalType):
    name = "OS::Heat::WaitCondition"
    sees_others = True
    handle_name: ClassVar[str] = "handle"
    timeout_name: ClassVar[str] = "timeout"
    count_name: ClassVar[str] = "count"
    data_name: ClassVar[str] = "data"
    schema = TypeSchema(
        description="Ready when its handle has been signalled as often as it says.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            "handle": PropertySchema(
                type=PropertyType.STRING,
                description="The reference id of the handle whose signals count.",
                required=True,
            ),
            "timeout": PropertySchema(
                type=PropertyType.NUMBER,
                description="How many seconds to wait before that counts as a failure.",
                required=True,
                constraints=(Range(min=1, max=_LONGEST_S),),
            ),
            "count": PropertySchema(
                type=PropertyType.INTEGER,
                description="How many signals of success it takes.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=1),),
            ),
        },
        attributes={
            "data": AttributeSchema(
                PropertyType.STRING,
                "What the signals brought along, by their ids, as JSON.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def look(self, view: View, properties: Mapping[str, Json], *, physical_id: str | None) -> Look:
        if view.action not in _WAITING:
            return Look(Observed.READY, physical_id=physical_id)
        signals = self._signals(view, properties[self.handle_name])
        if signals is None:
            reason = f"{self.handle_name} is no wait condition handle of this stack"
            return Look(Observed.FAILED, physical_id, reason=reason)
        tally, count = Tally.of(signals), int(properties[self.count_name])
        if tally.failures:
            return Look(
                Observed.FAILED,
                physical_id,
                reason=";".join(tally.failures),
                error="WaitConditionFailure",
            )
        if len(tally.successes) >= count:
            told = {self.data_name: json.dumps(tally.data, ensure_ascii=False)}
            return Look(Observed.READY, physical_id, attributes=told)
        left_s = remaining_s(view, float(properties[self.timeout_name]))
        if left_s <= 0:
            return Look(
                Observed.FAILED,
                physical_id,
                reason=tally.progress(count),
                error="WaitConditionTimeout",
            )
        return Look(Observed.BUSY, physical_id, again_s=left_s)

    @staticmethod
    def _signals(view: View, handle: str) -> Signals | None:
        for other in view.others.values():
            if SIGNALS in other.data and handle in (other.physical_id, other.data.get(URL)):
                signals: Signals = other.data[SIGNALS]
                return signals
        return None


class CfnWaitCondition(WaitCondition):
    name = "AWS::CloudFormation::WaitCondition"
    handle_name = "Handle"
    timeout_name = "Timeout"
    count_name = "Count"
    data_name = "Data"
    schema = TypeSchema(
        description="Ready when its handle has been signalled as often as it says.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "Handle": PropertySchema(
                type=PropertyType.STRING,
                description="The URL of the handle whose signals count.",
                required=True,
            ),
            "Timeout": PropertySchema(
                type=PropertyType.INTEGER,
                description="How many seconds to wait before that counts as a failure.",
                required=True,
                constraints=(Range(min=1, max=_LONGEST_S),),
            ),
            "Count": PropertySchema(
                type=PropertyType.INTEGER,
                description="How many signals of success it takes.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=1),),
            ),
        },
        attributes={
            "Data": AttributeSchema(
                PropertyType.STRING,
                "What the signals brought along, by their ids, as JSON.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )
