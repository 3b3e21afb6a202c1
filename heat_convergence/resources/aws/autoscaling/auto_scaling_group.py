"""``AWS::AutoScaling::AutoScalingGroup``: instances whose number policies change.

Decides sizes, the subnet and the tags of the members. ``stacks.group_scaling`` applies policies.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import NotSupported, StackValidationFailed
from heat_convergence.resources.aws.autoscaling.instance_group import InstanceGroupType
from heat_convergence.resources.aws.autoscaling.launch_configuration import INSTANCE_ID
from heat_convergence.resources.aws.tags import tag
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.nested.scaling_group import CooldownGroupType
from heat_convergence.resources.nested.nested_type import NestedStackRequest, NestedTypeSchema
from heat_convergence.resources.protocol.scaling_adjustment import ScalingBounds

Json = Any
_MIN, _MAX, _DESIRED, _ZONES = "MinSize", "MaxSize", "DesiredCapacity", "VPCZoneIdentifier"


class AwsAutoScalingGroup(InstanceGroupType, CooldownGroupType):
    """A group of instances with a minimum and a maximum size."""

    name = "AWS::AutoScaling::AutoScalingGroup"
    policy_section = "AutoScalingRollingUpdate"
    schema = load_aws_schema("autoscaling", name, NestedTypeSchema)

    def own_properties(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the tags, and the subnet of the group."""
        zones = request.properties.get(_ZONES) or ()
        subnet = {"SubnetId": zones[0]} if zones else {}
        return {**super().own_properties(request), **subnet}

    def member_tags(self, request: NestedStackRequest) -> list[Json]:
        """Return the tags, with one that names the group for its alarms."""
        own = tag("metering.AutoScalingGroupName", request.nested_stack_id)
        return [*super().member_tags(request), own]

    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        """Return the bounds that the properties set."""
        return ScalingBounds(
            int(properties[_MIN]), int(properties[_MAX]), float(properties.get("Cooldown") or 0)
        )

    def desired_size(self, request: NestedStackRequest) -> int | None:
        """Return the desired capacity."""
        found: int | None = request.properties.get(_DESIRED)
        return found

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of members, 1 while it is not known."""
        found = request.properties.get(_DESIRED) or request.properties.get(_MIN)
        return found if isinstance(found, int) else 1

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require a launch configuration.

        Raises:
            NotSupported: The members are to be made from a server.
            StackValidationFailed: There is no launch configuration.
        """
        if INSTANCE_ID in names:
            raise NotSupported(
                f"{INSTANCE_ID} of {self.name} is not supported: name it in an"
                " AWS::AutoScaling::LaunchConfiguration."
            )
        if "LaunchConfigurationName" not in names:
            raise StackValidationFailed("LaunchConfigurationName must be provided.")

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the sizes and the subnet.

        Raises:
            StackValidationFailed: They contradict each other, or there are several subnets.
        """
        super().validate(properties, timeout_s)
        least, most = properties.get(_MIN), properties.get(_MAX)
        if least is not None and least < 0:
            raise StackValidationFailed("The size of AutoScalingGroup can not be less than zero")
        if least is not None and most is not None and least > most:
            raise StackValidationFailed("MinSize can not be greater than MaxSize")
        desired = properties.get(_DESIRED)
        low = desired is not None and least is not None and desired < least
        if low or (desired is not None and most is not None and desired > most):
            raise StackValidationFailed("DesiredCapacity must be between MinSize and MaxSize")
        if len(properties.get(_ZONES) or ()) > 1:
            raise StackValidationFailed("Only one VPCZoneIdentifier can be given", path=_ZONES)
