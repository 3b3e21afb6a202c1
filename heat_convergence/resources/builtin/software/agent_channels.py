"""Metadata of servers whose agents read them from the object storage or from a queue.

Decides where such metadata are stored and when they are stored again. A server's row records its
channel and the metadata without deployments; whoever changes its deployments reads both and
publishes the whole again. Whatever was published last is checked against the database afterwards,
so that of two deployments none is left out.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.clients.stack_users import StackUser
from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.resources.builtin.signals.signal_responder import SIGNED_URL, SignalUser
from heat_convergence.resources.driver.declarative_steps import client_of_cloud
from heat_convergence.resources.protocol.software_config_store import (
    SoftwareConfigStore,
    format_config,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.transports.message_queues import (
    MessageQueue,
    client_of_user,
    queue_name,
)
from heat_convergence.resources.transports.stored_objects import StoredObject

LOG = logging.getLogger(__name__)
Json = Any
POLL_TEMP_URL, ZAQAR_MESSAGE = "POLL_TEMP_URL", "ZAQAR_MESSAGE"
PUBLISHING_TRANSPORTS = (POLL_TEMP_URL, ZAQAR_MESSAGE)
SWIFT_DATA, DEPLOYMENTS = "deployment_swift_data", "deployments"
OS_COLLECT_CONFIG = "os-collect-config"
PUBLISHED_METADATA = "published_metadata"  # key of the data: what is published, and holds secrets
_CONTAINER, _OBJECT, _QUEUE = "metadata_container", "metadata_object_name", "metadata_queue_id"
CHANNEL_KEYS = frozenset({_CONTAINER, _OBJECT, _QUEUE, SIGNED_URL, PUBLISHED_METADATA})
_MAX_ROUNDS = 5  # deployments that change meanwhile are published by whoever changes them
_SLOTS = RequestLimiter(16)


class _Channel(Protocol):
    """The place of one server's metadata."""

    def publish(self, metadata: Mapping[str, Json]) -> None:
        """Store the metadata for the agent."""

    def close(self) -> None:
        """Delete what was published."""


@dataclass(frozen=True, slots=True)
class _ObjectChannel:
    target: StoredObject

    def publish(self, metadata: Mapping[str, Json]) -> None:
        """Store the metadata as the object's content."""
        self.target.write(json.dumps(metadata))

    def close(self) -> None:
        """Delete the object, and its container if that is empty."""
        self.target.delete()


@dataclass(frozen=True, slots=True)
class _QueueChannel:
    target: MessageQueue

    def publish(self, metadata: Mapping[str, Json]) -> None:
        """Post the metadata as a message."""
        self.target.post(dict(metadata))

    def close(self) -> None:
        """Delete the queue."""
        self.target.delete()


def open_channel(
    context: ResourceContext, transport: str, user: StackUser | None
) -> dict[str, Json]:
    """Create what the agent reads; return the data to record.

    Args:
        context: The server.
        transport: The value of ``software_config_transport``.
        user: The agent's user.
    """
    if transport == POLL_TEMP_URL:
        target = _object_of(context, context.properties)
        target.create_container(versioned=False)
        return {
            _CONTAINER: target.container,
            _OBJECT: target.name,
            SIGNED_URL: target.signed_url("GET"),
        }
    if transport == ZAQAR_MESSAGE and user is not None:
        return {_QUEUE: queue_name(context.physical_name, context.resource_id)}
    return {}


def close_channel(context: ResourceContext, transport: str | None) -> None:
    """Delete what was published, also what no row records."""
    channel = _channel(context.cloud, context.project_id, context.data)
    if channel is None and transport == POLL_TEMP_URL:
        channel = _ObjectChannel(_object_of(context, context.properties))
    if channel is not None:
        channel.close()


def has_stored_metadata(context: ResourceContext) -> bool:
    """Return whether the object of ``POLL_TEMP_URL`` exists."""
    return _object_of(context, context.properties).exists()


def agent_section(data: Mapping[str, Json], transport: str) -> dict[str, Json]:
    """Return what the agent's configuration says about the channel."""
    if transport == POLL_TEMP_URL:
        return {"metadata_url": data[SIGNED_URL]} if SIGNED_URL in data else {}
    return {"queue_id": data[_QUEUE]} if _QUEUE in data else {}


def is_outdated(data: Mapping[str, Json], read_metadata: Callable[[], Mapping[str, Json]]) -> bool:
    """Return whether other metadata have been published than the template has now.

    Args:
        data: The data recorded with the server.
        read_metadata: Returns the metadata of the template.
    """
    published = data.get(PUBLISHED_METADATA)
    if not isinstance(published, Mapping):
        return False
    return _of_template(published) != _of_template(read_metadata())


def _of_template(metadata: Mapping[str, Json]) -> dict[str, Json]:
    added = (DEPLOYMENTS, OS_COLLECT_CONFIG)
    return {key: value for key, value in metadata.items() if key not in added}


def publish_server(context: ResourceContext, metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Publish the metadata of a server with its deployments; return the data to record.

    Args:
        context: The server, with the data of its channel.
        metadata: The metadata of the template with the agent's configuration.
    """
    data = {**context.data, PUBLISHED_METADATA: dict(metadata)}
    server_id = context.physical_id
    _publish(context.cloud, context.project_id, server_id, data)
    return {PUBLISHED_METADATA: data[PUBLISHED_METADATA]}


def publish_deployments(context: ResourceContext, server_id: str) -> None:
    """Publish the metadata of the servers of that id again, with their deployments."""
    publish_to_agents(context.cloud, context.project_id, server_id)


def publish_to_agents(cloud: Any, project_id: str, server_id: str) -> None:
    """Publish the metadata of the servers of that id in a project again."""
    store: SoftwareConfigStore | None = getattr(cloud, "software", None)
    if store is None:
        return
    for data in store.list_agent_data(project_id, server_id):
        if PUBLISHED_METADATA in data:
            _publish(cloud, project_id, server_id, data)


def withdraw_deployment(context: ResourceContext, server_id: str | None) -> None:
    """Publish the metadata without a deleted deployment, unless that is impossible."""
    if server_id is None:
        return
    try:
        publish_deployments(context, server_id)
    except Error as error:  # the server may be gone, or what it reads: the deletion goes on
        LOG.warning(
            "deployments of server not published: stack=%(stack)s resource=%(resource)s"
            " error=%(error)s",
            {"stack": context.stack_id, "resource": context.name, "error": error},
        )


def _publish(cloud: Any, project_id: str, server_id: str | None, data: Mapping[str, Json]) -> None:
    channel = _channel(cloud, project_id, data)
    base = data[PUBLISHED_METADATA]
    if channel is None or not isinstance(base, Mapping):
        return
    store: SoftwareConfigStore | None = getattr(cloud, "software", None)
    for _ in range(_MAX_ROUNDS):
        configs = (
            []
            if store is None or server_id is None
            else store.list_server_configs(project_id, server_id)
        )
        try:
            channel.publish({**base, DEPLOYMENTS: [format_config(each) for each in configs]})
        except ResourceGone as error:
            reason = f"The metadata of the server cannot be stored: {error}"
            raise ResourceFailure(reason) from error
        if store is None or server_id is None:
            return
        now = store.list_server_configs(project_id, server_id)
        if [each.id for each in now] == [each.id for each in configs]:
            return


def _channel(cloud: Any, project_id: str, data: Mapping[str, Json]) -> _Channel | None:
    """Return the channel that a row's data record, None without one.

    RULE 12: the data of an adopted resource come from a document. The object is in the account of
    the stack's own project, and the queue in what the agent's own password opens.
    """
    container, name, queue = data.get(_CONTAINER), data.get(_OBJECT), data.get(_QUEUE)
    if isinstance(container, str) and isinstance(name, str):
        return _ObjectChannel(
            StoredObject(client_of_cloud(cloud, project_id, _SLOTS), container, name)
        )
    user = SignalUser.from_data(data, project_id).user
    if isinstance(queue, str) and user is not None:
        return _QueueChannel(MessageQueue(client_of_user(cloud, user), queue))
    return None


def _object_of(context: ResourceContext, properties: Mapping[str, Json]) -> StoredObject:
    """Return the object that the properties choose, or that of the resource itself."""
    chosen = properties.get(SWIFT_DATA) or {}
    return StoredObject(
        client_of_cloud(context.cloud, context.project_id, _SLOTS),
        chosen.get("container") or context.physical_name,
        chosen.get("object") or context.resource_id,
    )
