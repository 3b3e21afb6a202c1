"""The public face of schemas: declarations, and what is done with them.

Decides nothing itself: ``declaration`` says what can be declared, ``properties``
holds values against it, ``schema_view`` shows it to clients.  Imported by every
resource type and by whoever handles properties.  Must not hold code.
"""

from heat_convergence.resources.declaration import (
    SHOW,
    SUPPORTED,
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    Support,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.properties import (
    CustomChecks,
    Mistake,
    changed,
    known_properties,
    properties_hash,
    property_error,
    resolve,
    validate,
)
from heat_convergence.resources.schema_view import to_api, to_template

__all__ = [
    "SHOW",
    "SUPPORTED",
    "AttributeSchema",
    "CacheMode",
    "CustomChecks",
    "Mistake",
    "PropertySchema",
    "PropertyType",
    "Support",
    "SupportStatus",
    "TypeSchema",
    "changed",
    "known_properties",
    "properties_hash",
    "property_error",
    "resolve",
    "to_api",
    "to_template",
    "validate",
]
