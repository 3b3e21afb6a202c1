"""``OS::Heat::Value``: a value of an optional type, which is read as an attribute.

Decides which values are of that type. Loaded by entry point. It must not change the value.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.property_conversion import CONVERTERS, ConversionError
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

Json = Any

# Types of values, whose names are those of parameters, as types of properties.
_TYPES: Mapping[str, PropertyType] = {
    "string": PropertyType.STRING,
    "number": PropertyType.NUMBER,
    "comma_delimited_list": PropertyType.LIST,
    "json": PropertyType.MAP,
    "boolean": PropertyType.BOOLEAN,
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
                description="The type that the value must have; without it any value is taken.",
                update_allowed=True,
                constraints=(AllowedValues(tuple(_TYPES)),),
            ),
        },
        attributes={
            "value": AttributeSchema(
                description="The value as it is given; null is the empty value of its type."
            )
        },
    )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the value as it is.

        Raises:
            StackValidationFailed: It is not of the type.
        """
        try:
            return {"value": check_value(properties.get("type"), properties.get("value"))}
        except ConversionError as error:
            text = error_text("Property error", ("properties", "value"), str(error))
            raise StackValidationFailed(text) from error

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that the value is of the type."""
        if "value" not in properties:
            return
        try:
            check_value(properties.get("type"), properties["value"])
        except ConversionError as error:
            raise StackValidationFailed(str(error), path="value") from error


def check_value(value_type: str | None, value: Json) -> Json:
    """Return a value unchanged, or the empty value of the type in place of null.

    Raises:
        ConversionError: A property of the type does not take the value.
    """
    if value_type is None:
        return value
    property_type = _TYPES[value_type]
    if value is None:
        return EMPTY_VALUES[property_type]
    CONVERTERS[property_type](value)
    return value
