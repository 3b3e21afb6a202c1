"""The event sink ``zaqar-queue``: a queue of Zaqar in the stack's project.

Decides the messages. Posts them with the credential of the stack's user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.resources.driver.declarative_steps import client_of_cloud
from heat_convergence.resources.transports.message_queues import (
    MESSAGE_TTL_S,
    MessageQueue,
    is_queue_name,
)
from heat_convergence.stacks.event_sinks.sink_types import SinkTarget

Json = Any
_KEYS = frozenset({"target", "ttl"})
_MAX_TTL_S = 1_209_600  # Zaqar's default maximum
_SLOTS = RequestLimiter(4)


class ZaqarQueueSink:
    """Posts every event as a message."""

    def check(self, sink: Mapping[str, Json]) -> str | None:
        """Return what is wrong with a sink's declaration, None if nothing is."""
        unknown = sorted(str(key) for key in sink.keys() - _KEYS)
        if unknown:
            return f"a zaqar-queue has no {', '.join(unknown)[:100]}"
        target, ttl = sink.get("target"), sink.get("ttl", MESSAGE_TTL_S)
        if not isinstance(target, str) or not is_queue_name(target):
            return "target must be the name of a queue"
        if isinstance(ttl, bool) or not isinstance(ttl, int) or not 0 < ttl <= _MAX_TTL_S:
            return f"ttl must be a number of seconds up to {_MAX_TTL_S}"
        return None

    def send(
        self, sink: Mapping[str, Json], documents: Sequence[Json], target: SinkTarget
    ) -> None:
        """Post the documents.

        Raises:
            Error: They could not be posted.
        """
        client = client_of_cloud(target.cloud, target.project_id, _SLOTS)
        queue = MessageQueue(client, sink["target"])
        for document in documents:
            queue.post(document, sink.get("ttl", MESSAGE_TTL_S))
