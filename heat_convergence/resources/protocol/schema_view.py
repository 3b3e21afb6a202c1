"""Schemas of resource types as clients read them, and templates generated from them.

Decides which parts of a schema are shown. Called by the registry for the api. It must not know
requests, policies or values.

Source: docs/reference/rest-api.rst, views ``resource_schema`` and ``template``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.resources.protocol.type_schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parsing.template_versions import (
    CFN_DIALECT,
    HOT_DIALECT,
    HOT_KEY,
    LEGACY_CFN_KEY,
    Dialect,
)

Json = Any

_STACK_ID_OUTPUT = "OS::stack_id"  # the reference of a resource made from the template

_HOT_TYPES: Mapping[PropertyType, str] = {
    PropertyType.STRING: "string",
    PropertyType.ANY: "string",
    PropertyType.INTEGER: "number",
    PropertyType.NUMBER: "number",
    PropertyType.BOOLEAN: "boolean",
    PropertyType.MAP: "json",
    PropertyType.LIST: "comma_delimited_list",
}
_CFN_TYPES: Mapping[str, str] = {
    "string": "String",
    "number": "Number",
    "boolean": "Boolean",
    "json": "Json",
    "comma_delimited_list": "CommaDelimitedList",
}
_CFN_BOUNDS: Mapping[str, Mapping[str, str]] = {
    "range": {"min": "MinValue", "max": "MaxValue"},
    "length": {"min": "MinLength", "max": "MaxLength"},
}
_CFN_PLAIN: Mapping[str, str] = {
    "allowed_values": "AllowedValues",
    "allowed_pattern": "AllowedPattern",
}


def render_schema(name: str, schema: TypeSchema) -> dict[str, Json]:
    """Return the view ``resource_schema``, without hidden properties and attributes."""
    return {
        "resource_type": name,
        "properties": {
            key: _property(declared)
            for key, declared in schema.properties.items()
            if not declared.support_status.hidden
        },
        "attributes": {
            key: _attribute(declared)
            for key, declared in schema.all_attributes.items()
            if not declared.support_status.hidden
        },
        "support_status": _support(schema.support_status),
    }


def generate_template(name: str, schema: TypeSchema, template_type: str) -> dict[str, Json]:
    """Return a template with one resource of the type.

    It has a parameter for each property and an output for each attribute.

    Args:
        name: The resource type's name.
        schema: The resource type's schema.
        template_type: ``hot`` or ``cfn``.
    """
    properties = {
        key: declared
        for key, declared in schema.properties.items()
        if declared.implemented and not declared.support_status.hidden
    }
    attributes = {
        key: declared
        for key, declared in schema.all_attributes.items()
        if not declared.support_status.hidden
    }
    return _template(_STYLES[template_type], name, properties, attributes)


def _property(declared: PropertySchema) -> dict[str, Json]:
    shown: dict[str, Json] = {"type": str(declared.type)}
    if declared.description:
        shown["description"] = declared.description
    if declared.default is not None:
        shown["default"] = declared.default
    if declared.schema is not None:
        shown["schema"] = {key: _property(item) for key, item in declared.schema.items()}
    if declared.item is not None:
        shown["schema"] = {"*": _property(declared.item)}
    shown["required"] = declared.required
    if declared.constraints:
        shown["constraints"] = [rule.to_dict() for rule in declared.constraints]
    shown["update_allowed"] = declared.update_allowed
    shown["immutable"] = declared.immutable
    return shown


def _attribute(declared: AttributeSchema) -> dict[str, Json]:
    shown: dict[str, Json] = {}
    if declared.description:
        shown["description"] = declared.description
    if declared.type is not None:
        shown["type"] = str(declared.type)
    return shown


def _support(support: SupportStatus) -> dict[str, Json]:
    return {
        "status": str(support.status),
        "message": support.message,
        "version": support.version,
        "previous_status": None if support.previous is None else _support(support.previous),
    }


def _template(
    style: _Style,
    name: str,
    properties: Mapping[str, PropertySchema],
    attributes: Mapping[str, AttributeSchema],
) -> dict[str, Json]:
    words, resource = style.words, _resource_name(name)
    return {
        style.key: style.date,
        words.description: f"Initial template of {resource}",
        words.parameters: {key: _parameter(item, style) for key, item in properties.items()},
        words.resources: {
            resource: {
                words.type: name,
                words.properties: {key: {style.parameter: key} for key in properties},
            }
        },
        words.outputs: {
            **{
                key: {**_described(item, words), words.value: {style.attribute: [resource, key]}}
                for key, item in attributes.items()
            },
            _STACK_ID_OUTPUT: {words.value: {style.reference: resource}},
        },
    }


def _parameter(declared: PropertySchema, style: _Style) -> dict[str, Json]:
    parameter_type = _parameter_type(declared)
    shown = {
        style.words.type: style.types.get(parameter_type, parameter_type),
        **_described(declared, style.words),
    }
    default = _default(declared, parameter_type)
    if default is not None:
        shown[style.default] = default
    return {**shown, **style.constraints(declared)}


def _hot_constraints(declared: PropertySchema) -> dict[str, Json]:
    if not declared.constraints:
        return {}
    return {"constraints": [rule.to_dict() for rule in declared.constraints]}


def _cfn_constraints(declared: PropertySchema) -> dict[str, Json]:
    shown = {}
    for rule in declared.constraints:
        for key, body in rule.to_dict().items():
            for bound, cfn_name in _CFN_BOUNDS.get(key, {}).items():
                if bound in body:
                    shown[cfn_name] = body[bound]
            if key in _CFN_PLAIN:
                shown[_CFN_PLAIN[key]] = body
    return shown


@dataclass(frozen=True, slots=True)
class _Style:
    """The keys and functions of one template language."""

    key: str
    date: str
    words: Dialect
    parameter: str
    reference: str
    attribute: str
    default: str
    types: Mapping[str, str]
    constraints: Callable[[PropertySchema], dict[str, Json]]


_STYLES: Mapping[str, _Style] = {
    "hot": _Style(HOT_KEY, "2016-10-14", HOT_DIALECT, "get_param", "get_resource",
                  "get_attr", "default", {}, _hot_constraints),
    "cfn": _Style(LEGACY_CFN_KEY, "2012-12-12", CFN_DIALECT, "Ref", "Ref",
                  "Fn::GetAtt", "Default", _CFN_TYPES, _cfn_constraints),
}  # fmt: skip


def _parameter_type(declared: PropertySchema) -> str:
    """Return the type of a property's parameter.

    A list of maps cannot be written with commas and becomes JSON.
    """
    if declared.item is not None and declared.item.type in (PropertyType.MAP, PropertyType.LIST):
        return "json"
    return _HOT_TYPES[declared.type]


def _default(declared: PropertySchema, parameter_type: str) -> Json:
    if declared.default is None:
        return None
    if parameter_type == "comma_delimited_list":
        return ",".join(str(item) for item in declared.default)
    if parameter_type == "json":
        return json.dumps(declared.default)
    return declared.default


def _described(declared: PropertySchema | AttributeSchema, words: Dialect) -> dict[str, Json]:
    return {words.description: declared.description} if declared.description else {}


def _resource_name(type_name: str) -> str:
    """Return the last part of the type's name, in letters and digits."""
    last = type_name.rsplit("::", 1)[-1]
    return "".join(letter for letter in last if letter.isalnum()) or "Resource"
