"""Templates in the place of types: parameters are properties, outputs are attributes.

Decides the schema that a template stands for, and how properties become the nested
stack's parameters.  Source: docs/reference/resource-groups.rst, "template resource".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from heat_convergence.common.errors import InvalidTemplateAttribute
from heat_convergence.resources.nested.nested_type import (
    MEMBER_ATTRIBUTE_PREFIX,
    REFERENCE_ID_KEY,
    AttributePath,
    AttributeRecorder,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedType,
    NestedTypeSchema,
    attribute_path_key,
    replace_unresolved,
    stack_arn,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.resources.protocol.type_schema import EMPTY_VALUES
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.template.parameters.parameter_schemas import ParameterSchema, ParameterType
from heat_convergence.template.template import Template

Json = Any
_SHOW = "show"
STACK_ID_OUTPUT = "OS::stack_id"

_TYPES = {
    ParameterType.STRING: PropertyType.STRING,
    ParameterType.NUMBER: PropertyType.NUMBER,
    ParameterType.BOOLEAN: PropertyType.BOOLEAN,
    # Read by the parameter itself, which takes text, lists and maps for them.
    ParameterType.COMMA_DELIMITED_LIST: PropertyType.ANY,
    ParameterType.JSON: PropertyType.ANY,
}
_FACADES = {
    **_TYPES,
    ParameterType.COMMA_DELIMITED_LIST: PropertyType.LIST,
    ParameterType.JSON: PropertyType.MAP,
}


class TemplateResource(NestedType):
    """The type of any template; ``for_template`` returns that of a certain one."""

    name = "OS::Heat::TemplateResource"
    generated_types: ClassVar[frozenset[str] | None] = frozenset()
    schema: TypeSchema = NestedTypeSchema(  # type: ignore[misc]
        description="A template in the place of a type.",
        accepts_any_property=True,
        accepts_any_attribute=True,
        keeps_nulls=True,  # the template's parameters say what they stand for
    )

    facade_property_types: Mapping[str, PropertyType] = MappingProxyType({})
    """The types of its properties, to compare with those of a type that it stands for."""

    @classmethod
    def for_template(
        cls, template: Template, preset_parameters: Collection[str] = ()
    ) -> TemplateResource:
        """Return the type that the template stands for.

        Args:
            template: the template.
            preset_parameters: parameters that a resource need not set.

        Raises:
            Error: a mistake in the template's parameters.
        """
        found = cls()
        found.schema = schema_from_template(template, preset_parameters)
        found.facade_property_types = {
            name: _FACADES[schema.type] for name, schema in template.parameters.items()
        }
        return found

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template with the properties as its parameters."""
        template = request.files.template(request.implementation)  # raises its mistakes
        parameters = {
            name: _parameter_value(template.parameters.get(name), value)
            for name, value in request.properties.items()
        }
        return NestedStackSource(request.files[request.implementation], parameters=parameters)

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template with ``UNKNOWN`` for properties that are not known yet."""
        return self.source(request.with_properties(replace_unresolved(request.properties)))

    def error_path_suffix(self, request: NestedStackRequest) -> str:
        """Return the template's name in angle brackets."""
        return f"<{request.implementation}>"

    def read_attributes(
        self, view: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the outputs, the members' attributes that are read, and the reference."""
        outputs, errors = view.evaluate_outputs()
        recorder = AttributeRecorder()
        recorder.errors = {attribute_path_key((name,)): why for name, why in errors.items()}
        for read in reads:
            if read[0].startswith(MEMBER_ATTRIBUTE_PREFIX):
                name = read[0].removeprefix(MEMBER_ATTRIBUTE_PREFIX)
                recorder.record(read, partial(view.existing_member_value, name, name, read[1:]))
        stack = view.stack
        reference = outputs.get(STACK_ID_OUTPUT) or stack_arn(
            stack.project_id, stack.name, stack.id
        )
        return {**outputs, REFERENCE_ID_KEY: reference, **recorder.as_attributes()}

    def attribute_at_path(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        """Return the output.

        Raises:
            TemplateOutputError: it could not be evaluated.
            InvalidTemplateAttribute: the template has no such output.
        """
        known = name in view.attributes or name == _SHOW or REFERENCE_ID_KEY not in view.attributes
        if not known and not name.startswith(MEMBER_ATTRIBUTE_PREFIX):
            raise InvalidTemplateAttribute(
                f"The Referenced Attribute ({view.name} {name}) is incorrect."
            )
        return super().attribute_at_path(view, name, path)

    def reference_id(self, view: ResourceContext) -> Json:
        """Return the ``OS::stack_id`` output, else the nested stack's identifier."""
        found = view.attributes.get(REFERENCE_ID_KEY)
        if found is None and view.physical_id is not None:
            return stack_arn(view.project_id, view.physical_name, view.physical_id)
        return found or view.name


def schema_from_template(
    template: Template, preset_parameters: Collection[str] = ()
) -> NestedTypeSchema:
    """Return the schema that the template stands for.

    Args:
        template: the template.
        preset_parameters: parameters that a resource need not set.
    """
    outputs = template.section(template.version.dialect.outputs)
    return NestedTypeSchema(
        description=template.description,
        reports_missing_attributes=True,
        properties={
            name: _property(
                schema, required=schema.default is None and name not in preset_parameters
            )
            for name, schema in template.parameters.items()
        },
        attributes={
            name: AttributeSchema(description=_description(output, template))
            for name, output in (outputs if isinstance(outputs, dict) else {}).items()
        },
    )


def _property(schema: ParameterSchema, *, required: bool) -> PropertySchema:
    property_type = _TYPES[schema.type]
    return PropertySchema(
        type=property_type,
        description=schema.description,
        required=required,
        constraints=() if property_type is PropertyType.ANY else schema.constraints,
        update_allowed=True,
        empty_value=EMPTY_VALUES[_FACADES[schema.type]],
    )


def _parameter_value(schema: ParameterSchema | None, value: Json) -> Json:
    """Return a property's value as the value of the template's parameter.

    Null becomes the empty value of the parameter's type; in a comma-delimited list, null becomes
    an empty text and a map ``.member.N.KEY=VALUE``.
    """
    if schema is None:
        return value
    if value is None:
        return EMPTY_VALUES[_FACADES[schema.type]]
    if schema.type is not ParameterType.COMMA_DELIMITED_LIST or not isinstance(value, list):
        return value
    if value and all(isinstance(each, Mapping) for each in value):
        return [
            f".member.{at}.{key}={item}"
            for at, each in enumerate(value)
            for key, item in each.items()
        ]
    return ["" if each is None else each for each in value]


def _description(output: Json, template: Template) -> str:
    key = template.version.dialect.description
    found = output.get(key) if isinstance(output, Mapping) else None
    return "" if found is None else str(found)
