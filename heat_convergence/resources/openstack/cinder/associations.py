"""Types that add to a volume type: its encryption and its QoS specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class EncryptedVolumeType(Association):
    """The encryption of a volume type, which has at most one."""

    ENCRYPTION_PROPERTIES = ("provider", "control_location", "cipher", "key_size")

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the volume type's id and the encryption's properties."""
        volume_type_id = self.argument_builder(context).resolve_id(
            "cinder.vtype", properties["volume_type"], "volume_type"
        )
        values = {key: properties.get(key) for key in self.ENCRYPTION_PROPERTIES}
        return {"volume_type": volume_type_id, **values}

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the volume type's id."""
        return str(arguments["volume_type"])

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change the encryption in place, or create it if it is missing."""
        before, arguments = (
            self.resolve_arguments(context, context.properties),
            self.resolve_arguments(context, after),
        )
        current = self.read_association(context, before)
        if current is None:
            self.associate(context, arguments)
        else:
            client = self.client_for(context, "cinder.vtype")
            path = client.path(arguments["volume_type"], "encryption", current["encryption_id"])
            client.send("PUT", path, {"encryption": self._encryption_body(arguments)})
        return self._ready_result(context, arguments)

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the values of the encryption's properties that are set."""
        shown = (result.attributes or {}).get("show") or {}
        return {
            name: shown[name]
            for name in self.ENCRYPTION_PROPERTIES
            if name in shown and context.properties.get(name) is not None
        }

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Create the encryption."""
        client = self.client_for(context, "cinder.vtype")
        path = client.path(arguments["volume_type"], "encryption")
        client.send("POST", path, {"encryption": self._encryption_body(arguments)})

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Delete the encryption, if there is one."""
        current = self.read_association(context, arguments)
        if current is not None:
            client = self.client_for(context, "cinder.vtype")
            client.send(
                "DELETE",
                client.path(arguments["volume_type"], "encryption", current["encryption_id"]),
            )

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the body of the encryption."""
        client = self.client_for(context, "cinder.vtype")
        body = client.send("GET", client.path(arguments["volume_type"], "encryption")).body or {}
        return body if body.get("encryption_id") else None

    def _encryption_body(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        return {
            key: arguments[key] for key in self.ENCRYPTION_PROPERTIES if arguments[key] is not None
        }


class QosAssociation(Association):
    """The association of QoS specs with volume types."""

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``qos_specs`` and ``volume_types`` as ids."""
        builder = self.argument_builder(context)
        return {
            "qos_specs": builder.resolve_id(
                "cinder.qos_specs", properties["qos_specs"], "qos_specs"
            ),
            "volume_types": sorted(
                builder.resolve_id("cinder.vtype", name, "volume_types")
                for name in properties["volume_types"]
            ),
        }

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the id of the QoS specs."""
        return str(arguments["qos_specs"])

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Associate the specs with each volume type."""
        self._send_each(context, arguments, "associate")

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Disassociate the specs from each volume type."""
        self._send_each(context, arguments, "disassociate")

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the arguments if the specs have all of the volume types."""
        client = self.client_for(context, "cinder.qos_specs")
        path = client.path(arguments["qos_specs"], "associations")
        body = client.send("GET", path).body
        current = {item["id"] for item in body["qos_associations"]}
        return arguments if set(arguments["volume_types"]) <= current else None

    def _send_each(
        self, context: ResourceContext, arguments: Mapping[str, Json], action: str
    ) -> None:
        client = self.client_for(context, "cinder.qos_specs")
        for volume_type_id in arguments["volume_types"]:
            path = client.path(arguments["qos_specs"], action)
            client.send("GET", path, query={"vol_type_id": volume_type_id})
