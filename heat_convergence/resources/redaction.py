"""Redaction of a resource's secrets in reasons and logs.

Called by engines and observers before a reason is stored, and by views. Decides which values are
secret: all except those that only select among known things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.template.parameters.constraints import AllowedValues, CustomConstraint
from heat_convergence.template.text_redaction import mask_values, redact_values, sensitive_texts
from heat_convergence.template.text_redaction import redact as redact_texts

# A selected flavor or network is no secret, and helps to find the cause.
_SELECTING_CONSTRAINTS = (AllowedValues, CustomConstraint)


def redact_secrets(
    text: str, row: Resource, resource_type: ResourceType | None, *values: Mapping[str, Any] | None
) -> str:
    """Return the text without the secrets of a resource.

    Secrets are not collected where the text is empty, as it mostly is.

    Args:
        text: A reason.
        row: The resource.
        resource_type: Its type, None if that is not known.
        values: Further properties, such as those of an update.
    """
    return (
        redact_texts(text, _secrets_of(row, resource_type, values))
        if text and row.desired.sensitive
        else text
    )


def redact_attributes(
    attributes: Mapping[str, Any], row: ResourceRow, resource_type: ResourceType
) -> dict[str, Any]:
    """Return attributes as users see them who may not read secrets.

    Masked is what the type calls secret. Where the definition has a secret, no text of its
    properties is left in the attributes.
    """
    hidden = resource_type.secret_data | resource_type.secret_attributes
    texts = set(sensitive_texts([row.data[name] for name in hidden & row.data.keys()]))
    if row.definition.get("sensitive"):
        texts |= _secret_property_texts(resource_type, [row.properties])
    return {
        name: mask_values(value) if name in hidden else redact_values(value, texts)
        for name, value in attributes.items()
    }


def _secrets_of(
    row: Resource, resource_type: ResourceType | None, values: Iterable[Mapping[str, Any] | None]
) -> set[str]:
    """Return the texts in secret properties, of ``values`` and of the row."""
    return _secret_property_texts(
        resource_type, [readable_or_empty(row.physical.properties), *values]
    )


def _secret_property_texts(
    resource_type: ResourceType | None, values: Iterable[Mapping[str, Any] | None]
) -> set[str]:
    """Return the texts of all properties but those that select among known things."""
    found: set[str] = set()
    for properties in values:
        for name, value in (properties or {}).items():
            schema = None if resource_type is None else resource_type.schema.properties.get(name)
            if schema is None or not any(
                isinstance(c, _SELECTING_CONSTRAINTS) for c in schema.constraints
            ):
                found.update(sensitive_texts(value))
    return found
