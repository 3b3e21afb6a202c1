"""``OS::Heat::ResourceChain``: resources of several types with the same properties,
one after the other.

Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    name = "OS::Heat::ResourceChain"
    group_attributes = frozenset({REFS, ATTRIBUTES})
    schema = NestedTypeSchema(
        description="Resources of the types in a list, each made after the one before.",
        support_status=SupportStatus(version="6.0.0"),
        accepts_any_attribute=True,
        properties={
            "resources": PropertySchema(
                type=PropertyType.LIST,
                description="The members' types, in their order.",
                required=True,
                update_allowed=True,
            ),
            "concurrent": PropertySchema(
                type=PropertyType.BOOLEAN,
                description="Whether members are made side by side.",
                default=False,
            ),
            "resource_properties": PropertySchema(
                type=PropertyType.MAP, description="The properties of every member."
            ),
        },
        attributes={
            REFS: AttributeSchema(PropertyType.LIST, "The members' reference ids in order."),
            ATTRIBUTES: AttributeSchema(
                PropertyType.MAP, "One attribute of all members, by their names."
            ),
        },
    )

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        members: dict[str, Json] = {}
        for at, member_type in enumerate(ask.properties.get("resources") or ()):
            members[str(at)] = {"type": member_type}
            if ask.properties.get("resource_properties"):
                members[str(at)]["properties"] = ask.properties["resource_properties"]
            if at and not ask.properties.get("concurrent"):
                members[str(at)]["depends_on"] = [str(at - 1)]
        return NestedStackSource(build_template_text(members))

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        types = ask.properties.get("resources")
        if not isinstance(types, list) or not is_known(types):
            return None
        return self.source(ask.with_properties(with_placeholders(ask.properties)))

    def order_members(self, behind: NestedStackView, names: Sequence[str]) -> list[str]:
        return sorted(names, key=lambda name: (len(name), name))

    def group_attribute_values(
        self, behind: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        return {}
