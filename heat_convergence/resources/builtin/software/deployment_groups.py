"""Deployments of one configuration on many servers: a group with a member for each server.

Decides the members' names, which are the keys of ``servers``, and their batches.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.nested.group_type import (
    GroupType,
    build_template_text,
    current_members,
    with_placeholders,
)
from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_name,
)
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.builtin.software.deployment_schemas import DEPLOYMENT_PROPERTIES
from heat_convergence.resources.builtin.software.deployments import (
    SoftwareDeployment,
    StructuredDeployment,
)
from heat_convergence.resources.nested.nested_type import (
    ATTRIBUTE_ERRORS_KEY,
    MEMBER_ATTRIBUTE_PREFIX,
    RECORDED_VALUES_KEY,
    AttributePath,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
)
from heat_convergence.template.parameters.constraints import Range

Json = Any
_COLLECTED_ATTRIBUTES = {  # attribute of the group → attribute of its members
    "deploy_stdouts": deployment_inputs.STDOUT,
    "deploy_stderrs": deployment_inputs.STDERR,
    "deploy_status_codes": deployment_inputs.STATUS_CODE,
}
_CREATING = "making"


def _schema(
    description: str, version: str, more: Mapping[str, PropertySchema]
) -> NestedTypeSchema:
    policy = {
        "max_batch_size": PropertySchema(
            type=PropertyType.INTEGER,
            description="Maximum number of servers in a batch.",
            default=1,
            constraints=(Range(min=1),),
        ),
        "pause_time": PropertySchema(
            type=PropertyType.NUMBER,
            description="Seconds to wait between batches.",
            default=0,
            constraints=(Range(min=0),),
        ),
    }
    properties = {name: each for name, each in DEPLOYMENT_PROPERTIES.items() if name != "server"}
    return NestedTypeSchema(
        description=description,
        support_status=SupportStatus(version=version),
        accepts_any_attribute=True,
        properties={
            "servers": PropertySchema(
                type=PropertyType.MAP,
                description="Map of member names to IDs of servers.",
                required=True,
                update_allowed=True,
            ),
            **properties,
            **more,
        },
        attributes={
            "deploy_stdouts": AttributeSchema(
                PropertyType.MAP, "Captured standard output of each."
            ),
            "deploy_stderrs": AttributeSchema(
                PropertyType.MAP, "Captured standard error of each."
            ),
            "deploy_status_codes": AttributeSchema(
                PropertyType.MAP, "Returned status code of each."
            ),
        },
        update_policy={
            "rolling_update": PropertySchema(
                type=PropertyType.MAP,
                description="Batches of an update.",
                schema=policy,
                support_status=SupportStatus(version="7.0.0"),
            ),
            "batch_create": PropertySchema(
                type=PropertyType.MAP,
                description="Batches of a create.",
                schema=policy,
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
    )


class SoftwareDeploymentGroup(GroupType):
    """A group of deployments, one for each server."""

    name = "OS::Heat::SoftwareDeploymentGroup"
    member_type: ClassVar[SoftwareDeployment] = SoftwareDeployment()
    generated_types: ClassVar[frozenset[str] | None] = frozenset({SoftwareDeployment.name})
    schema = _schema("A group of deployments of one configuration on many servers.", "5.0.0", {})

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template of the next batch."""
        old = current_members(request)
        target = self._members(request.properties)
        creating = request.load_template() is None or bool(request.data.get(_CREATING))
        section = request.update_policy.get("batch_create" if creating else "rolling_update")
        kept = {name: old[name] for name in sorted(old) if name in target}
        if section is None:
            return NestedStackSource(build_template_text(target))
        policy = RollingUpdatePolicy.from_policy(section)
        policy.check_timeout(len(target), request.timeout_s)
        order = [*kept, *sorted(target.keys() - kept.keys())]
        if creating:
            size = min(len(kept) + policy.batch_size, len(order))
            members, more = {name: target[name] for name in order[:size]}, size < len(order)
        else:
            members, more = roll_by_name(
                kept, target.__getitem__, order, order.__getitem__, policy
            )
        return NestedStackSource(
            build_template_text(members),
            data={_CREATING: more and creating},
            has_next_step=more,
            pause_s=policy.pause_s,
        )

    def _members(self, properties: Mapping[str, Json]) -> dict[str, Json]:
        names = self.member_type.schema.properties.keys() - {"server"}
        common = {
            name: properties[name] for name in sorted(names) if properties.get(name) is not None
        }
        servers = properties.get("servers") or {}
        return {
            str(name): {
                "type": self.member_type.name,
                "properties": {**common, "server": servers[name]},
            }
            for name in sorted(servers)
        }

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return a template with one member, of an unknown server."""
        if not request.properties.get("servers"):
            return None
        members = self._members({**request.properties, "servers": {"server": "server"}})
        return NestedStackSource(
            build_template_text({name: with_placeholders(members[name]) for name in members})
        )

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template after the last batch."""
        members = self._members(request.properties)
        return NestedStackSource(
            build_template_text({name: with_placeholders(members[name]) for name in members})
        )

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of servers, 1 while it is not known."""
        servers = request.properties.get("servers")
        return len(servers) if isinstance(servers, Mapping) else 1

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the members' properties and names.

        Raises:
            StackValidationFailed: A property or a name is wrong.
        """
        self.member_type.validate(properties, timeout_s)
        for name in properties.get("servers") or {}:
            if not str(name) or "/" in str(name):
                raise StackValidationFailed(
                    f'"{name}" can\'t be the name of a member', path="servers"
                )

    def order_members(self, nested_stack: NestedStackView, names: Sequence[str]) -> list[str]:
        """Return the names sorted."""
        return sorted(names)

    def read_attributes(
        self, nested_stack: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the attributes, maps by the members' names."""
        names = self.order_members(nested_stack, nested_stack.load_resource_names())
        found = super().read_attributes(nested_stack, reads)
        nested_stack.load_inputs(names)
        collected = {
            name: {each: nested_stack.member_value(each, [member_attribute]) for each in names}
            for name, member_attribute in _COLLECTED_ATTRIBUTES.items()
        }
        # The values that templates read, and their errors; the group has no references.
        recorded = (RECORDED_VALUES_KEY, ATTRIBUTE_ERRORS_KEY)
        return {**collected, **{key: found[key] for key in recorded if key in found}}

    def _value(
        self, nested_stack: NestedStackView, names: Sequence[str], read: AttributePath
    ) -> Json:
        name, *path = read
        if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
            return super()._value(nested_stack, names, read)
        member_attribute = _COLLECTED_ATTRIBUTES.get(name, name)
        if name in _COLLECTED_ATTRIBUTES and path:
            return (
                nested_stack.member_value(path[0], [member_attribute, *path[1:]])
                if path[0] in names
                else None
            )
        return {each: nested_stack.member_value(each, [member_attribute, *path]) for each in names}

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return nothing: members have no nested stacks."""
        return {}


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    """A group of structured deployments, one for each server."""

    name = "OS::Heat::StructuredDeploymentGroup"
    member_type: ClassVar[SoftwareDeployment] = StructuredDeployment()
    generated_types: ClassVar[frozenset[str] | None] = frozenset({StructuredDeployment.name})
    schema = _schema(
        "A group of deployments of one map, with the values of its inputs, on many servers.",
        "5.0.0",
        {
            name: StructuredDeployment.schema.properties[name]
            for name in ("input_key", "input_values_validate")
        },
    )


_HIDDEN = SupportStatus(
    SupportLevel.HIDDEN,
    version="7.0.0",
    previous=SupportStatus(SupportLevel.DEPRECATED, version="2014.2"),
)


class SoftwareDeployments(SoftwareDeploymentGroup):
    """The old name of ``OS::Heat::SoftwareDeploymentGroup``."""

    name = "OS::Heat::SoftwareDeployments"
    schema = replace(SoftwareDeploymentGroup.schema, support_status=_HIDDEN)


class StructuredDeployments(StructuredDeploymentGroup):
    """The old name of ``OS::Heat::StructuredDeploymentGroup``."""

    name = "OS::Heat::StructuredDeployments"
    schema = replace(StructuredDeploymentGroup.schema, support_status=_HIDDEN)
