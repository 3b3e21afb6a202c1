"""``OS::Zaqar::Queue``: a queue, which exists by its name as soon as somebody uses it.

Decides by a mark in the metadata which queue is the resource's own: the service shows every name
as an empty queue.

Source: docs.openstack.org/api-ref/message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver import ownership_marks
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
METADATA = "metadata"
JSON_PATCH_HEADERS = {"Content-Type": "application/openstack-messaging-v2.0-json-patch"}


class QueueClient(RestResourceClient):
    """Requests about queues, whose body is their metadata alone."""

    def __init__(self, client: RestResourceClient, recorded: Mapping[str, Json]) -> None:
        """Bind to a client and to the metadata that the last observation recorded."""
        super().__init__(client.cloud, client.rest_resource)
        self._recorded = recorded

    def get(self, path_id: str) -> dict[str, Json]:
        """Return the name and the metadata.

        Raises:
            ResourceGone: Somebody has deleted the queue: the mark that it had is gone.
        """
        metadata = super().get(path_id)
        if OWNER_METADATA_KEY in self._recorded and OWNER_METADATA_KEY not in metadata:
            raise ResourceGone(f"queue {path_id} has been deleted")
        return {"name": path_id, METADATA: metadata}

    def create(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Create the queue, or set the metadata of an existing one."""
        name = str(arguments["name"])
        self.send("PUT", self.path(name), arguments.get(METADATA) or {})
        return {"name": name, METADATA: arguments.get(METADATA) or {}}

    def update(self, path_id: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Patch the metadata: None removes a key."""
        existing = self.get(path_id)[METADATA]
        patch = []
        for key, value in sorted((arguments.get(METADATA) or {}).items()):
            path = {"path": f"/metadata/{_escaped(key)}"}
            if value is None and key in existing:
                patch.append({"op": "remove", **path})
            elif value is not None:
                op = "replace" if key in existing else "add"
                patch.append({"op": op, **path, "value": value})
        if patch:
            self.send("PATCH", self.path(path_id), patch, headers=JSON_PATCH_HEADERS)
        return self.get(path_id)


class Queue(DeclarativeType):
    """A queue of messages."""

    def client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client of queues."""
        recorded = (context.attributes.get("show") or {}).get(METADATA) or {}
        return QueueClient(super().client(context), recorded)

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the name and the metadata with the ownership mark."""
        metadata = context.properties.get(METADATA) or {}
        name = context.properties.get("name") or context.physical_name
        return {"name": name, METADATA: {**metadata, OWNER_METADATA_KEY: context.resource_id}}

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the new metadata, and None for keys that the template no longer has."""
        before = dict.fromkeys(context.properties.get(METADATA) or {})
        return {METADATA: {**before, **(after.get(METADATA) or {})}}

    def find(self, context: ResourceContext) -> str | None:
        """Return the name if the queue has the mark of this resource."""
        name = str(context.properties.get("name") or context.physical_name)
        body = self.client(replace(context, attributes={})).get(name)
        return name if ownership_marks.has_ownership_mark(context, body) else None

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``href`` is the URL of the queue."""
        if name in ("queue_id", "href"):
            return context.attributes.get(name) or context.physical_id
        return super().attribute(context, name)

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata and the URL of the queue."""
        client = self.client(context)
        root = self.cloud(context).endpoint_url(client.rest_resource.service).rstrip("/")
        return {"show": dict(body), "href": root + client.path(str(body["name"]))}


def _escaped(key: str) -> str:
    """Return a key as a JSON pointer has it.

    Source: RFC 6901.
    """
    return key.replace("~", "~0").replace("/", "~1")
