"""Resource types that the operator's environment maps to templates, as clients are shown them.

Called by the API once per process, so that no request reads a template.  Decides their schemas;
a template that cannot be read is logged, and the others are shown.  Stacks do not use these
types: their templates are read when a stack is created.

Source: docs/reference/events-and-states.rst, "resource_registry forms".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from heat_convergence.common.errors import Error, HTTPBadRequest
from heat_convergence.resources.nested.template_resource import TemplateResource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.template_fetcher import read_template_file
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.template import Template

LOG = logging.getLogger(__name__)
_NO_DESCRIPTION = "No description available"


@dataclass(frozen=True, slots=True)
class OperatorTypes:
    """The types of templates.

    Attributes:
        types: by the names that the environment maps.
        mistakes: why types have no schema, by their names.
    """

    types: Mapping[str, ResourceType]
    mistakes: Mapping[str, str]


def read_operator_types(services: StackServices) -> OperatorTypes:
    """Read each template that the operator's environment maps a type to."""
    environment = services.global_environment or Environment()
    names = environment.registry.further_names()
    template_by_name = {name: each for name, each in names.items() if is_template_name(each)}
    schemas: dict[str, TypeSchema | Error] = {}
    for each in sorted(set(template_by_name.values())):
        try:
            schemas[each] = _read_schema(each, environment, services)
        except Error as error:
            LOG.error(
                "template of a resource type cannot be read:"
                " template=%(template)s error=%(error)s",
                {"template": each, "error": " ".join(str(error).split())},
            )
            schemas[each] = error
    return _by_name({name: schemas[each] for name, each in template_by_name.items()})


def _by_name(schemas: Mapping[str, TypeSchema | Error]) -> OperatorTypes:
    types: dict[str, ResourceType] = {}
    mistakes: dict[str, str] = {}
    for name, found in schemas.items():
        if isinstance(found, Error):
            mistakes[name] = str(found)
            found = TypeSchema(description=_NO_DESCRIPTION)
        types[name] = _shown_type(name, found)
    return OperatorTypes(types, mistakes)


def _shown_type(name: str, schema: TypeSchema) -> ResourceType:
    """Return the type of a template by the name that policies have for it."""
    found = TemplateResource()
    found.name, found.schema = name, schema  # type: ignore[misc]
    return found


def _read_schema(name: str, environment: Environment, services: StackServices) -> TypeSchema:
    """Return the schema that clients are shown: with the types that properties have for them.

    Raises:
        Error: the template cannot be read, or is wrong.
    """
    if urlsplit(name).scheme not in ("", "file"):
        raise HTTPBadRequest(f"The template {name} is not a file.")
    limits = services.limits
    template = Template.parse(read_template_file(name, limits.max_template_size), limits=limits)
    found = TemplateResource.for_template(template, environment.parameter_defaults)
    return replace(
        found.schema,
        description=template.raw.get(template.version.dialect.description) or _NO_DESCRIPTION,
        properties={
            key: replace(
                declared,
                type=found.facade_property_types[key],
                constraints=template.parameters[key].constraints,
            )
            for key, declared in found.schema.properties.items()
        },
    )
