"""``OS::Heat::InstanceGroup``, and the members of both groups of instances.

Decides the definition of the members from the launch configuration, and when a changed one is
rolled out. The definition is recorded with the group, because a signal that scales the group
reads no other resource.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.resources.aws.autoscaling.launch_configuration import (
    find_member_definition,
)
from heat_convergence.resources.aws.autoscaling.pause_time import parse_pause
from heat_convergence.resources.aws.tags import KEY, tag
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.nested.rolling_update import RollingUpdatePolicy
from heat_convergence.resources.builtin.nested.scaling_group import (
    ROLLING_SIZE,
    OrderedGroupType,
)
from heat_convergence.resources.nested.nested_type import (
    MEMBER_ATTRIBUTE_PREFIX,
    AttributePath,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
    normalize_attribute_path,
)

Json = Any
INSTANCE_LIST, LAUNCH_CONFIGURATION = "InstanceList", "LaunchConfigurationName"
MEMBER_TYPE = "OS::Heat::ScaledResource"
GROUP_TAG_PREFIX = "metering."
_ADDRESS: AttributePath = ("PublicIp",)
_LAUNCH = "launch_configuration"  # key of data: reference and definition of the last one


class InstanceGroupType(OrderedGroupType):
    """A group whose members are instances of a launch configuration."""

    observes_dependencies = True
    group_attributes = frozenset({INSTANCE_LIST})
    attributes_by_member = frozenset({INSTANCE_LIST})
    member_types: ClassVar[Mapping[str, str]] = {MEMBER_TYPE: "AWS::EC2::Instance"}
    policy_section: ClassVar[str]

    def member_definition(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the definition that the launch configuration and the group's tags make.

        Raises:
            ResourceFailure: There is no such launch configuration in the stack.
        """
        launch = self._launch(request)
        properties = {**launch["properties"], **self.own_properties(request)}
        definition = {"type": MEMBER_TYPE, "properties": properties}
        return {**definition, "metadata": launch["metadata"]} if launch["metadata"] else definition

    def own_properties(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the members' properties that the group decides."""
        return {"Tags": self.member_tags(request)}

    def member_tags(self, request: NestedStackRequest) -> list[Json]:
        """Return the tags, with one that names the group unless a tag is for metering."""
        tags = list(request.properties.get("Tags") or ())
        if any(str(each[KEY]).startswith(GROUP_TAG_PREFIX) for each in tags):
            return tags
        return [*tags, tag("metering.groupname", request.nested_stack_id)]

    def recorded_data(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the launch configuration, for signals and the next update."""
        return {_LAUNCH: {**self._launch(request), "name": self._launch_name(request)}}

    def _launch_name(self, request: NestedStackRequest) -> Json:
        return request.properties.get(LAUNCH_CONFIGURATION)

    def _launch(self, request: NestedStackRequest) -> dict[str, Json]:
        name = self._launch_name(request)
        for dependency in request.dependencies.values():
            if dependency.physical_id == name:
                found = find_member_definition(dependency)
                if found is not None:
                    return found
        recorded = request.data.get(_LAUNCH) or {}
        if recorded.get("name") == name and not request.dependencies:
            return {key: recorded[key] for key in ("properties", "metadata")}
        raise ResourceFailure(f"{LAUNCH_CONFIGURATION} ({name}) reference can not be found.")

    def rolling_policy(self, request: NestedStackRequest) -> RollingUpdatePolicy | None:
        """Return the policy if there is one and the launch configuration has changed."""
        section = request.update_policy.get(self.policy_section)
        if not section:
            return None
        recorded = request.data.get(_LAUNCH) or {}
        changed = recorded.get("name") != self._launch_name(request)
        if not changed and ROLLING_SIZE not in request.data:
            return None
        return RollingUpdatePolicy(
            batch_size=max(int(section.get("MaxBatchSize") or 1), 1),
            min_in_service=max(int(section.get("MinInstancesInService") or 0), 0),
            pause_s=parse_pause(str(section.get("PauseTime") or "PT0S")),
        )

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Check the pause; the members are known when the launch configuration is."""
        section = request.update_policy.get(self.policy_section) or {}
        pause = section.get("PauseTime")
        if isinstance(pause, str):
            parse_pause(pause)
        return None

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return None: the launch configuration is not read for previews."""
        return None

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Require a reference to a launch configuration, and no load balancers.

        Raises:
            StackValidationFailed: The launch configuration is named by a text, or a load
                balancer is to be changed with the group.
        """
        name = properties.get(LAUNCH_CONFIGURATION)
        if name is not None:  # a reference to a resource of the stack has no value yet
            raise StackValidationFailed(
                f"{LAUNCH_CONFIGURATION} ({name}) reference can not be found.",
                path=LAUNCH_CONFIGURATION,
            )
        if properties.get("LoadBalancerNames"):
            raise StackValidationFailed(
                "The members of load balancers are not changed with a group: use a pool member"
                " in the resource of an OS::Heat::AutoScalingGroup",
                path="LoadBalancerNames",
            )

    def _value(
        self, nested_stack: NestedStackView, names: Sequence[str], read: AttributePath
    ) -> Json:
        name, *_path = read
        if name == INSTANCE_LIST:
            found = (nested_stack.member_value(each, _ADDRESS) for each in names)
            return ",".join(str(address) for address in found if address is not None) or None
        return super()._value(nested_stack, names, read)

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return the paths for every member, because positions are not known yet."""
        paths = {
            _ADDRESS if name == INSTANCE_LIST else normalize_attribute_path(path[0], path[1:])
            for name, *path in reads
            if name == INSTANCE_LIST or (name.startswith(MEMBER_ATTRIBUTE_PREFIX) and path)
        } - {None}
        return {each: {path for path in paths if path} for each in members} if paths else {}


class InstanceGroup(InstanceGroupType):
    """A group of a given number of instances."""

    name = "OS::Heat::InstanceGroup"
    policy_section = "RollingUpdate"
    schema = load_aws_schema("autoscaling", name, NestedTypeSchema)

    def final_size(self, request: NestedStackRequest, working: int) -> int:
        """Return the size that the properties have."""
        return max(int(request.properties["Size"]), 0)

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of members, 1 while it is not known."""
        found = request.properties.get("Size")
        return found if isinstance(found, int) else 1
