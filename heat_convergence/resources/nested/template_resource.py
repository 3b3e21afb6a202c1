"""A template in the place of a type: its parameters are the properties, its outputs
the attributes.

Decides the schema that a template stands for, and how properties become the nested
stack's parameters.  Source: heat-facts ``resource_groups.md``, "template resource".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

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
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.template.parameters.parameter_schemas import ParameterSchema, ParameterType
from heat_convergence.template.template import Template

Json = Any
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
    """Any template; ``of`` gives one with the schema of a certain one."""

    name = "OS::Heat::TemplateResource"
    schema: TypeSchema = NestedTypeSchema(  # type: ignore[misc]
        description="A template in the place of a type.",
        accepts_any_property=True,
        accepts_any_attribute=True,
    )

    facade_property_types: Mapping[str, PropertyType] = MappingProxyType({})
    """Of its properties, as those of a type that it may stand for are compared."""

    @classmethod
    def for_template(
        cls, template: Template, preset_parameters: Collection[str] = ()
    ) -> TemplateResource:
        """Raises what is wrong with the template's parameters."""
        made = cls()
        made.schema = schema_from_template(template, preset_parameters)  # type: ignore[misc]
        made.facade_property_types = {
            name: _FACADES[schema.type] for name, schema in template.parameters.items()
        }
        return made

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        template = ask.files.template(ask.implementation)  # tells what is wrong with it
        given = {name: value for name, value in ask.properties.items() if value is not None}
        if any(map(_has_maps, given.values())):
            given = _as_members(given, template.parameters)
        return NestedStackSource(ask.files[ask.implementation], parameters=given)

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        return self.source(ask.with_properties(replace_unresolved(ask.properties)))

    def error_path_suffix(self, ask: NestedStackRequest) -> str:
        return f"<{ask.implementation}>"

    def read_attributes(
        self, behind: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        outputs, untold = behind.evaluate_outputs()
        reading = AttributeRecorder()
        reading.errors = {attribute_path_key((name,)): why for name, why in untold.items()}
        for read in reads:
            if read[0].startswith(MEMBER_ATTRIBUTE_PREFIX):
                name = read[0].removeprefix(MEMBER_ATTRIBUTE_PREFIX)
                reading.record(read, partial(behind.existing_member_value, name, name, read[1:]))
        stack = behind.stack
        reference = outputs.get(STACK_ID_OUTPUT) or stack_arn(
            stack.project_id, stack.name, stack.id
        )
        return {**outputs, REFERENCE_ID_KEY: reference, **reading.as_attributes()}

    def reference_id(self, view: ResourceContext) -> Json:
        found = view.attributes.get(REFERENCE_ID_KEY)
        if found is None and view.physical_id is not None:
            return stack_arn(view.project_id, view.physical_name, view.physical_id)
        return found or view.name


def schema_from_template(
    template: Template, preset_parameters: Collection[str] = ()
) -> NestedTypeSchema:
    """What the template stands for as a type; ``given`` are parameters that need not be
    set."""
    outputs = template.section(template.version.dialect.outputs)
    return NestedTypeSchema(
        description=template.description,
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
    kind = _TYPES[schema.type]
    return PropertySchema(
        type=kind,
        description=schema.description,
        required=required,
        constraints=() if kind is PropertyType.ANY else schema.constraints,
        update_allowed=True,
    )


def _has_maps(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(m, Mapping) for m in value)


def _as_members(
    given: Mapping[str, Json], parameters: Mapping[str, ParameterSchema]
) -> dict[str, Json]:
    """With ``.member.N.KEY=VALUE`` for maps in what is to be a comma-delimited list."""
    found = dict(given)
    for name, schema in parameters.items():
        value = given.get(name)
        if schema.type is ParameterType.COMMA_DELIMITED_LIST and _has_maps(value):
            found[name] = [
                f".member.{at}.{key}={item}"
                for at, each in enumerate(value)
                for key, item in each.items()
            ]
    return found


def _description(output: Json, template: Template) -> str:
    key = template.version.dialect.description
    found = output.get(key) if isinstance(output, Mapping) else None
    return "" if found is None else str(found)
