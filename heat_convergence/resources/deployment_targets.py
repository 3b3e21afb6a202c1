"""The check for deployments on servers that never fetch any.

Decides by the definitions alone; what is not known yet passes, and so do servers outside the
stack. Called by ``validation``.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heat_convergence.resources.protocol.properties import known_properties
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

Value = Any
_REFERENCE_FUNCTIONS = ("get_resource", "Ref")


def find_misplaced_deployments(
    definitions: Mapping[str, ResourceDefinition], types: Mapping[str, ResourceType]
) -> Iterator[tuple[str, str, str]]:
    """Yield the deployment's name, its property for the server, and the error."""
    for name, resource_type in types.items():
        if resource_type.server_property is None:
            continue
        server = _referred(
            _mapping(definitions[name].properties).get(resource_type.server_property)
        )
        if server not in types:
            continue
        server_type, raw = types[server], _mapping(definitions[server].properties)
        if not server_type.accepts_deployments(known_properties(server_type.schema, raw)):
            error = f"no software is deployed on {server}, whose user_data_format is not"
            yield name, resource_type.server_property, f"{error} SOFTWARE_CONFIG"


def _referred(value: Value) -> str:
    """Return the name of the resource that a value refers to, or no name."""
    if not isinstance(value, Expression) or value.function not in _REFERENCE_FUNCTIONS:
        return ""
    return value.arguments if isinstance(value.arguments, str) else ""


def _mapping(properties: Value) -> Mapping[str, Value]:
    return properties if isinstance(properties, Mapping) else {}
