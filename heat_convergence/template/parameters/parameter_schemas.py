"""Parameter declarations: types, defaults and constraints.

Decides whether a declaration is valid and how a value is converted.  Called by
``Template`` and by ``parameter_values``.  Must not know environments.

Source: docs/reference/template-language.rst, "Parameter schema".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heat_convergence.common.errors import InvalidSchemaError
from heat_convergence.common.strict_json import check_number, parse_json
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase, did_you_mean
from heat_convergence.template.evaluation_budget import current_budget
from heat_convergence.template.parameters import constraint_parser
from heat_convergence.template.parameters.constraints import (
    NO_CUSTOM_CONSTRAINTS,
    Constraint,
    CustomConstraint,
    CustomConstraintFunction,
)
from heat_convergence.template.parsing.template_versions import TemplateFormat, TemplateVersion

Json = Any

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})
_BOOLEANS = ", ".join(repr(word) for word in sorted(_TRUE | _FALSE))


class ParameterType(StrEnum):
    """The parameter types, with the API's names for them."""

    STRING = "String"
    NUMBER = "Number"
    COMMA_DELIMITED_LIST = "CommaDelimitedList"
    JSON = "Json"
    BOOLEAN = "Boolean"


_HOT_TYPES = {
    "string": ParameterType.STRING,
    "number": ParameterType.NUMBER,
    "comma_delimited_list": ParameterType.COMMA_DELIMITED_LIST,
    "json": ParameterType.JSON,
    "boolean": ParameterType.BOOLEAN,
}


class InvalidParameterValue(Exception):
    """A type or constraint rejects the value; the text says why.

    ``is_author_message`` marks a text of the template's author, which cannot reveal the
    value.
    """

    def __init__(self, text: str, *, is_author_message: bool = False) -> None:
        super().__init__(text)
        self.is_author_message = is_author_message


@dataclass(frozen=True, slots=True)
class ParameterSchema:
    """One parameter declaration.

    Attributes:
        default: The default as written; None is no default.
        hidden: Whether values are shown as ``******`` and must be stored encrypted.
        immutable: Whether an update may not change the value.
        constraint_description: A text of the author for violations of any constraint (CFN).
    """

    name: str
    type: ParameterType
    default: Json = None
    description: str = ""
    label: str | None = None
    hidden: bool = False
    immutable: bool = False
    tags: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    constraint_description: str | None = None

    def convert(self, value: Json) -> Json:
        """Return the value converted to this type; raises ``InvalidParameterValue``."""
        return _CONVERTERS[self.type](value)

    def validate(
        self, value: Json, custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    ) -> None:
        """Raise ``InvalidParameterValue`` for the first violated constraint.

        Without ``custom_constraints``, custom constraints are not checked.
        """
        for constraint in self.constraints:
            if isinstance(constraint, CustomConstraint) and custom_constraints is None:
                continue
            violation = constraint.find_violation(
                value, custom_constraints or NO_CUSTOM_CONSTRAINTS
            )
            if violation:
                described = self.constraint_description or constraint.description
                raise InvalidParameterValue(
                    described or violation, is_author_message=bool(described)
                )

    def validate_default(
        self, value: Json, custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    ) -> None:
        """Validate a default value; an empty default is a placeholder and passes.

        Large public template collections rely on such defaults.
        """
        if value not in ("", {}, []):
            self.validate(value, custom_constraints)


def _to_string(value: Json) -> str:
    if isinstance(value, dict | list):
        raise InvalidParameterValue("Value must be a string")
    return value if isinstance(value, str) else str(value)


def _to_number(value: Json) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        for number_type in (int, float):
            try:
                number = number_type(value)
            except ValueError:
                continue
            with contextlib.suppress(ValueError):
                check_number(number)
                return number
    raise InvalidParameterValue(f"could not convert string to float: {_shortened(value)}")


def _to_boolean(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise InvalidParameterValue(
        f"Unrecognized value {_shortened(value)}, acceptable values are: {_BOOLEANS}"
    )


def _to_list(value: Json) -> list[str]:
    if isinstance(value, str):
        return value.split(",") if value else []
    if isinstance(value, list):
        return [item if isinstance(item, str) else str(item) for item in value]
    raise InvalidParameterValue("Value must be a comma-delimited list string or a list")


def _to_json(value: Json) -> Json:
    if isinstance(value, dict | list):
        return value
    if value == "":
        return {}
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except (ValueError, RecursionError) as error:
            raise InvalidParameterValue(f"Value must be valid JSON: {error}") from error
        if isinstance(value, dict | list):
            return value
    raise InvalidParameterValue("Value must be valid JSON: a map or a list is expected")


_CONVERTERS: Mapping[ParameterType, Callable[[Json], Json]] = {
    ParameterType.STRING: _to_string,
    ParameterType.NUMBER: _to_number,
    ParameterType.BOOLEAN: _to_boolean,
    ParameterType.COMMA_DELIMITED_LIST: _to_list,
    ParameterType.JSON: _to_json,
}


def _shortened(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def parse_parameter_schemas(
    section: Json, version: TemplateVersion, diagnostics: Diagnostics
) -> dict[str, ParameterSchema]:
    """Return the valid declarations and add errors to ``diagnostics``."""
    where = version.dialect.parameters
    if not isinstance(section, dict):
        diagnostics.add(
            ValidationPhase.PARAMETERS, f"The section {where} must be a map.", (where,)
        )
        return {}
    schemas = {}
    budget = current_budget()
    for name, declared in section.items():
        budget.location = (where, name)
        try:
            schemas[name] = parse_parameter_schema(name, declared, version)
        except InvalidSchemaError as error:
            diagnostics.add(ValidationPhase.PARAMETERS, error, (where, name))
    return schemas


def parse_parameter_schema(name: str, declared: Json, version: TemplateVersion) -> ParameterSchema:
    """Parse one declaration.

    Raises:
        InvalidSchemaError: The declaration is wrong.
    """

    def invalid(message: str) -> InvalidSchemaError:
        return InvalidSchemaError(f"Parameter '{name}' is invalid: {message}")

    if not isinstance(declared, dict):
        raise invalid("the declaration must be a map")
    for key in declared:
        if key not in version.parameter_keys:
            hint = did_you_mean(key, version.parameter_keys)
            raise InvalidSchemaError(f"Invalid key '{key}' for parameter ({name}){hint}")
    try:
        if version.template_format is TemplateFormat.HOT:
            schema = _hot_schema(name, declared, version)
        else:
            schema = _cfn_schema(name, declared, version)
        _check_default(schema)
    except constraint_parser.InvalidConstraintKey as error:
        raise InvalidSchemaError(f"{error} (of parameter {name})") from error
    except (constraint_parser.InvalidDeclaration, InvalidParameterValue) as error:
        raise invalid(str(error)) from error
    return schema


def _type(name: str, declared: Json, types: Mapping[str, ParameterType]) -> ParameterType:
    if declared is None:
        raise InvalidSchemaError(f"Missing parameter type for parameter: {name}")
    if not isinstance(declared, str) or declared not in types:
        raise InvalidSchemaError(
            f"Invalid type ({declared}) of parameter {name}: it is not one of {', '.join(types)}"
            f"{did_you_mean(declared, types)}"
        )
    return types[declared]


def _hot_schema(name: str, declared: dict[str, Json], version: TemplateVersion) -> ParameterSchema:
    parameter_type = _type(name, declared.get("type"), _HOT_TYPES)
    return ParameterSchema(
        name=name,
        type=parameter_type,
        default=declared.get("default"),
        description=_text(declared.get("description")),
        label=declared.get("label") and str(declared["label"]),
        hidden=_flag("hidden", declared.get("hidden")),
        immutable=_flag("immutable", declared.get("immutable")),
        tags=_tags(declared.get("tags")),
        constraints=constraint_parser.parse_hot_constraints(
            declared.get("constraints"), parameter_type.value, version.parameter_constraints
        ),
    )


def _cfn_schema(name: str, declared: dict[str, Json], version: TemplateVersion) -> ParameterSchema:
    types = {name: ParameterType(name) for name in version.parameter_types}
    parameter_type = _type(name, declared.get("Type"), types)
    description = declared.get("ConstraintDescription")
    return ParameterSchema(
        name=name,
        type=parameter_type,
        default=declared.get("Default"),
        description=_text(declared.get("Description")),
        label=declared.get("Label") and str(declared["Label"]),
        hidden=str(declared.get("NoEcho", "")).lower() == "true",
        constraints=constraint_parser.parse_cfn_constraints(declared, parameter_type.value),
        constraint_description=description and str(description),
    )


def _check_default(schema: ParameterSchema) -> None:
    if schema.default is None:
        return
    try:
        default = schema.convert(schema.default)
    except InvalidParameterValue:
        return  # reported where it is the parameter's value
    try:
        schema.validate_default(default)
    except InvalidParameterValue as error:
        raise InvalidParameterValue(f"Invalid default {schema.default} ({error})") from error


def _text(value: Json) -> str:
    return "" if value is None else str(value)


def _flag(key: str, value: Json) -> bool:
    if value is None:
        return False
    try:
        return _to_boolean(value)
    except InvalidParameterValue as error:
        raise constraint_parser.InvalidDeclaration(f"{key}: {error}") from error


def _tags(value: Json) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(tag.strip() for tag in value.split(","))
    if isinstance(value, list):
        return tuple(str(tag) for tag in value)
    raise constraint_parser.InvalidDeclaration("tags must be a list")
