"""``OS::Heat::ScalingPolicy``: a signal to it changes the size of a group.

Says what is wanted of the group; ``nesting.scaling_notification`` does it, or passes it over.
Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    ResourceNotAvailable,
    ResourcePropertyValueDependency,
)
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    SignalUser,
    native_signal_url,
    require_created,
    signed_signal_url,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, SignalResult
from heat_convergence.resources.protocol.scaling_adjustment import (
    AdjustmentType,
    ScalingAdjustment,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import AllowedValues, Range

Json = Any
_GROUP, _STEP, _KIND = "auto_scaling_group_id", "min_adjustment_step", "adjustment_type"


class ScalingPolicy(SignalResponder):
    name = "OS::Heat::ScalingPolicy"
    schema = TypeSchema(
        description="Makes a scaling group larger or smaller when it is signalled.",
        properties={
            _GROUP: PropertySchema(
                type=PropertyType.STRING,
                description="The reference id of the group, which is in the same stack.",
                required=True,
            ),
            "scaling_adjustment": PropertySchema(
                type=PropertyType.NUMBER,
                description="By how much, or to how much, the group's size changes.",
                required=True,
                update_allowed=True,
            ),
            _KIND: PropertySchema(
                type=PropertyType.STRING,
                description="What the adjustment counts: members more, members in all, or"
                " percents more.",
                required=True,
                update_allowed=True,
                constraints=(
                    AllowedValues(
                        tuple(str(adjustment_type) for adjustment_type in AdjustmentType)
                    ),
                ),
            ),
            "cooldown": PropertySchema(
                type=PropertyType.NUMBER,
                description="How many seconds after this scaling the next may begin; the"
                " group's own if not given.",
                update_allowed=True,
            ),
            _STEP: PropertySchema(
                type=PropertyType.INTEGER,
                description="How many members a change of some percents is at least.",
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
        },
        attributes={
            "alarm_url": AttributeSchema(
                PropertyType.STRING,
                "A signed URL: who has it signals the policy.",
                cache_mode=CacheMode.NONE,
            ),
            "signal_url": AttributeSchema(
                PropertyType.STRING,
                "The URL at which the policy is signalled with a token.",
                support_status=SupportStatus(version="5.0.0"),
            ),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        adjustment_type = properties.get(_KIND)
        applicable = adjustment_type in (None, AdjustmentType.PERCENT)
        if properties.get(_STEP) is not None and not applicable:
            raise ResourcePropertyValueDependency(
                f"{_STEP} goes with the {_KIND} {AdjustmentType.PERCENT},"
                f" not with {adjustment_type}."
            )

    def needs_signed_url(self, context: ResourceContext) -> bool:
        return True

    def initial_state(
        self, context: ResourceContext, guest: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        urls = {
            "alarm_url": signed_signal_url(context, guest, "signal", "POST"),
            "signal_url": native_signal_url(context, guest),
        }
        return urls, {}

    def scaled_group_id(self, properties: Mapping[str, Json]) -> str | None:
        found = properties.get(_GROUP)
        return None if found is None else str(found)

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        require_created(context)
        given = context.properties
        if not given:  # adopted, and not looked at yet
            raise ResourceNotAvailable(context.name)
        return SignalResult(
            scaling_adjustment=ScalingAdjustment(
                adjustment_type=AdjustmentType(given[_KIND]),
                amount=float(given["scaling_adjustment"]),
                min_adjustment_step=given.get(_STEP),
                cooldown_s=given.get("cooldown"),
            )
        )
