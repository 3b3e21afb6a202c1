"""One configuration on many servers: a group whose members are named by the servers.

Source: heat-facts ``resource_groups.md``, "Software configuration".
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
from heat_convergence.resources.builtin.software.deployments import (
    DEPLOYMENT_PROPERTIES,
    SoftwareDeployment,
    StructuredDeployment,
)
from heat_convergence.resources.nested.nested_type import (
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
_OF_ALL = {  # attribute of the group → of its members
    "deploy_stdouts": deployment_inputs.STDOUT,
    "deploy_stderrs": deployment_inputs.STDERR,
    "deploy_status_codes": deployment_inputs.STATUS_CODE,
}
_MAKING = "making"


def _schema(
    description: str, version: str, more: Mapping[str, PropertySchema]
) -> NestedTypeSchema:
    pace = {
        "max_batch_size": PropertySchema(
            type=PropertyType.INTEGER,
            description="How many servers are at it at once, at most.",
            default=1,
            constraints=(Range(min=1),),
        ),
        "pause_time": PropertySchema(
            type=PropertyType.NUMBER,
            description="Seconds to wait between two batches.",
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
                description="Ids of the servers, by the names that members are to have.",
                required=True,
                update_allowed=True,
            ),
            **properties,
            **more,
        },
        attributes={
            "deploy_stdouts": AttributeSchema(PropertyType.MAP, "What each wrote."),
            "deploy_stderrs": AttributeSchema(PropertyType.MAP, "What each wrote of errors."),
            "deploy_status_codes": AttributeSchema(
                PropertyType.MAP, "The status that each ended with."
            ),
        },
        update_policy={
            "rolling_update": PropertySchema(
                type=PropertyType.MAP,
                description="How many servers change at once.",
                schema=pace,
                support_status=SupportStatus(version="7.0.0"),
            ),
            "batch_create": PropertySchema(
                type=PropertyType.MAP,
                description="How many servers begin at once.",
                schema=pace,
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
    )


class SoftwareDeploymentGroup(GroupType):
    name = "OS::Heat::SoftwareDeploymentGroup"
    member_type: ClassVar[SoftwareDeployment] = SoftwareDeployment()
    schema = _schema("Puts one configuration on many servers.", "5.0.0", {})

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        old = current_members(ask)
        target = self._members(ask.properties)
        making = ask.load_template() is None or bool(ask.data.get(_MAKING))
        section = ask.update_policy.get("batch_create" if making else "rolling_update")
        kept = {name: old[name] for name in sorted(old) if name in target}
        if section is None:
            return NestedStackSource(build_template_text(target))
        pace = RollingUpdatePolicy.from_policy(section)
        pace.check_timeout(len(target), ask.timeout_s)
        order = [*kept, *sorted(target.keys() - kept.keys())]
        if making:
            size = min(len(kept) + pace.batch_size, len(order))
            members, more = {name: target[name] for name in order[:size]}, size < len(order)
        else:
            members, more = roll_by_name(kept, target.__getitem__, order, order.__getitem__, pace)
        return NestedStackSource(
            build_template_text(members),
            data={_MAKING: more and making},
            has_next_step=more,
            pause_s=pace.pause_s,
        )

    def _members(self, given: Mapping[str, Json]) -> dict[str, Json]:
        names = self.member_type.schema.properties.keys() - {"server"}
        common = {name: given[name] for name in sorted(names) if given.get(name) is not None}
        servers = given.get("servers") or {}
        return {
            str(name): {
                "type": self.member_type.name,
                "properties": {**common, "server": servers[name]},
            }
            for name in sorted(servers)
        }

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        if not ask.properties.get("servers"):
            return None
        asked = replace(ask, properties={**ask.properties, "servers": {"server": "server"}})
        return NestedStackSource(build_template_text(
            {name: with_placeholders(each) for name, each in self._members(asked.properties).items()}  # noqa: E501
        ))  # fmt: skip

    def final_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        members = self._members(ask.properties)
        return NestedStackSource(
            build_template_text({name: with_placeholders(members[name]) for name in members})
        )

    def member_count(self, ask: NestedStackRequest) -> int:
        servers = ask.properties.get("servers")
        return len(servers) if isinstance(servers, Mapping) else 1

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        self.member_type.validate(properties, timeout_s)
        for name in properties.get("servers") or {}:
            if not str(name) or "/" in str(name):
                raise StackValidationFailed(
                    f'"{name}" can\'t be the name of a member', path="servers"
                )

    # -- attributes: maps by the members' names

    def order_members(self, behind: NestedStackView, names: Sequence[str]) -> list[str]:
        return sorted(names)

    def read_attributes(
        self, behind: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        names = self.order_members(behind, behind.load_resource_names())
        found = super().read_attributes(behind, reads)
        behind.load_inputs(names)
        of_all = {
            name: {each: behind.member_value(each, [theirs]) for each in names}
            for name, theirs in _OF_ALL.items()
        }
        return {**of_all, RECORDED_VALUES_KEY: found[RECORDED_VALUES_KEY]}

    def _value(self, behind: NestedStackView, names: Sequence[str], read: AttributePath) -> Json:
        name, *path = read
        if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
            return super()._value(behind, names, read)
        theirs = _OF_ALL.get(name, name)
        if name in _OF_ALL and path:
            return behind.member_value(path[0], [theirs, *path[1:]]) if path[0] in names else None
        return {each: behind.member_value(each, [theirs, *path]) for each in names}

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Members are deployments, behind which there is no stack."""
        return {}


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    name = "OS::Heat::StructuredDeploymentGroup"
    member_type: ClassVar[SoftwareDeployment] = StructuredDeployment()
    schema = _schema(
        "Puts one map with its inputs' values on many servers.",
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
    """By its old name."""

    name = "OS::Heat::SoftwareDeployments"
    schema = replace(SoftwareDeploymentGroup.schema, support_status=_HIDDEN)


class StructuredDeployments(StructuredDeploymentGroup):
    """By its old name."""

    name = "OS::Heat::StructuredDeployments"
    schema = replace(StructuredDeploymentGroup.schema, support_status=_HIDDEN)
