"""JSON Schema of templates and environments, so that editors complete and check them.

Generated from the resource types and template versions of this installation. Any value may be a
call of a function instead, and types that are not installed may have any properties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.type_schema import (
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.environment.environment import ENVIRONMENT_SECTIONS
from heat_convergence.template.parameters.constraints import AllowedValues
from heat_convergence.template.parsing.template_versions import (
    HOT_DIALECT,
    TEMPLATE_VERSIONS_BY_NAME,
    TemplateVersion,
)

Json = Any
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_HOT_KEY = "heat_template_version"
_FUNCTION = {"$ref": "#/$defs/function"}
# The JSON types that the service converts to each type of property.
_JSON_TYPES: Mapping[PropertyType, list[str]] = {
    PropertyType.STRING: ["string", "number", "boolean"],
    PropertyType.NUMBER: ["number", "string"],
    PropertyType.INTEGER: ["integer", "string"],
    PropertyType.BOOLEAN: ["boolean", "string"],
    PropertyType.MAP: ["object", "string"],
    PropertyType.LIST: ["array", "string"],
}
_PARAMETER_TYPES = ["string", "number", "comma_delimited_list", "json", "boolean"]
_LISTS = frozenset({"encrypted_param_names", "event_sinks"})
_OUTDATED = frozenset({SupportLevel.DEPRECATED, SupportLevel.HIDDEN, SupportLevel.UNSUPPORTED})


def template_schema(types: Iterable[ResourceType]) -> dict[str, Json]:
    """Return the schema of templates in HOT with these resource types."""
    versions = [
        version for (key, _date), version in TEMPLATE_VERSIONS_BY_NAME.items() if key == _HOT_KEY
    ]
    dates = [date for key, date in TEMPLATE_VERSIONS_BY_NAME if key == _HOT_KEY]
    sections = {section for version in versions for section in version.sections}
    described = {
        _HOT_KEY: {"enum": sorted(dates)},
        HOT_DIALECT.description: {"type": "string"},
        HOT_DIALECT.parameters: _named({"$ref": "#/$defs/parameter"}),
        HOT_DIALECT.resources: _named({"$ref": "#/$defs/resource"}),
        HOT_DIALECT.outputs: _named({"type": "object", "required": [HOT_DIALECT.value]}),
    }
    return {
        "$schema": _DIALECT,
        "title": "Heat Orchestration Template",
        "type": "object",
        "required": [_HOT_KEY],
        "properties": {**{name: {} for name in sorted(sections)}, **described},
        "additionalProperties": False,
        "$defs": _definitions(list(types), versions),
    }


def environment_schema() -> dict[str, Json]:
    """Return the schema of environments."""
    return {
        "$schema": _DIALECT,
        "title": "Environment of an orchestration stack",
        "type": "object",
        "properties": {
            name: {"type": "array" if name in _LISTS else "object"}
            for name in ENVIRONMENT_SECTIONS
        },
        "additionalProperties": False,
    }


def _definitions(
    types: Collection[ResourceType], versions: Iterable[TemplateVersion]
) -> dict[str, Json]:
    listed = list(versions)
    functions = {name for version in listed for name in version.functions}
    keys = {key for version in listed for key in version.resource_keys}
    return {
        "function": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "propertyNames": {"enum": sorted(functions)},
        },
        "parameter": {
            "type": "object",
            "required": [HOT_DIALECT.type],
            "properties": {HOT_DIALECT.type: {"enum": _PARAMETER_TYPES}},
        },
        "resource": _resource(types, keys),
        **{each.name: _properties(each.schema) for each in types},
    }


def _resource(types: Collection[ResourceType], keys: Iterable[str]) -> dict[str, Json]:
    names = [each.name for each in types]
    known = {"anyOf": [{"enum": names}, {"type": "string"}]}  # editors complete the first
    return {
        "type": "object",
        "required": [HOT_DIALECT.type],
        "properties": {**{key: {} for key in sorted(keys)}, HOT_DIALECT.type: known},
        "additionalProperties": False,
        "allOf": [_typed_resource(name) for name in names],
    }


def _typed_resource(name: str) -> dict[str, Json]:
    """Return the rule for the properties of one resource type."""
    is_type = {"properties": {HOT_DIALECT.type: {"const": name}}, "required": [HOT_DIALECT.type]}
    properties = {"anyOf": [{"$ref": f"#/$defs/{name}"}, _FUNCTION, {"type": "null"}]}
    return {"if": is_type, "then": {"properties": {HOT_DIALECT.properties: properties}}}


def _properties(schema: TypeSchema) -> dict[str, Json]:
    aliased = {each.alias_of for each in schema.properties.values()}  # an old name may stand
    required = [
        name
        for name, each in schema.properties.items()
        if each.required and each.default is None and name not in aliased
    ]
    return {
        "type": "object",
        "description": schema.description,
        "properties": {name: _property(each) for name, each in schema.properties.items()},
        "required": required,
        "additionalProperties": schema.accepts_any_property,
        **_outdated(schema.support_status),
    }


def _property(schema: PropertySchema) -> dict[str, Json]:
    described: dict[str, Json] = {**_outdated(schema.support_status)}
    if schema.description:
        described["description"] = schema.description
    if schema.default is not None:
        described["default"] = schema.default
    if schema.type is PropertyType.ANY:
        return described
    return {**described, "anyOf": [_FUNCTION, {"type": "null"}, *_values(schema)]}


def _values(schema: PropertySchema) -> list[dict[str, Json]]:
    """Return the schemas of known values of a property."""
    if schema.type is PropertyType.STRING:
        allowed = [each.values for each in schema.constraints if isinstance(each, AllowedValues)]
        if allowed:
            return [{"enum": list(allowed[0])}]
    if schema.schema is not None:
        members = {name: _property(each) for name, each in schema.schema.items()}
        fixed = {"type": "object", "properties": members, "additionalProperties": False}
        return [fixed, {"type": "string"}]
    if schema.item is not None:
        return [{"type": "array", "items": _property(schema.item)}, {"type": "string"}]
    return [{"type": _JSON_TYPES[schema.type]}]


def _outdated(support: SupportStatus) -> dict[str, Json]:
    return {"deprecated": True} if support.status in _OUTDATED else {}


def _named(schema: dict[str, Json]) -> dict[str, Json]:
    return {"type": ["object", "null"], "additionalProperties": schema}
