"""Software configurations as resources: texts for servers, stored once and never changed.

Decides what is stored of each type; any change is a new one.  A configuration has its
resource's id, so that what a lost call stored is found again (RULE 4).
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import require_config_store
from heat_convergence.template.parameters.constraints import AllowedValues, Length

Json = Any
CONFIG = "config"
_UNGROUPED = "Heat::Ungrouped"
_TYPES = ("String", "Number", "CommaDelimitedList", "Json", "Boolean")


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


def _flag(description: str) -> PropertySchema:
    return PropertySchema(type=PropertyType.BOOLEAN, description=description, default=False)


def _map(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.MAP, description=description, **more)


def _values(description: str, **more: PropertySchema) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.LIST,
        description=description,
        item=_map(
            "One of them.",
            schema={
                "name": _text("Its name.", required=True),
                "description": _text("What it is for."),
                "type": _text(
                    "What its value is.", default="String", constraints=(AllowedValues(_TYPES),)
                ),
                **more,
            },
        ),
    )


GROUP_PROPERTY = _text("Which tool on the server takes it.", default=_UNGROUPED)
INPUTS_PROPERTY = _values(
    "What it takes when it is deployed.",
    default=PropertySchema(type=PropertyType.ANY, description="The value where none is given."),
    replace_on_change=_flag("Whether another value is deployed by a new deployment."),
)
OUTPUTS_PROPERTY = _values(
    "What it gives back.",
    error_output=_flag("Whether giving it at all means that the deployment failed."),
)
OPTIONS_PROPERTY = _map("What the tool is to know beside it.")
_ATTRIBUTES = {CONFIG: AttributeSchema(PropertyType.STRING, "The configuration as it is stored.")}


class StoredConfig(ResourceType):
    """``build_content`` is what is stored under ``config``."""

    default_group: ClassVar[str] = _UNGROUPED  # where no property says otherwise

    def build_content(self, context: ResourceContext) -> Json:
        """The configuration."""
        return context.properties.get(CONFIG)

    def create(self, context: ResourceContext) -> VerbResult:
        given, content = context.properties, self.build_content(context)
        require_config_store(context).store_config(
            SoftwareConfigRow(
                id=context.resource_id,
                project_id=context.project_id,
                name=context.physical_name,
                group=given.get("group") or self.default_group,
                body={
                    CONFIG: "" if content is None else content,
                    "inputs": given.get("inputs") or [],
                    "outputs": given.get("outputs") or [],
                    "options": given.get("options") or {},
                },
                created_at=context.now,
            )
        )
        return VerbResult(ObservedState.READY, context.resource_id, attributes={CONFIG: content})

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return VerbResult(ObservedState.READY, context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        if context.physical_id is not None:
            require_config_store(context).delete_config(context.project_id, context.physical_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        there = (
            require_config_store(context).find_config(context.project_id, context.physical_id)
            is not None
        )
        return VerbResult(
            ObservedState.READY if there else ObservedState.ABSENT, context.physical_id
        )

    def find(self, context: ResourceContext) -> str | None:
        found = require_config_store(context).find_config(context.project_id, context.resource_id)
        return None if found is None else found.id

    def resume_create(self, context: ResourceContext) -> VerbResult:
        return self.create(context)  # which stores nothing again


class SoftwareConfig(StoredConfig):
    name = "OS::Heat::SoftwareConfig"
    schema = TypeSchema(
        description="A script, or another text for a tool on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP_PROPERTY,
            CONFIG: _text("The text."),
            "options": OPTIONS_PROPERTY,
            "inputs": INPUTS_PROPERTY,
            "outputs": OUTPUTS_PROPERTY,
        },
        attributes=_ATTRIBUTES,
    )


class StructuredConfig(StoredConfig):
    name = "OS::Heat::StructuredConfig"
    schema = TypeSchema(
        description="A map for a tool on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP_PROPERTY,
            "options": OPTIONS_PROPERTY,
            "inputs": INPUTS_PROPERTY,
            "outputs": OUTPUTS_PROPERTY,
            CONFIG: _map("The map."),
        },
        attributes=_ATTRIBUTES,
    )


class CloudConfig(StoredConfig):
    name = "OS::Heat::CloudConfig"
    schema = TypeSchema(
        description="What cloud-init does when a server starts, as a map.",
        support_status=SupportStatus(version="2014.1"),
        properties={"cloud_config": _map("Cloud-init's own words.")},
        attributes=_ATTRIBUTES,
    )

    def build_content(self, context: ResourceContext) -> Json:
        told = yaml.safe_dump(
            context.properties.get("cloud_config") or {},
            default_flow_style=False,
            allow_unicode=True,
        )
        return f"#cloud-config\n{told}"


class SoftwareComponent(StoredConfig):
    name = "OS::Heat::SoftwareComponent"
    default_group = "component"
    schema = TypeSchema(
        description="Several configurations of one piece of software, one for each action.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            "configs": PropertySchema(
                type=PropertyType.LIST,
                description="The configurations.",
                required=True,
                constraints=(Length(min=1),),
                item=_map(
                    "One of them.",
                    schema={
                        "actions": PropertySchema(
                            type=PropertyType.LIST,
                            description="In which actions it is deployed.",
                            default=["CREATE", "UPDATE"],
                            constraints=(Length(min=1),),
                            item=_text("An action of the stack, or a word of the author's."),
                        ),
                        CONFIG: _text("The text."),
                        "tool": _text("Which tool on the server takes it.", required=True),
                    },
                ),
            ),
            "inputs": INPUTS_PROPERTY,
            "outputs": OUTPUTS_PROPERTY,
            "options": OPTIONS_PROPERTY,
        },
        attributes=_ATTRIBUTES,
    )

    def build_content(self, context: ResourceContext) -> Json:
        return {"configs": context.properties["configs"]}

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        named: set[str] = set()
        for at, config in enumerate(properties.get("configs") or ()):
            for action in (config or {}).get("actions") or ():
                if action in named:
                    raise StackValidationFailed(
                        f'the action "{action}" has a configuration already',
                        path=f"configs[{at}].actions",
                    )
                named.add(action)
