"""The public names of schemas: declarations and the functions that use them.

``type_schema`` has the declarations, ``properties`` validates values against them and
``schema_view`` shows them to clients. Imported by every resource type and by whoever handles
properties. It must not hold code.
"""

from heat_convergence.resources.protocol.properties import (
    CustomChecks,
    PropertyMistake,
    changed_property_names,
    keep_properties_without_value,
    known_properties,
    properties_hash,
    property_error,
    resolve_properties,
    validate_properties,
)
from heat_convergence.resources.protocol.schema_view import generate_template, render_schema
from heat_convergence.resources.protocol.type_schema import (
    SHOW_ATTRIBUTE,
    SUPPORTED,
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)

__all__ = [
    "SHOW_ATTRIBUTE",
    "SUPPORTED",
    "AttributeSchema",
    "CacheMode",
    "CustomChecks",
    "PropertyMistake",
    "PropertySchema",
    "PropertyType",
    "SupportLevel",
    "SupportStatus",
    "TypeSchema",
    "changed_property_names",
    "generate_template",
    "keep_properties_without_value",
    "known_properties",
    "properties_hash",
    "property_error",
    "render_schema",
    "resolve_properties",
    "validate_properties",
]
