"""``OS::Heat::ResourceChain``: resources of several types with the same properties, in order.

Decides the members and their dependencies.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from heat_convergence.resources.builtin.nested.group_type import (
    ATTRIBUTES,
    REFS,
    GroupType,
    build_template_text,
    with_placeholders,
)
from heat_convergence.resources.nested.nested_type import (
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.expression import is_known

Json = Any


class ResourceChain(GroupType):
    """A group whose members have the same properties and types of their own."""

    name = "OS::Heat::ResourceChain"
    generated_types: ClassVar[frozenset[str] | None] = frozenset()
    group_attributes = frozenset({REFS, ATTRIBUTES})
    schema = NestedTypeSchema(
        description="Creates one or more resources with the same configuration, in order.",
        support_status=SupportStatus(version="6.0.0"),
        accepts_any_attribute=True,
        properties={
            "resources": PropertySchema(
                type=PropertyType.LIST,
                description="The list of resource types to create, in order.",
                required=True,
                update_allowed=True,
            ),
            "concurrent": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Create the members concurrently, without dependencies.",
                default=False,
            ),
            "resource_properties": PropertySchema(
                type=PropertyType.MAP, description="Properties of every member."
            ),
        },
        attributes={
            REFS: AttributeSchema(PropertyType.LIST, "Reference IDs of the members, in order."),
            ATTRIBUTES: AttributeSchema(
                PropertyType.MAP, "Map of member names to the specified attribute of each."
            ),
        },
    )

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template with a member for each type."""
        members: dict[str, Json] = {}
        for at, member_type in enumerate(request.properties.get("resources") or ()):
            members[str(at)] = {"type": member_type}
            if request.properties.get("resource_properties"):
                members[str(at)]["properties"] = request.properties["resource_properties"]
            if at and not request.properties.get("concurrent"):
                members[str(at)]["depends_on"] = [str(at - 1)]
        return NestedStackSource(build_template_text(members))

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template, if the types are known, for validation."""
        types = request.properties.get("resources")
        if not isinstance(types, list) or not is_known(types):
            return None
        return self.source(request.with_properties(with_placeholders(request.properties)))

    def order_members(self, nested_stack: NestedStackView, names: Sequence[str]) -> list[str]:
        """Return the names in order of their numbers."""
        return sorted(names, key=lambda name: (len(name), name))

    def group_attribute_values(
        self, nested_stack: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Return no further attributes."""
        return {}
