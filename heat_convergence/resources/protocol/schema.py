"""The public face of schemas: declarations, and what is done with them.

Decides nothing itself: ``declaration`` says what can be declared, ``property_texts``
holds values against it, ``schema_view`` shows it to clients.  Imported by every
resource type and by whoever handles properties.  Must not hold code.
"""

from heat_convergence.resources.protocol.properties import (
    CustomChecks,
    PropertyMistake,
    changed_property_names,
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
    "known_properties",
    "properties_hash",
    "property_error",
    "render_schema",
    "resolve_properties",
    "validate_properties",
]
