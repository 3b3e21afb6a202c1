"""Templates in the place of resource types: their schemas, and what they must look like.

Called by the validation of nested stacks.  Source: ``events_and_states.md`` of Heat's
facts ("facade").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import Error, RequestLimitExceeded, StackValidationFailed
from heat_convergence.resources.nested.nested_type import NestedStackRequest, NestedType
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.nested.template_resource import TemplateResource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import PropertyType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.type_mappings import is_template_name

Json = Any


class TemplateTypeRegistry:
    """A registry in which templates have the schema that they stand for."""

    def __init__(
        self,
        registry: ResourceTypeRegistry,
        files: TemplateFiles,
        preset_parameters: Collection[str] | None = (),
    ) -> None:
        """Start without any template.

        Args:
            registry: the types that are no templates.
            files: the templates.
            preset_parameters: parameters that no resource need set; None for all.
        """
        self._registry = registry
        self._files = files
        self._preset_parameters = preset_parameters
        self._template_types: dict[str, TemplateResource] = {}

    def get_for_template(self, name: str) -> ResourceType:
        """Return the type of that name.

        Raises:
            Error: there is none for templates to use, or the template is wrong.
        """
        if not is_template_name(name):
            return self._registry.get_for_template(name)
        if name not in self._template_types:
            self._template_types[name] = self._template_type(name)
        return self._template_types[name]

    def _template_type(self, name: str) -> TemplateResource:
        try:
            template = self._files.template(name)
            preset = self._preset_parameters
            return TemplateResource.for_template(
                template, template.parameter_names if preset is None else preset
            )
        except Error as error:
            too_much = isinstance(error, RequestLimitExceeded)
            error_type = RequestLimitExceeded if too_much else StackValidationFailed
            raise error_type(f"{error.message} (of {name})") from error


def nested_environment(
    request: NestedStackRequest, parameters: Mapping[str, Json], registry: ResourceTypeRegistry
) -> Environment:
    """Return the environment of a resource's nested stack.

    Inside a template that stands for a type of the registry, that type is the built-in one: the
    template may use what it takes the place of.

    Args:
        request: the resource, with the environment of its stack.
        parameters: those of the nested stack.
        registry: the resource types.
    """
    replaced = request.environment.registry.find_replaced_type(request.type, request.name)
    if replaced is not None and registry.find(replaced) is None:
        replaced = None  # without its template nothing would be left of it
    environment = request.environment.for_nested_stack(request.name, parameters, replaced)
    resource_type = registry.find(request.implementation)
    aliases = resource_type.member_types if isinstance(resource_type, NestedType) else {}
    if not aliases:
        return environment
    return replace(environment, registry=environment.registry.with_aliases(aliases))


def facade_errors(real: ResourceType, provider: ResourceType, facade: str) -> list[str]:
    """Return what keeps a template from standing in for a type.

    Args:
        real: the type that the template stands for.
        provider: the template's type.
        facade: the name of ``real``.
    """
    return [
        *_property_errors(real, provider, facade),
        *(
            f"Provider requires property {name} unknown in facade {facade}"
            for name, extra in provider.schema.properties.items()
            if extra.required and name not in real.schema.properties
        ),
        *(
            f"Attribute {name} for facade {facade} missing in provider"
            for name in real.schema.attributes
            if name not in provider.schema.attributes
        ),
    ]


def _property_errors(real: ResourceType, provider: ResourceType, facade: str) -> list[str]:
    found = []
    for name, expected in real.schema.properties.items():
        if name not in provider.schema.properties:
            if expected.required:
                found.append(f"Required property {name} for facade {facade} missing in provider")
            continue
        actual = provider.schema.properties[name].type
        if isinstance(provider, TemplateResource):
            actual = provider.facade_property_types.get(name, actual)
        types = {_comparable(actual), _comparable(expected.type)}
        if PropertyType.ANY not in types and len(types) > 1:
            found.append(
                f"Property {name} type mismatch between facade {facade}"
                f" ({expected.type.capitalize()}) and provider ({actual.capitalize()})"
            )
    return found


def _comparable(property_type: PropertyType) -> PropertyType:
    return PropertyType.NUMBER if property_type is PropertyType.INTEGER else property_type
