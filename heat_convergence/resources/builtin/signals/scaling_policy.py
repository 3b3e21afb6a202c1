"""``OS::Heat::ScalingPolicy``: changes the size of a group when it is signalled.

Decides the requested adjustment; ``stacks.group_scaling`` applies it, or ignores it during a
cooldown.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from abc import abstractmethod
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
from heat_convergence.resources.protocol.verb_values import ResourceContext, SignalResult
from heat_convergence.template.parameters.constraints import AllowedValues, Range

Json = Any
_GROUP, _STEP, _TYPE = "auto_scaling_group_id", "min_adjustment_step", "adjustment_type"


class SignalledScaling(SignalResponder):
    """The base of policies that adjust a scaling group."""

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return True: a policy is signalled at a signed URL."""
        return True

    @abstractmethod
    def requested_adjustment(self, properties: Mapping[str, Json]) -> ScalingAdjustment:
        """Return the adjustment that the properties declare."""

    def signal(self, context: ResourceContext, details: Json) -> SignalResult:
        """Return the adjustment; the signal's body is ignored.

        Raises:
            ResourceNotAvailable: The policy has not been created, or not observed after its
                adoption.
        """
        require_created(context)
        if not context.properties:  # adopted, and not observed yet
            raise ResourceNotAvailable(context.name)
        adjustment = self.requested_adjustment(context.properties)
        return SignalResult(scaling_adjustment=adjustment)


class ScalingPolicy(SignalledScaling):
    """A policy that adjusts a scaling group."""

    name = "OS::Heat::ScalingPolicy"
    schema = TypeSchema(
        description="A resource to manage scaling of a group, which a signal triggers.",
        properties={
            _GROUP: PropertySchema(
                type=PropertyType.STRING,
                description="Reference id of the group, which is in the same stack.",
                required=True,
            ),
            "scaling_adjustment": PropertySchema(
                type=PropertyType.NUMBER,
                description="Size of the adjustment.",
                required=True,
                update_allowed=True,
            ),
            _TYPE: PropertySchema(
                type=PropertyType.STRING,
                description="Type of adjustment: a change of capacity, an exact capacity or a"
                " percentage change of capacity.",
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
                description="Cooldown period in seconds after this scaling; the group's own if"
                " not specified.",
                update_allowed=True,
            ),
            _STEP: PropertySchema(
                type=PropertyType.INTEGER,
                description="Minimum number of members that a percentage change adds or removes.",
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
        },
        attributes={
            "alarm_url": AttributeSchema(
                PropertyType.STRING,
                "A signed URL to signal the policy, without further credentials.",
                cache_mode=CacheMode.NONE,
            ),
            "signal_url": AttributeSchema(
                PropertyType.STRING,
                "A URL to signal the policy with a token.",
                support_status=SupportStatus(version="5.0.0"),
            ),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a minimum step for an adjustment that is no percentage.

        Raises:
            ResourcePropertyValueDependency: There is one.
        """
        adjustment_type = properties.get(_TYPE)
        applicable = adjustment_type in (None, AdjustmentType.PERCENT)
        if properties.get(_STEP) is not None and not applicable:
            raise ResourcePropertyValueDependency(
                f"{_STEP} goes with the {_TYPE} {AdjustmentType.PERCENT},"
                f" not with {adjustment_type}."
            )

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return the attributes with the policy's URLs."""
        urls = {
            "alarm_url": signed_signal_url(context, signal_user, "signal", "POST"),
            "signal_url": native_signal_url(context, context.project_id),
        }
        return urls, {}

    def scaled_group_id(self, properties: Mapping[str, Json]) -> str | None:
        """Return the reference id of the group."""
        found = properties.get(_GROUP)
        return None if found is None else str(found)

    def requested_adjustment(self, properties: Mapping[str, Json]) -> ScalingAdjustment:
        """Return the adjustment that the properties declare."""
        return ScalingAdjustment(
            adjustment_type=AdjustmentType(properties[_TYPE]),
            amount=float(properties["scaling_adjustment"]),
            min_adjustment_step=properties.get(_STEP),
            cooldown_s=properties.get("cooldown"),
        )
