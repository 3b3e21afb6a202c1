"""What must not be told of a resource that holds secrets.

Called by engines and observers before a reason is kept.  Decides which of its values
count: all but those that only choose among known things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.template.parameters.constraints import AllowedValues, CustomConstraint
from heat_convergence.template.text_redaction import redact as redact_texts
from heat_convergence.template.text_redaction import sensitive_texts

_CHOOSING = (AllowedValues, CustomConstraint)  # a flavour, a network: told, to be found


def redact_secrets(
    text: str, row: Resource, resource_type: ResourceType | None, *values: Mapping[str, Any] | None
) -> str:
    """The text as it may be told; ``values`` are further properties.  Most of what happens
    needs no words, and then what must not be in them is not sought."""
    return (
        redact_texts(text, _secrets_of(row, resource_type, values))
        if text and row.sensitive
        else text
    )


def _secrets_of(
    row: Resource, resource_type: ResourceType | None, values: Iterable[Mapping[str, Any] | None]
) -> set[str]:
    """Texts of the properties, ``values`` and those in the row."""
    found: set[str] = set()
    for properties in (row.properties, *values):
        for name, value in (properties or {}).items():
            schema = None if resource_type is None else resource_type.schema.properties.get(name)
            if schema is None or not any(isinstance(c, _CHOOSING) for c in schema.constraints):
                found.update(sensitive_texts(value))
    return found
