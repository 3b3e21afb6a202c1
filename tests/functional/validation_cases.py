"""The templates, properties and names of docs/reference/validation.rst as data."""

from __future__ import annotations

from typing import Any

Json = Any
# Name, template or body, error type, a piece of the message.
ValidationCase = tuple[str, Json, str, str]

STACK_VALIDATION_FAILED = "StackValidationFailed"
HOT_VERSION = "2016-10-14"


def hot_template(version: str = HOT_VERSION, **sections: Json) -> dict[str, Json]:
    return {"heat_template_version": version, **sections}


def template_with_resource(
    definition: Json, version: str = HOT_VERSION, **sections: Json
) -> dict[str, Json]:
    """A template with the resource ``r``."""
    return hot_template(version, resources={"r": definition}, **sections)


def value_resource(of: Json, **keys: Json) -> dict[str, Json]:
    return {"type": "OS::Heat::Value", "properties": {"value": of}, **keys}


def template_with_parameter(declared: Json, version: str = HOT_VERSION) -> dict[str, Json]:
    return hot_template(version, parameters={"p": declared})


RANDOM_STRING = "OS::Heat::RandomString"

# -- parameters ---------------------------------------------------------------

PARAMETERS: list[ValidationCase] = [
    (
        "required and missing",
        {"template": template_with_parameter({"type": "string"})},
        "UserParameterMissing",
        "p",
    ),
    (
        "not declared",
        {"template": hot_template(), "parameters": {"x": 1}},
        "UnknownUserParameter",
        "x",
    ),
    (
        "constraint failing",
        {
            "template": template_with_parameter(
                {"type": "string", "constraints": [{"length": {"max": 2}}]}
            ),
            "parameters": {"p": "long"},
        },
        STACK_VALIDATION_FAILED,
        "p",
    ),
    (
        "bad number",
        {"template": template_with_parameter({"type": "number"}), "parameters": {"p": "x"}},
        STACK_VALIDATION_FAILED,
        "p",
    ),
    (
        "bad boolean",
        {"template": template_with_parameter({"type": "boolean"}), "parameters": {"p": "x"}},
        STACK_VALIDATION_FAILED,
        "p",
    ),
    (
        "bad json",
        {"template": template_with_parameter({"type": "json"}), "parameters": {"p": "x"}},
        STACK_VALIDATION_FAILED,
        "p",
    ),
    (
        "unknown type of parameter",
        {"template": template_with_parameter({"type": "colour"})},
        "InvalidSchemaError",
        "colour",
    ),
    (
        "missing type of parameter",
        {"template": template_with_parameter({})},
        "InvalidSchemaError",
        "p",
    ),
    (
        "unknown key of parameter",
        {"template": template_with_parameter({"type": "string", "x": 1})},
        "InvalidSchemaError",
        "x",
    ),
    (
        "bad constraint",
        {"template": template_with_parameter({"type": "string", "constraints": [{"x": 1}]})},
        "InvalidSchemaError",
        "x",
    ),
    (
        "invalid default",
        {"template": template_with_parameter({"type": "number", "default": "x"})},
        "StackValidationFailed",
        "x",
    ),
    (
        "modulo too early",
        {
            "template": template_with_parameter(
                {
                    "type": "number",
                    "default": 2,
                    "constraints": [{"modulo": {"step": 2, "offset": 0}}],
                }
            )
        },
        "InvalidSchemaError",
        "modulo",
    ),
    (
        "tags too early",
        {"template": template_with_parameter({"type": "string", "tags": ["a"]})},
        "InvalidSchemaError",
        "tags",
    ),
    (
        "custom constraint unknown",
        {
            "template": template_with_parameter(
                {"type": "string", "constraints": [{"custom_constraint": "x"}]}
            ),
            "parameters": {"p": "v"},
        },
        STACK_VALIDATION_FAILED,
        "x",
    ),
]

# -- properties ---------------------------------------------------------------

PROPERTIES: list[ValidationCase] = [
    (
        "unknown property",
        template_with_resource({"type": RANDOM_STRING, "properties": {"x": 1}}),
        STACK_VALIDATION_FAILED,
        "resources.r.properties",
    ),
    (
        "required missing",
        template_with_resource({"type": "OS::Heat::Value"}),
        STACK_VALIDATION_FAILED,
        "value",
    ),
    (
        "wrong type",
        template_with_resource({"type": RANDOM_STRING, "properties": {"length": "x"}}),
        STACK_VALIDATION_FAILED,
        "resources.r.properties.length",
    ),
    (
        "constraint failing",
        template_with_resource({"type": RANDOM_STRING, "properties": {"length": 0}}),
        STACK_VALIDATION_FAILED,
        "resources.r.properties.length",
    ),
    (
        "integer with a fraction in text",
        template_with_resource({"type": RANDOM_STRING, "properties": {"length": "10.7"}}),
        STACK_VALIDATION_FAILED,
        "length",
    ),
    (
        "boolean from a number",
        template_with_resource({"type": "OS::Heat::TestResource", "properties": {"fail": 1}}),
        STACK_VALIDATION_FAILED,
        "fail",
    ),
    (
        "string from a list",
        template_with_resource({"type": RANDOM_STRING, "properties": {"salt": ["a"]}}),
        STACK_VALIDATION_FAILED,
        "salt",
    ),
    (
        "list from a string",
        template_with_resource({"type": RANDOM_STRING, "properties": {"character_classes": "a"}}),
        STACK_VALIDATION_FAILED,
        "character_classes",
    ),
]

# -- names --------------------------------------------------------------------

NAMES: list[ValidationCase] = [
    ("begins with a digit", "1a", STACK_VALIDATION_FAILED, "1a"),
    ("has a slash", "a/b", STACK_VALIDATION_FAILED, "a/b"),
    ("too long", "a" * 256, STACK_VALIDATION_FAILED, "255"),
    ("a number", 5, "StackValidationFailed", "name"),
    ("missing", None, "HTTPBadRequest", "name"),
]

ACCEPTED: list[tuple[str, Json]] = [
    (
        "unknown key of a CFN resource",
        {
            "HeatTemplateFormatVersion": "2012-12-12",
            "Resources": {"r": {"Type": "OS::Heat::None", "Colour": "blue"}},
        },
    ),
    ("unknown key of an output", hot_template(outputs={"o": {"value": 1, "colour": "blue"}})),
    ("unknown function name", template_with_resource(value_resource({"no_such": [1]}))),
    ("unknown parameter of an output", hot_template(outputs={"o": {"value": {"get_param": "x"}}})),
    (
        "integer from a fraction",
        template_with_resource({"type": RANDOM_STRING, "properties": {"length": 10.7}}),
    ),
    (
        "boolean from text",
        template_with_resource(
            {"type": "OS::Heat::TestResource", "properties": {"fail": "False"}}
        ),
    ),
    (
        "string from an integer",
        template_with_resource({"type": RANDOM_STRING, "properties": {"salt": 5}}),
    ),
    ("empty template", hot_template()),
]
