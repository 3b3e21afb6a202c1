"""``OS::Heat::ResourceChain``: resources of several types with the same properties,
one after the other.

Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.resources.builtin.nested.members import (
    ATTRIBUTES,
    REFS,
    Group,
    sampled,
    template_text,
)
from heat_convergence.resources.nesting.kinds import Ask, Behind, ChildSource, NestedSchema
from heat_convergence.resources.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.expression import is_known

Json = Any


class ResourceChain(Group):
    name = "OS::Heat::ResourceChain"
    whole = frozenset({REFS, ATTRIBUTES})
    schema = NestedSchema(
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

    def source(self, ask: Ask) -> ChildSource:
        members: dict[str, Json] = {}
        for at, kind in enumerate(ask.properties.get("resources") or ()):
            members[str(at)] = {"type": kind}
            if ask.properties.get("resource_properties"):
                members[str(at)]["properties"] = ask.properties["resource_properties"]
            if at and not ask.properties.get("concurrent"):
                members[str(at)]["depends_on"] = [str(at - 1)]
        return ChildSource(template_text(members))

    def sample(self, ask: Ask) -> ChildSource | None:
        types = ask.properties.get("resources")
        if not isinstance(types, list) or not is_known(types):
            return None
        return self.source(ask.having(sampled(ask.properties)))

    def ordered(self, behind: Behind, names: Sequence[str]) -> list[str]:
        return sorted(names, key=lambda name: (len(name), name))

    def facts(self, behind: Behind, names: Sequence[str]) -> dict[str, Json]:
        return {}
