"""``OS::Heat::Value``: keeps a value, of a given type, to be read as an attribute.

Decides how the value reads as that type.  Found by entry point.  Must not change
a value whose type is not given.

Source: heat-facts ``resource_groups.md``, "Small types".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import AllowedValues
from heat_convergence.template.parameters.parameter_schemas import (
    InvalidParameterValue,
    ParameterSchema,
    ParameterType,
)

Json = Any

_TYPES: Mapping[str, ParameterType] = {
    "string": ParameterType.STRING,
    "number": ParameterType.NUMBER,
    "comma_delimited_list": ParameterType.COMMA_DELIMITED_LIST,
    "json": ParameterType.JSON,
    "boolean": ParameterType.BOOLEAN,
}


class Value(LocalType):
    name = "OS::Heat::Value"
    schema = TypeSchema(
        description="Keeps a value that would otherwise be written down several times.",
        support_status=SupportStatus(version="7.0.0"),
        properties={
            "value": PropertySchema(
                type=PropertyType.ANY,
                description="What the attribute value shows.",
                required=True,
                update_allowed=True,
            ),
            "type": PropertySchema(
                type=PropertyType.STRING,
                description="What the value is to be read as; left as it is if not given.",
                update_allowed=True,
                constraints=(AllowedValues(tuple(_TYPES)),),
            ),
        },
        attributes={"value": AttributeSchema(description="The value, read as its type.")},
    )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        try:
            return {"value": convert_value(properties.get("type"), properties.get("value"))}
        except InvalidParameterValue as error:
            raise StackValidationFailed(f"Property error: properties.value: {error}") from error

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if "value" not in properties:
            return
        try:
            convert_value(properties.get("type"), properties["value"])
        except InvalidParameterValue as error:
            raise StackValidationFailed(str(error), path="value") from error


def convert_value(value_type: str | None, value: Json) -> Json:
    """The value as ``kind``, read as a parameter of that type would be; raises
    ``InvalidParameterValue``."""
    return (
        value
        if value_type is None
        else ParameterSchema("value", _TYPES[value_type]).convert(value)
    )
