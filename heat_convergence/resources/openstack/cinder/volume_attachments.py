"""``OS::Cinder::VolumeAttachment``: a volume attached to a server.

The compute service attaches and detaches; the volume service's state decides when it is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class VolumeAttachment(DeclarativeType):
    """A volume's attachment to a server, with the volume's id as its physical id."""

    def create(self, context: ResourceContext) -> VerbResult:
        """Attach the volume, which is not done when the compute service has answered."""
        self._attach(context, context.properties)
        return self._busy(replace(context, physical_id=self._volume_id(context.properties)))

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Observe the attachment that ``find`` found."""
        return self.observe(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the volume's id if it is attached to the server."""
        if "volume_id" not in context.properties:
            return None
        attachment = self._attachment(context, context.properties)
        return None if attachment is None else self._volume_id(context.properties)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Detach the volume from the old server, then attach it to the new one.

        Detaching takes time: the first call raises ``Conflict``, so that the verb is retried.
        """
        if any(after.get(name) != context.properties.get(name) for name in changed):
            if self._attachment(context, context.properties) is not None:
                self._detach(context, context.properties)
                raise Conflict("the volume is being detached")
            if self._attachment(context, after) is None:
                self._attach(context, after)
        return self.observe(replace(context, properties=after, physical_id=self._volume_id(after)))

    def delete(self, context: ResourceContext) -> VerbResult:
        """Detach the volume."""
        if context.physical_id is not None and self._attachment(context, context.properties):
            self._detach(context, context.properties)
        return self.observe(replace(context, action=Action.DELETE))

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the volume's state."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            volume = self.client(context).get(context.physical_id)
        except ResourceGone as error:
            return VerbResult(ObservedState.ABSENT, reason=str(error))
        return self.to_result(context, volume)

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Decide from the volume's status and attachments."""
        server = str(context.properties.get("instance_uuid"))
        attached = server in [item.get("server_id") for item in body.get("attachments") or ()]
        status = str(body.get("status"))
        if status.startswith("error"):
            return ObservedState.FAILED, f"the volume went to status {status}"
        if context.action is Action.DELETE:
            free = not attached and status not in ("detaching", "in-use", "attaching")
            return (ObservedState.ABSENT if free or not attached else ObservedState.BUSY), ""
        if attached and status == "in-use":
            return ObservedState.READY, ""
        if not attached and status == "available" and self._is_past_reservation(context):
            return ObservedState.ABSENT, "it is not attached"
        return ObservedState.BUSY, ""

    @staticmethod
    def _is_past_reservation(context: ResourceContext) -> bool:
        """Return whether the volume must be reserved by now.

        The volume service reserves a volume shortly after the compute service has answered.
        """
        return (context.now - context.started_at).total_seconds() > 30

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attachment's body as ``show``."""
        server = context.properties.get("instance_uuid")
        own = [item for item in body.get("attachments") or () if item["server_id"] == server]
        return {"show": dict(own[0]) if own else {}}

    def _attach(self, context: ResourceContext, properties: Mapping[str, Json]) -> None:
        arguments = {"volumeId": self._volume_id(properties)}
        if properties.get("mountpoint"):
            arguments["device"] = properties["mountpoint"]
        servers = self.client_for(context, "nova.server")
        path = servers.path(properties["instance_uuid"], "os-volume_attachments")
        servers.send("POST", path, {"volumeAttachment": arguments})

    def _detach(self, context: ResourceContext, properties: Mapping[str, Json]) -> None:
        """Detach the volume unless it is detaching, which Nova would refuse."""
        servers = self.client_for(context, "nova.server")
        try:
            if self.client(context).get(self._volume_id(properties))["status"] == "detaching":
                return
            servers.send("DELETE", self._attachment_path(context, properties))
        except ResourceGone:
            return

    def _attachment(self, context: ResourceContext, properties: Mapping[str, Json]) -> Json:
        servers = self.client_for(context, "nova.server")
        try:
            return servers.send("GET", self._attachment_path(context, properties)).body
        except ResourceGone:
            return None

    def _attachment_path(self, context: ResourceContext, properties: Mapping[str, Json]) -> str:
        servers = self.client_for(context, "nova.server")
        return servers.path(
            properties["instance_uuid"], "os-volume_attachments", self._volume_id(properties)
        )

    @staticmethod
    def _volume_id(properties: Mapping[str, Json]) -> str:
        return str(properties["volume_id"])
