"""``AWS::AutoScaling::ScalingPolicy``: changes the size of a group when it is signalled.

Decides the requested adjustment, as ``OS::Heat::ScalingPolicy`` does with other names.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourcePropertyValueDependency
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.signals.scaling_policy import SignalledScaling
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalUser,
    signed_signal_url,
)
from heat_convergence.resources.protocol.scaling_adjustment import (
    AdjustmentType,
    ScalingAdjustment,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
_ALARM_URL, _TYPE, _STEP = "AlarmUrl", "AdjustmentType", "MinAdjustmentStep"
_TYPES = {
    "ChangeInCapacity": AdjustmentType.CHANGE,
    "ExactCapacity": AdjustmentType.EXACT,
    "PercentChangeInCapacity": AdjustmentType.PERCENT,
}


class AwsScalingPolicy(SignalledScaling):
    """A policy that adjusts a group of instances."""

    name = "AWS::AutoScaling::ScalingPolicy"
    schema = load_aws_schema("autoscaling", name)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a minimum step for an adjustment that is no percentage.

        Raises:
            ResourcePropertyValueDependency: There is one.
        """
        applicable = _TYPES.get(properties.get(_TYPE, "")) in (None, AdjustmentType.PERCENT)
        if properties.get(_STEP) is not None and not applicable:
            raise ResourcePropertyValueDependency(
                f"{_STEP} property should only be specified for {_TYPE} with value"
                " PercentChangeInCapacity."
            )

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return the attributes with the policy's URL."""
        return {_ALARM_URL: signed_signal_url(context, signal_user, "signal", "POST")}, {}

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the signed URL, or the physical id where nobody can sign."""
        return context.attributes.get(_ALARM_URL) or super().reference_id(context)

    def scaled_group_id(self, properties: Mapping[str, Json]) -> str | None:
        """Return the reference ID of the group."""
        found = properties.get("AutoScalingGroupName")
        return None if found is None else str(found)

    def requested_adjustment(self, properties: Mapping[str, Json]) -> ScalingAdjustment:
        """Return the adjustment that the properties declare."""
        return ScalingAdjustment(
            adjustment_type=_TYPES[properties[_TYPE]],
            amount=float(properties["ScalingAdjustment"]),
            min_adjustment_step=properties.get(_STEP),
            cooldown_s=properties.get("Cooldown"),
        )
