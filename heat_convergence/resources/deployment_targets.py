"""Which deployments of a template are put on servers that never ask for any.

Decides by the definitions alone, what is not known yet taken for right.  A server that
is elsewhere, or in another stack of the tree, nobody here knows.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heat_convergence.resources.protocol.properties import known_properties
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

Value = Any
_REFERRING = ("get_resource", "Ref")


def find_misplaced_deployments(
    definitions: Mapping[str, ResourceDefinition], types: Mapping[str, ResourceType]
) -> Iterator[tuple[str, str, str]]:
    """Name of the deployment, its property that refers to the server, and what is wrong."""
    for name, resource_type in types.items():
        if resource_type.server_property is None:
            continue
        server = _referred(
            _mapping(definitions[name].properties).get(resource_type.server_property)
        )
        if server not in types:
            continue
        host, given = types[server], _mapping(definitions[server].properties)
        if not host.accepts_deployments(known_properties(host.schema, given)):
            told = f"no software is deployed on {server}, whose user_data_format is not"
            yield name, resource_type.server_property, f"{told} SOFTWARE_CONFIG"


def _referred(given: Value) -> str:
    """The resource whose id it is, or no name."""
    if not isinstance(given, Expression) or given.function not in _REFERRING:
        return ""
    return given.arguments if isinstance(given.arguments, str) else ""


def _mapping(properties: Value) -> Mapping[str, Value]:
    return properties if isinstance(properties, Mapping) else {}
