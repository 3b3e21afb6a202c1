"""``OS::Barbican::Secret`` and the containers of secrets.

Decides what a payload requires. The payload is read from the properties, which cannot be changed
at the service; another one is read for the user who asks, and never recorded.

Source: docs.openstack.org/barbican/latest/api.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import (
    ResourcePropertyDependency,
    ResourcePropertyValueDependency,
    StackValidationFailed,
)
from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
PAYLOAD, PAYLOAD_TYPE, ENCODING = "payload", "payload_content_type", "payload_content_encoding"
DECRYPTED_PAYLOAD = "decrypted_payload"
TEXT, BINARY = "text/plain", "application/octet-stream"
REFERENCE_SUFFIX = "_ref"


class BarbicanType(DeclarativeType):
    """A type of Barbican, which shows the code and the reason of a failure."""

    def failure_reason(self, body: Mapping[str, Json], word: str) -> str:
        """Return the status reason with the code of the failure."""
        reason = body.get("error_reason") or "Unknown"
        code = body.get("error_status_code")
        text = f"{code} - {reason}" if code else reason
        return f'Went to status {body.get("status")} due to "{text}"'


class Secret(BarbicanType):
    """A secret, whose payload is given or still to be stored by others."""

    secret_attributes: ClassVar[frozenset[str]] = frozenset({DECRYPTED_PAYLOAD})

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return True: the payload is a property and an attribute."""
        return True

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Refuse the type of a payload without a payload.

        Raises:
            ResourcePropertyDependency: There is none.
        """
        if PAYLOAD_TYPE in names and PAYLOAD not in names:
            raise ResourcePropertyDependency(f"{PAYLOAD_TYPE} requires {PAYLOAD}.")

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that the payload, its type and its encoding fit.

        Raises:
            ResourcePropertyValueDependency: The encoding does not belong to the type.
            StackValidationFailed: The payload is not in its encoding.
        """
        encoding, payload = properties.get(ENCODING), properties.get(PAYLOAD)
        if (properties.get(PAYLOAD_TYPE) == BINARY) is not bool(encoding):
            raise ResourcePropertyValueDependency(
                f"{PAYLOAD_TYPE} {BINARY} requires {ENCODING} base64, and no other type has it."
            )
        if encoding and payload is not None and not _is_base64(str(payload)):
            raise StackValidationFailed(f"{PAYLOAD} is not base64, as {ENCODING} says.")

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the type of the payload."""
        arguments = super().create_arguments(context)
        return {PAYLOAD_TYPE: TEXT, **arguments} if arguments.get(PAYLOAD) else arguments

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; the payload of the template cannot have been changed."""
        if name == DECRYPTED_PAYLOAD and context.properties.get(PAYLOAD):
            return context.properties[PAYLOAD]
        return super().attribute(context, name)

    def read_live_attributes(self, context: ResourceContext) -> Mapping[str, Json]:
        """Read the secret, and the payload that others have stored."""
        found = super().read_live_attributes(context)
        if context.properties.get(PAYLOAD):
            return found
        return {**found, DECRYPTED_PAYLOAD: read_payload(self.client(context), self._id(context))}


class SecretContainer(BarbicanType):
    """A container of secrets; ``secret_refs`` maps their names to their references."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Refuse a secret that is contained twice.

        Raises:
            StackValidationFailed: One is.
        """
        references = [each["secret_ref"] for each in _contained(properties) if each["secret_ref"]]
        if len(set(references)) < len(references):
            raise StackValidationFailed("Duplicate refs are not allowed.")

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the secrets by the names that the container's type has."""
        arguments = super().create_arguments(context)
        return {**arguments, "secret_refs": _contained(context.properties)}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute."""
        value = super().attribute(context, name)
        if name == "secret_refs":
            return {str(each.get("name")): each["secret_ref"] for each in value or ()}
        return value


def read_payload(secrets: RestResourceClient, reference: str) -> str | None:
    """Return the payload of a secret: a text, or base64 of what is none; None without one."""
    try:
        body = secrets.get(reference)
        content_type = str((body.get("content_types") or {}).get("default") or TEXT)
        response = secrets.send(
            "GET", secrets.path(reference, PAYLOAD), headers={"Accept": content_type}
        )
    except ResourceGone:
        return None
    try:
        return response.content.decode()
    except UnicodeDecodeError:
        return base64.b64encode(response.content).decode()


def _contained(properties: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the secrets of a container by name and reference."""
    named = {
        name.removesuffix(REFERENCE_SUFFIX): value
        for name, value in properties.items()
        if name.endswith(REFERENCE_SUFFIX) and value
    }
    listed = [(each.get("name"), each.get("ref")) for each in properties.get("secrets") or ()]
    return [
        {"name": name, "secret_ref": reference}
        for name, reference in (*sorted(named.items()), *listed)
    ]


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
