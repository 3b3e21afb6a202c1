"""``OS::Cinder::VolumeAttachment`` and the types that hang on a volume type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any


class VolumeAttachment(DeclarativeType):
    """Attaches by the compute service; ready once the volume says so, too."""

    def create(self, view: ResourceContext) -> VerbResult:
        self._attach(view, view.properties)
        return self.observe(replace(view, physical_id=self._volume(view.properties)))

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self.observe(view)

    def find(self, view: ResourceContext) -> str | None:
        if "volume_id" not in view.properties:
            return None
        there = self._attachment(view, view.properties)
        return None if there is None else self._volume(view.properties)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Off the old server first, which takes its time: the verb is tried again."""
        if any(after.get(name) != view.properties.get(name) for name in changed):
            if self._attachment(view, view.properties) is not None:
                self._detach(view, view.properties)
                raise Conflict("the volume is being detached")
            if self._attachment(view, after) is None:
                self._attach(view, after)
        return self.observe(replace(view, properties=after, physical_id=self._volume(after)))

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is not None and self._attachment(view, view.properties):
            self._detach(view, view.properties)
        return self.observe(replace(view, action=Action.DELETE))

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            volume = self.client(view).get(view.physical_id)
        except ResourceGone as error:
            return VerbResult(ObservedState.ABSENT, reason=str(error))
        return self.to_result(view, volume)

    def observed_state(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        server = str(view.properties.get("instance_uuid"))
        joined = server in [item.get("server_id") for item in body.get("attachments") or ()]
        status = str(body.get("status"))
        if status.startswith("error"):
            return ObservedState.FAILED, f"the volume went to status {status}"
        if view.action is Action.DELETE:
            free = not joined and status not in ("detaching", "in-use", "attaching")
            return (ObservedState.ABSENT if free or not joined else ObservedState.BUSY), ""
        if joined and status == "in-use":
            return ObservedState.READY, ""
        gone = not joined and status == "available" and self._settled(view)
        return (ObservedState.ABSENT, "it is not attached") if gone else (ObservedState.BUSY, "")

    @staticmethod
    def _settled(view: ResourceContext) -> bool:
        """The volume is reserved a moment after the compute service has answered."""
        return (view.now - view.started_at).total_seconds() > 30

    def recorded_attributes(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        server = view.properties.get("instance_uuid")
        own = [item for item in body.get("attachments") or () if item["server_id"] == server]
        return {"show": dict(own[0]) if own else {}}

    def _attach(self, view: ResourceContext, properties: Mapping[str, Json]) -> None:
        arguments = {"volumeId": self._volume(properties)}
        if properties.get("mountpoint"):
            arguments["device"] = properties["mountpoint"]
        servers = self.client_for(view, "nova.server")
        path = servers.path(properties["instance_uuid"], "os-volume_attachments")
        servers.send("POST", path, {"volumeAttachment": arguments})

    def _detach(self, view: ResourceContext, properties: Mapping[str, Json]) -> None:
        """Unless that is under way already, which asking again would be an error."""
        servers = self.client_for(view, "nova.server")
        try:
            if self.client(view).get(self._volume(properties))["status"] == "detaching":
                return
            servers.send("DELETE", self._path(view, properties))
        except ResourceGone:
            return

    def _attachment(self, view: ResourceContext, properties: Mapping[str, Json]) -> Json:
        servers = self.client_for(view, "nova.server")
        try:
            return servers.send("GET", self._path(view, properties)).body
        except ResourceGone:
            return None

    def _path(self, view: ResourceContext, properties: Mapping[str, Json]) -> str:
        servers = self.client_for(view, "nova.server")
        return servers.path(
            properties["instance_uuid"], "os-volume_attachments", self._volume(properties)
        )

    @staticmethod
    def _volume(properties: Mapping[str, Json]) -> str:
        return str(properties["volume_id"])


class EncryptedVolumeType(Association):
    """The encryption of a volume type, of which there is one at most."""

    ENCRYPTION_PROPERTIES = ("provider", "control_location", "cipher", "key_size")

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        kind = self.argument_builder(view).resolve_id(
            "cinder.vtype", properties["volume_type"], "volume_type"
        )
        given = {key: properties.get(key) for key in self.ENCRYPTION_PROPERTIES}
        return {"volume_type": kind, **given}

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["volume_type"])

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        before, parts = (
            self.resolve_arguments(view, view.properties),
            self.resolve_arguments(view, after),
        )
        there = self.read_association(view, before)
        if there is None:
            self.associate(view, parts)
        else:
            calls = self.client_for(view, "cinder.vtype")
            path = calls.path(parts["volume_type"], "encryption", there["encryption_id"])
            calls.send("PUT", path, {"encryption": self._arguments(parts)})
        return self._there(view, parts)

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        calls = self.client_for(view, "cinder.vtype")
        path = calls.path(parts["volume_type"], "encryption")
        calls.send("POST", path, {"encryption": self._arguments(parts)})

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        there = self.read_association(view, parts)
        if there is not None:
            calls = self.client_for(view, "cinder.vtype")
            calls.send(
                "DELETE",
                calls.path(parts["volume_type"], "encryption", there["encryption_id"]),
            )

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        calls = self.client_for(view, "cinder.vtype")
        body = calls.send("GET", calls.path(parts["volume_type"], "encryption")).body or {}
        return body if body.get("encryption_id") else None

    def _arguments(self, parts: Mapping[str, Json]) -> dict[str, Json]:
        return {key: parts[key] for key in self.ENCRYPTION_PROPERTIES if parts[key] is not None}


class QosAssociation(Association):
    """QoS specs on volume types."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        arguments = self.argument_builder(view)
        return {
            "qos_specs": arguments.resolve_id(
                "cinder.qos_specs", properties["qos_specs"], "qos_specs"
            ),
            "volume_types": sorted(
                arguments.resolve_id("cinder.vtype", kind, "volume_types")
                for kind in properties["volume_types"]
            ),
        }

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["qos_specs"])

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._each(view, parts, "associate")

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._each(view, parts, "disassociate")

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        calls = self.client_for(view, "cinder.qos_specs")
        path = calls.path(parts["qos_specs"], "associations")
        body = calls.send("GET", path).body
        there = {item["id"] for item in body["qos_associations"]}
        return parts if set(parts["volume_types"]) <= there else None

    def _each(self, view: ResourceContext, parts: Mapping[str, Json], verb: str) -> None:
        calls = self.client_for(view, "cinder.qos_specs")
        for kind in parts["volume_types"]:
            path = calls.path(parts["qos_specs"], verb)
            calls.send("GET", path, query={"vol_type_id": kind})
