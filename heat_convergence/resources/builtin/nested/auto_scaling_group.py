"""``OS::Heat::AutoScalingGroup``: members of one definition, whose number policies change.

Decides the definition of the members and the attributes of the group. Properties and scaling
policies (``stacks.group_scaling``) decide their number.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import InvalidTemplateAttribute, StackValidationFailed
from heat_convergence.resources.builtin.nested.group_type import (
    REFS,
    REFS_MAP,
    build_template_text,
    with_placeholders,
)
from heat_convergence.resources.builtin.nested.rolling_update import RollingUpdatePolicy
from heat_convergence.resources.builtin.nested.scaling_group import CooldownGroupType
from heat_convergence.resources.nested.nested_type import (
    MEMBER_ATTRIBUTE_PREFIX,
    AttributePath,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
    normalize_attribute_path,
)
from heat_convergence.resources.protocol.scaling_adjustment import ScalingBounds
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.expression import is_known
from heat_convergence.template.parameters.constraints import Range

Json = Any
OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE = (
    "outputs",
    "outputs_list",
    "current_size",
)
_SAMPLE = "member"


def _integer(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.INTEGER, description=description, **more)


class AutoScalingGroup(CooldownGroupType):
    """A group whose size scaling policies change."""

    name = "OS::Heat::AutoScalingGroup"
    generated_types: ClassVar[frozenset[str] | None] = frozenset()
    group_attributes = frozenset(
        {REFS, REFS_MAP, OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE}
    )
    attributes_by_member = frozenset({OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE})
    schema = NestedTypeSchema(
        description="An autoscaling group that can scale arbitrary resources.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "resource": PropertySchema(
                type=PropertyType.MAP,
                description="Resource definition for the members, in HOT format.",
                required=True,
                update_allowed=True,
            ),
            "max_size": _integer(
                "Maximum number of members in the group.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "min_size": _integer(
                "Minimum number of members in the group.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "cooldown": _integer("Cooldown period, in seconds.", update_allowed=True),
            "desired_capacity": _integer(
                "Desired number of members after a create or an update.", update_allowed=True
            ),
            "rolling_updates": PropertySchema(
                type=PropertyType.MAP,
                description="Policy for rolling updates of the members.",
                default={"min_in_service": 0, "max_batch_size": 1, "pause_time": 0},
                update_allowed=True,
                schema={
                    "min_in_service": _integer(
                        "Minimum number of members in service during an update.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                    "max_batch_size": _integer(
                        "Maximum number of members in a batch.",
                        default=1,
                        constraints=(Range(min=1),),
                    ),
                    "pause_time": PropertySchema(
                        type=PropertyType.NUMBER,
                        description="Seconds to wait between batches.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                },
            ),
        },
        attributes={
            OUTPUTS_ATTRIBUTE: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to the specified attribute of each.",
                support_status=SupportStatus(version="2014.2"),
            ),
            OUTPUTS_LIST_ATTRIBUTE: AttributeSchema(
                PropertyType.LIST,
                "List of the specified attribute of each member, the oldest first.",
                support_status=SupportStatus(version="2014.2"),
            ),
            SIZE_ATTRIBUTE: AttributeSchema(
                PropertyType.INTEGER,
                "Current number of members.",
                support_status=SupportStatus(version="2015.1"),
            ),
            REFS: AttributeSchema(
                PropertyType.LIST,
                "Reference IDs of the members, the oldest first.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            REFS_MAP: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to their reference IDs.",
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the sizes.

        Raises:
            StackValidationFailed: They contradict each other.
        """
        least, most = properties.get("min_size"), properties.get("max_size")
        desired = properties.get("desired_capacity")
        if least is not None and most is not None and least > most:
            raise StackValidationFailed(
                f"min_size {least} is more than max_size {most}", path="min_size"
            )
        too_many = desired is not None and most is not None and desired > most
        if too_many or (desired is not None and least is not None and desired < least):
            raise StackValidationFailed(
                f"desired_capacity {desired} is not between min_size {least} and max_size {most}",
                path="desired_capacity",
            )

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return a template with one member, if its type is known."""
        definition = request.properties.get("resource")
        if not isinstance(definition, Mapping) or not isinstance(definition.get("type"), str):
            return None
        return NestedStackSource(
            build_template_text({_SAMPLE: with_placeholders(dict(definition))})
        )

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template after the last batch, if all properties are known."""
        if not is_known({**request.properties, "resource": None}):
            return None
        definition = with_placeholders(dict(request.properties["resource"]))
        return NestedStackSource(self.resized_text(request, definition))

    def member_definition(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the definition that the properties have."""
        return dict(request.properties["resource"])

    def rolling_policy(self, request: NestedStackRequest) -> RollingUpdatePolicy:
        """Return the policy that the properties have."""
        return RollingUpdatePolicy.from_policy(request.properties.get("rolling_updates") or {})

    def desired_size(self, request: NestedStackRequest) -> int | None:
        """Return the desired capacity."""
        found: int | None = request.properties.get("desired_capacity")
        return found

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of members, 1 while it is not known."""
        found = request.properties.get("desired_capacity") or request.properties.get("min_size")
        return found if isinstance(found, int) else 1

    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        """Return the bounds that the properties set."""
        return ScalingBounds(
            int(properties["min_size"]),
            int(properties["max_size"]),
            float(properties.get("cooldown") or 0),
        )

    def group_attribute_values(
        self, nested_stack: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Return the current size."""
        return {SIZE_ATTRIBUTE: len(names)}

    def _value(
        self, nested_stack: NestedStackView, names: Sequence[str], read: AttributePath
    ) -> Json:
        name, *path = read
        if name == OUTPUTS_ATTRIBUTE:
            return (
                {each: nested_stack.member_value(each, path) for each in names} if path else None
            )
        if name == OUTPUTS_LIST_ATTRIBUTE:
            return [nested_stack.member_value(each, path) for each in names] if path else None
        return super()._value(nested_stack, names, read)

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return the paths for every member, because positions are not known yet."""
        inner = (
            path
            for name, *path in reads
            if name in self.attributes_by_member or name.startswith(MEMBER_ATTRIBUTE_PREFIX)
        )
        paths = {normalize_attribute_path(path[0], path[1:]) for path in inner if path} - {None}
        return {each: {read for read in paths if read} for each in members} if paths else {}

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Check the path of an attribute that a template reads.

        Raises:
            InvalidTemplateAttribute: An attribute by member is read without the name of an
                attribute.
        """
        if name in self.attributes_by_member and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{name}" of {self.name} takes the name of another'
            )
