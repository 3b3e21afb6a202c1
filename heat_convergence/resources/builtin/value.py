"""``OS::Heat::Value``: a value of an optional type, which is read as an attribute.

Decides how the value converts to that type. Loaded by entry point. It must not change a value
without a type.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.property_conversion import (
    ConversionError,
    to_boolean,
    to_list,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.type_schema import EMPTY_VALUES
from heat_convergence.template.diagnostics import error_text
from heat_convergence.template.parameters.constraints import AllowedValues
from heat_convergence.template.parameters.parameter_schemas import (
    InvalidParameterValue,
    ParameterSchema,
    ParameterType,
)

Json = Any

# Types of values: as a parameter, and as a property.
_TYPES: Mapping[str, tuple[ParameterType, PropertyType]] = {
    "string": (ParameterType.STRING, PropertyType.STRING),
    "number": (ParameterType.NUMBER, PropertyType.NUMBER),
    "comma_delimited_list": (ParameterType.COMMA_DELIMITED_LIST, PropertyType.LIST),
    "json": (ParameterType.JSON, PropertyType.MAP),
    "boolean": (ParameterType.BOOLEAN, PropertyType.BOOLEAN),
}

# Where a property takes less than a parameter: no text with commas, no other words than true
# and false.
_PROPERTY_CHECKS: Mapping[PropertyType, Callable[[Json], Json]] = {
    PropertyType.LIST: to_list,
    PropertyType.BOOLEAN: to_boolean,
}


class Value(LocalType):
    """A value that a template names once and reads several times."""

    name = "OS::Heat::Value"
    schema = TypeSchema(
        description="A resource which exposes its value property as an attribute.",
        support_status=SupportStatus(version="7.0.0"),
        properties={
            "value": PropertySchema(
                type=PropertyType.ANY,
                description="The value of the attribute value.",
                required=True,
                update_allowed=True,
            ),
            "type": PropertySchema(
                type=PropertyType.STRING,
                description="The type to convert the value to; without it the value is unchanged.",
                update_allowed=True,
                constraints=(AllowedValues(tuple(_TYPES)),),
            ),
        },
        attributes={"value": AttributeSchema(description="The value, converted to its type.")},
    )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        """Convert the value.

        Raises:
            StackValidationFailed: It is not of the type.
        """
        try:
            return {"value": convert_value(properties.get("type"), properties.get("value"))}
        except InvalidParameterValue as error:
            text = error_text("Property error", ("properties", "value"), str(error))
            raise StackValidationFailed(text) from error

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that the value converts to the type."""
        if "value" not in properties:
            return
        try:
            convert_value(properties.get("type"), properties["value"])
        except InvalidParameterValue as error:
            raise StackValidationFailed(str(error), path="value") from error


def convert_value(value_type: str | None, value: Json) -> Json:
    """Convert a value as a parameter of that type is converted, null to the empty value.

    Raises:
        InvalidParameterValue: It cannot be converted.
    """
    if value_type is None:
        return value
    parameter_type, property_type = _TYPES[value_type]
    if value is None:
        return EMPTY_VALUES[property_type]
    check = _PROPERTY_CHECKS.get(property_type)
    if check is not None:
        _require(check, value)
    return ParameterSchema("value", parameter_type).convert(value)


def _require(check: Callable[[Json], Json], value: Json) -> None:
    """Refuse what a property of the type refuses.

    Raises:
        InvalidParameterValue: The value does not convert.
    """
    try:
        check(value)
    except ConversionError as error:
        raise InvalidParameterValue(str(error)) from error
