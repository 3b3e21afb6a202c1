"""``OS::Barbican::Order``: a key, or a pair of keys, that Barbican generates.

Decides which properties belong to an order of a type, and reads the keys once, when the order is
complete: they are recorded encrypted, because other resources may read them.

Source: docs.openstack.org/barbican/latest/api.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, Retry, StackValidationFailed
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.openstack.barbican.secrets import BarbicanType, read_payload
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
PASS_PHRASE, CONTAINER_REF = "pass_phrase", "container_ref"
KEYS = ("public_key", "private_key", "certificate", "intermediates")
_KEY = frozenset({"name", "algorithm", "bit_length", "mode", "expiration", "payload_content_type"})
_CERTIFICATE = frozenset(
    {"request_type", "subject_dn", "source_container_ref", "ca_id", "profile", "request_data"}
)
# Type of an order → the properties that it may have.
ALLOWED_PROPERTIES: Mapping[str, frozenset[str]] = {
    "key": _KEY,
    "asymmetric": _KEY | {PASS_PHRASE},
    "certificate": _CERTIFICATE | {"name"},
}
# Type of an order → the properties that Barbican is sent.
SENT_PROPERTIES = {"key": _KEY, "asymmetric": _KEY - {"mode"} | {PASS_PHRASE}}
REQUIRED_PROPERTIES = ("algorithm", "bit_length")


class SecretOrder(BarbicanType):
    """An order of keys."""

    secret_attributes: ClassVar[frozenset[str]] = frozenset({"private_key"})

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return whether the order has a private key, or a pass phrase."""
        return properties.get("type") != "key"

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that the properties belong to the order's type.

        Raises:
            StackValidationFailed: One does not, or another one is missing.
        """
        order_type = str(properties.get("type"))
        allowed = ALLOWED_PROPERTIES.get(order_type, frozenset())
        assigned = {name for name, value in properties.items() if value is not None}
        for name in sorted(assigned - allowed - {"type"}):
            raise StackValidationFailed(f"Unexpected property {name} for an order of {order_type}")
        if "profile" in assigned and "ca_id" not in assigned:
            raise StackValidationFailed("profile requires ca_id.")

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Check that an order of keys has an algorithm and a length.

        Raises:
            StackValidationFailed: It has not; without either it must be one of a certificate.
        """
        missing = [name for name in REQUIRED_PROPERTIES if name not in names]
        if missing and not names & _CERTIFICATE:
            raise StackValidationFailed(f"Properties {missing} are required for an order of keys.")

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the order's type and what is ordered.

        Raises:
            ResourceFailure: Barbican has no orders of the type.
        """
        arguments = super().create_arguments(context)
        order_type = str(context.properties["type"])
        if order_type not in SENT_PROPERTIES:
            raise ResourceFailure(f"Barbican does not support orders of type {order_type}.")
        sent = SENT_PROPERTIES[order_type]
        meta = {name: value for name, value in arguments.items() if name in sent}
        return {"type": order_type, "meta": meta}

    def find(self, context: ResourceContext) -> str | None:
        """Find the order by the name of what is ordered."""
        for body in self.client(context).list():
            if (body.get("meta") or {}).get("name") == context.physical_name:
                return self.extract_id(body)
        return None

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes without the pass phrase, and the keys that were read before."""
        meta = {key: each for key, each in (body.get("meta") or {}).items() if key != PASS_PHRASE}
        kept = {name: context.attributes[name] for name in KEYS if name in context.attributes}
        return {**kept, "show": {**body, "meta": meta}}

    def with_related_objects(
        self, contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult]
    ) -> Mapping[str, VerbResult]:
        """Return the results with the keys of orders that have become complete."""
        return {
            context.resource_id: self._with_keys(context, results[context.resource_id])
            for context in contexts
            if context.resource_id in results
        }

    def _with_keys(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        attributes = result.attributes or {}
        reference = (attributes.get("show") or {}).get(CONTAINER_REF)
        known = any(name in attributes for name in KEYS)
        if result.observed is not ObservedState.READY or not reference or known:
            return result
        try:
            keys = self._read_keys(context, str(reference))
        except Error as error:
            if error.retry is Retry.NEVER:
                return VerbResult.from_error(error)
            return VerbResult.undecided(error)
        return replace(result, attributes={**attributes, **keys})

    def _read_keys(self, context: ResourceContext, reference: str) -> dict[str, str | None]:
        container = self.client_for(context, "barbican.container").get(reference)
        secrets = self.client_for(context, "barbican.secret")
        return {
            each["name"]: read_payload(secrets, each["secret_ref"])
            for each in container.get("secret_refs") or ()
            if each.get("name") in KEYS
        }
