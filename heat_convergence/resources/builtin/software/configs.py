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
from heat_convergence.convergence.model import Observed
from heat_convergence.db.software import Config
from heat_convergence.resources.plugin import Look, ResourceType, View
from heat_convergence.resources.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.software import software_of
from heat_convergence.template.constraints import AllowedValues, Length

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


GROUP = _text("Which tool on the server takes it.", default=_UNGROUPED)
INPUTS = _values(
    "What it takes when it is deployed.",
    default=PropertySchema(type=PropertyType.ANY, description="The value where none is given."),
    replace_on_change=_flag("Whether another value is deployed by a new deployment."),
)
OUTPUTS = _values(
    "What it gives back.",
    error_output=_flag("Whether giving it at all means that the deployment failed."),
)
OPTIONS = _map("What the tool is to know beside it.")
_ATTRIBUTES = {
    CONFIG: AttributeSchema(PropertyType.STRING, "The configuration as it is stored.")
}


class StoredConfig(ResourceType):
    """``content`` is what is stored under ``config``."""

    tool: ClassVar[str] = _UNGROUPED  # where no property says otherwise

    def content(self, view: View) -> Json:
        """The configuration."""
        return view.properties.get(CONFIG)

    def create(self, view: View) -> Look:
        given, content = view.properties, self.content(view)
        software_of(view).keep(
            Config(
                id=view.resource_id,
                project_id=view.project_id,
                name=view.physical_name,
                tool=given.get("group") or self.tool,
                body={
                    CONFIG: "" if content is None else content,
                    "inputs": given.get("inputs") or [],
                    "outputs": given.get("outputs") or [],
                    "options": given.get("options") or {},
                },
                created_at=view.now,
            )
        )
        return Look(Observed.READY, view.resource_id, attributes={CONFIG: content})

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        return Look(Observed.READY, view.physical_id)

    def delete(self, view: View) -> Look:
        if view.physical_id is not None:
            software_of(view).forget(view.project_id, view.physical_id)
        return Look(Observed.ABSENT)

    def observe(self, view: View) -> Look:
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        there = software_of(view).find(view.project_id, view.physical_id) is not None
        return Look(Observed.READY if there else Observed.ABSENT, view.physical_id)

    def find(self, view: View) -> str | None:
        found = software_of(view).find(view.project_id, view.resource_id)
        return None if found is None else found.id

    def found(self, view: View) -> Look:
        return self.create(view)  # which stores nothing again


class SoftwareConfig(StoredConfig):
    name = "OS::Heat::SoftwareConfig"
    schema = TypeSchema(
        description="A script, or another text for a tool on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP,
            CONFIG: _text("The text."),
            "options": OPTIONS,
            "inputs": INPUTS,
            "outputs": OUTPUTS,
        },
        attributes=_ATTRIBUTES,
    )


class StructuredConfig(StoredConfig):
    name = "OS::Heat::StructuredConfig"
    schema = TypeSchema(
        description="A map for a tool on servers.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "group": GROUP,
            "options": OPTIONS,
            "inputs": INPUTS,
            "outputs": OUTPUTS,
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

    def content(self, view: View) -> Json:
        told = yaml.safe_dump(
            view.properties.get("cloud_config") or {}, default_flow_style=False, allow_unicode=True
        )
        return f"#cloud-config\n{told}"


class SoftwareComponent(StoredConfig):
    name = "OS::Heat::SoftwareComponent"
    tool = "component"
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
            "inputs": INPUTS,
            "outputs": OUTPUTS,
            "options": OPTIONS,
        },
        attributes=_ATTRIBUTES,
    )

    def content(self, view: View) -> Json:
        return {"configs": view.properties["configs"]}

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
