"""``OS::Cinder::VolumeAttachment`` and the types that hang on a volume type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.openstack.links import Link
from heat_convergence.resources.plugin import Look, View

Json = Any


class VolumeAttachment(DeclaredType):
    """Attaches by the compute service; ready once the volume says so, too."""

    def create(self, view: View) -> Look:
        self._attach(view, view.properties)
        return self.observe(replace(view, physical_id=self._volume(view.properties)))

    def found(self, view: View) -> Look:
        return self.observe(view)

    def find(self, view: View) -> str | None:
        if "volume_id" not in view.properties:
            return None
        there = self._attachment(view, view.properties)
        return None if there is None else self._volume(view.properties)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        """Off the old server first, which takes its time: the verb is tried again."""
        if any(after.get(name) != view.properties.get(name) for name in changed):
            if self._attachment(view, view.properties) is not None:
                self._detach(view, view.properties)
                raise Conflict("the volume is being detached")
            if self._attachment(view, after) is None:
                self._attach(view, after)
        return self.observe(replace(view, properties=after, physical_id=self._volume(after)))

    def delete(self, view: View) -> Look:
        if view.physical_id is not None and self._attachment(view, view.properties):
            self._detach(view, view.properties)
        return self.observe(replace(view, action=Action.DELETE))

    def observe(self, view: View) -> Look:
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        try:
            volume = self.calls(view).get(view.physical_id)
        except ResourceGone as error:
            return Look(Observed.ABSENT, reason=str(error))
        return self.look(view, volume)

    def state(self, view: View, body: Mapping[str, Json]) -> tuple[Observed, str]:
        server = str(view.properties.get("instance_uuid"))
        joined = server in [item.get("server_id") for item in body.get("attachments") or ()]
        status = str(body.get("status"))
        if status.startswith("error"):
            return Observed.FAILED, f"the volume went to status {status}"
        if view.action is Action.DELETE:
            free = not joined and status not in ("detaching", "in-use", "attaching")
            return (Observed.ABSENT if free or not joined else Observed.BUSY), ""
        if joined and status == "in-use":
            return Observed.READY, ""
        gone = not joined and status == "available" and self._settled(view)
        return (Observed.ABSENT, "it is not attached") if gone else (Observed.BUSY, "")

    @staticmethod
    def _settled(view: View) -> bool:
        """The volume is reserved a moment after the compute service has answered."""
        return (view.now - view.started_at).total_seconds() > 30

    def recorded(self, view: View, body: Mapping[str, Json]) -> Mapping[str, Json]:
        server = view.properties.get("instance_uuid")
        own = [item for item in body.get("attachments") or () if item["server_id"] == server]
        return {"show": dict(own[0]) if own else {}}

    def _attach(self, view: View, properties: Mapping[str, Json]) -> None:
        arguments = {"volumeId": self._volume(properties)}
        if properties.get("mountpoint"):
            arguments["device"] = properties["mountpoint"]
        servers = self.others(view, "nova.server")
        path = servers.path(properties["instance_uuid"], "os-volume_attachments")
        servers.send("POST", path, {"volumeAttachment": arguments})

    def _detach(self, view: View, properties: Mapping[str, Json]) -> None:
        """Unless that is under way already, which asking again would be an error."""
        servers = self.others(view, "nova.server")
        try:
            if self.calls(view).get(self._volume(properties))["status"] == "detaching":
                return
            servers.send("DELETE", self._path(view, properties))
        except ResourceGone:
            return

    def _attachment(self, view: View, properties: Mapping[str, Json]) -> Json:
        servers = self.others(view, "nova.server")
        try:
            return servers.send("GET", self._path(view, properties)).body
        except ResourceGone:
            return None

    def _path(self, view: View, properties: Mapping[str, Json]) -> str:
        servers = self.others(view, "nova.server")
        return servers.path(
            properties["instance_uuid"], "os-volume_attachments", self._volume(properties)
        )

    @staticmethod
    def _volume(properties: Mapping[str, Json]) -> str:
        return str(properties["volume_id"])


class EncryptedVolumeType(Link):
    """The encryption of a volume type, of which there is one at most."""

    KEYS = ("provider", "control_location", "cipher", "key_size")

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        kind = self.arguments(view).value(
            "cinder.vtype", properties["volume_type"], "volume_type"
        )
        given = {key: properties.get(key) for key in self.KEYS}
        return {"volume_type": kind, **given}

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["volume_type"])

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        before, parts = self.parts_of(view, view.properties), self.parts_of(view, after)
        there = self.shown(view, before)
        if there is None:
            self.join(view, parts)
        else:
            calls = self.others(view, "cinder.vtype")
            path = calls.path(parts["volume_type"], "encryption", there["encryption_id"])
            calls.send("PUT", path, {"encryption": self._arguments(parts)})
        return self._there(view, parts)

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        calls = self.others(view, "cinder.vtype")
        path = calls.path(parts["volume_type"], "encryption")
        calls.send("POST", path, {"encryption": self._arguments(parts)})

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        there = self.shown(view, parts)
        if there is not None:
            calls = self.others(view, "cinder.vtype")
            calls.send(
                "DELETE",
                calls.path(parts["volume_type"], "encryption", there["encryption_id"]),
            )

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        calls = self.others(view, "cinder.vtype")
        body = calls.send("GET", calls.path(parts["volume_type"], "encryption")).body or {}
        return body if body.get("encryption_id") else None

    def _arguments(self, parts: Mapping[str, Json]) -> dict[str, Json]:
        return {key: parts[key] for key in self.KEYS if parts[key] is not None}


class QosAssociation(Link):
    """QoS specs on volume types."""

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        arguments = self.arguments(view)
        return {
            "qos_specs": arguments.value("cinder.qos_specs", properties["qos_specs"], "qos_specs"),
            "volume_types": sorted(
                arguments.value("cinder.vtype", kind, "volume_types")
                for kind in properties["volume_types"]
            ),
        }

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["qos_specs"])

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        self._each(view, parts, "associate")

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        self._each(view, parts, "disassociate")

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        calls = self.others(view, "cinder.qos_specs")
        path = calls.path(parts["qos_specs"], "associations")
        body = calls.send("GET", path).body
        there = {item["id"] for item in body["qos_associations"]}
        return parts if set(parts["volume_types"]) <= there else None

    def _each(self, view: View, parts: Mapping[str, Json], verb: str) -> None:
        calls = self.others(view, "cinder.qos_specs")
        for kind in parts["volume_types"]:
            path = calls.path(parts["qos_specs"], verb)
            calls.send("GET", path, query={"vol_type_id": kind})


