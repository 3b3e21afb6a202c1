"""Software configurations as resources: texts for servers, stored once and never changed.

Decides what each type stores; any change requires a new resource. A configuration has its
resource's id, so that what a lost call stored is found again (RULE 4).

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.software_config_store import require_config_store
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
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
            "Schema of one entry.",
            schema={
                "name": _text("Name of the input or output.", required=True),
                "description": _text("Description of the input or output."),
                "type": _text(
                    "Type of the value.", default="String", constraints=(AllowedValues(_TYPES),)
                ),
                **more,
            },
        ),
    )


GROUP_PROPERTY = _text("Namespace of the tool that applies it on a server.", default=_UNGROUPED)
INPUTS_PROPERTY = _values(
    "Inputs of the configuration.",
    default=PropertySchema(type=PropertyType.ANY, description="Value if none is specified."),
    replace_on_change=_flag("Replace the deployment when the value changes."),
)
OUTPUTS_PROPERTY = _values(
    "Outputs of the configuration.",
    error_output=_flag("Any value of this output indicates that the deployment has failed."),
)
OPTIONS_PROPERTY = _map("Options for the tool.")
_ATTRIBUTES = {CONFIG: AttributeSchema(PropertyType.STRING, "The stored configuration.")}


class StoredConfig(ResourceType):
    """The base of types that store their content as a configuration."""

    default_group: ClassVar[str] = _UNGROUPED  # without the property group

    def build_content(self, context: ResourceContext) -> Json:
        """Return the content to store under ``config``."""
        return context.properties.get(CONFIG)

    def create(self, context: ResourceContext) -> VerbResult:
        """Store the configuration."""
        properties, content = context.properties, self.build_content(context)
        require_config_store(context).store_config(
            SoftwareConfigRow(
                id=context.resource_id,
                project_id=context.project_id,
                name=context.physical_name,
                group=properties.get("group") or self.default_group,
                body={
                    CONFIG: "" if content is None else content,
                    "inputs": properties.get("inputs") or [],
                    "outputs": properties.get("outputs") or [],
                    "options": properties.get("options") or {},
                },
                created_at=context.now,
            )
        )
        return VerbResult(ObservedState.READY, context.resource_id, attributes={CONFIG: content})

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY; a change of any stored property requires replacement."""
        return VerbResult(ObservedState.READY, context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the configuration."""
        if context.physical_id is not None:
            require_config_store(context).delete_config(context.project_id, context.physical_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY if the configuration is stored, ABSENT otherwise."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        store = require_config_store(context)
        found = store.find_config(context.project_id, context.physical_id)
        observed = ObservedState.READY if found is not None else ObservedState.ABSENT
        return VerbResult(observed, context.physical_id)

    def find(self, context: ResourceContext) -> str | None:
        """Find the configuration by the resource's id."""
        found = require_config_store(context).find_config(context.project_id, context.resource_id)
        return None if found is None else found.id

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create again, which stores nothing twice."""
        return self.create(context)


class SoftwareConfig(StoredConfig):
    """A configuration that is a text."""

    name = "OS::Heat::SoftwareConfig"
    schema = TypeSchema(
        description="A resource for a script or another text that a tool applies on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP_PROPERTY,
            CONFIG: _text("Text of the configuration."),
            "options": OPTIONS_PROPERTY,
            "inputs": INPUTS_PROPERTY,
            "outputs": OUTPUTS_PROPERTY,
        },
        attributes=_ATTRIBUTES,
    )


class StructuredConfig(StoredConfig):
    """A configuration that is a map."""

    name = "OS::Heat::StructuredConfig"
    schema = TypeSchema(
        description="A resource for a map that a tool applies on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP_PROPERTY,
            "options": OPTIONS_PROPERTY,
            "inputs": INPUTS_PROPERTY,
            "outputs": OUTPUTS_PROPERTY,
            CONFIG: _map("Map of the configuration."),
        },
        attributes=_ATTRIBUTES,
    )


class CloudConfig(StoredConfig):
    """A configuration for cloud-init."""

    name = "OS::Heat::CloudConfig"
    schema = TypeSchema(
        description="A configuration for cloud-init, as a map.",
        support_status=SupportStatus(version="2014.1"),
        properties={"cloud_config": _map("Map in the format of cloud-config.")},
        attributes=_ATTRIBUTES,
    )

    def build_content(self, context: ResourceContext) -> Json:
        """Return the map as YAML with cloud-init's header."""
        config = context.properties.get("cloud_config") or {}
        text = yaml.safe_dump(config, default_flow_style=False, allow_unicode=True)
        return f"#cloud-config\n{text}"


class SoftwareComponent(StoredConfig):
    """Configurations for different actions."""

    name = "OS::Heat::SoftwareComponent"
    default_group = "component"
    schema = TypeSchema(
        description="A resource for several configurations of a component, for different actions.",
        support_status=SupportStatus(version="2014.2"),
        properties={
            "configs": PropertySchema(
                type=PropertyType.LIST,
                description="Configurations, each for certain actions.",
                required=True,
                constraints=(Length(min=1),),
                item=_map(
                    "Schema of one entry.",
                    schema={
                        "actions": PropertySchema(
                            type=PropertyType.LIST,
                            description="Actions in which it is deployed.",
                            default=["CREATE", "UPDATE"],
                            constraints=(Length(min=1),),
                            item=_text("A stack action or a custom action."),
                        ),
                        CONFIG: _text("Text of the configuration."),
                        "tool": _text("Tool that applies it on a server.", required=True),
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
        """Return the list of configurations."""
        return {"configs": context.properties["configs"]}

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse two configurations for one action.

        Raises:
            StackValidationFailed: An action has two.
        """
        actions: set[str] = set()
        for at, config in enumerate(properties.get("configs") or ()):
            for action in (config or {}).get("actions") or ():
                if action in actions:
                    raise StackValidationFailed(
                        f'the action "{action}" has a configuration already',
                        path=f"configs[{at}].actions",
                    )
                actions.add(action)
