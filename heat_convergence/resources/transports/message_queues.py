"""Queues of messages that a user of a stack and the service exchange through Zaqar.

Decides how messages are posted and read. What is read was posted by others, so that its number is
limited. Reading leaves the messages where they are, so that none is lost with a process that has
read it (RULE 4). A queue needs no creation: it exists as soon as it is used.

Source: docs.openstack.org/api-ref/message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from heat_convergence.clients.rest_client import (
    CloudClient,
    CloudRequest,
    CloudResponse,
    RequestLimiter,
    SdkCloudClient,
    make_cache_key,
)
from heat_convergence.clients.stack_users import StackUser
from heat_convergence.common.errors import ResourceTypeUnavailable
from heat_convergence.common.failures import ResourceGone

Json = Any
SERVICE = "message"
# Zaqar requires the id of a client, by which it tells consumers of messages apart.
CLIENT_ID = "8f1d6f0e-6f5c-5a3e-9a52-6c1b1f0d7e2a"
MESSAGE_TTL_S = 3_600
MAX_PAGES = 50  # of one read
_PAGE_SIZE = 20  # Zaqar's default maximum
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SLOTS = RequestLimiter(16)


def is_queue_name(name: str) -> bool:
    """Return whether Zaqar accepts the name of a queue."""
    return _NAME.fullmatch(name) is not None


def queue_name(preferred: str, other: str) -> str:
    """Return a name that Zaqar accepts: the preferred one, or the other if it is no name."""
    return preferred if is_queue_name(preferred) else other


def client_of_user(cloud: Any, user: StackUser) -> CloudClient:
    """Return a client that sends requests as a user of a stack.

    Args:
        cloud: What resource types see as the cloud.
        user: The user, whose password is known.
    """
    region = getattr(cloud, "call_region", "")
    return SdkCloudClient(
        f"{make_cache_key(user.project_id, region)} {user.id}",
        user.project_id,
        lambda: cloud.connect_as(user),
        _SLOTS,
        breakers=getattr(cloud, "breakers", None),
    )


class MessageQueue:
    """A queue in the project of the user that the client acts for."""

    def __init__(self, client: CloudClient, name: str) -> None:
        """Bind to a client and to the name of the queue."""
        self._client = client
        self.name = name

    def post(self, body: Json, ttl_s: int = MESSAGE_TTL_S) -> None:
        """Post a message."""
        message = {"body": body, "ttl": ttl_s}
        self._send("POST", "/messages", {"messages": [message]})

    def read(self, marker: str | None = None) -> tuple[list[Json], str | None]:
        """Return the bodies of the messages after a marker, and the marker after them.

        At most ``MAX_PAGES`` pages are read; the next call continues.
        """
        bodies: list[Json] = []
        for _ in range(MAX_PAGES):
            page, marker_after = self._read_page(marker)
            if not page:
                break
            bodies += page
            if marker_after in (None, marker):
                break
            marker = marker_after
        return bodies, marker

    def delete(self) -> None:
        """Delete the queue with its messages; a missing one, or no Zaqar, is no error."""
        with suppress(ResourceGone, ResourceTypeUnavailable):
            self._send("DELETE", "")

    def _read_page(self, marker: str | None) -> tuple[list[Json], str | None]:
        query: dict[str, Json] = {"limit": _PAGE_SIZE, "echo": "true"}
        if marker is not None:  # Zaqar on Redis cannot list claimed messages without a marker.
            query |= {"marker": marker, "include_claimed": "true"}
        try:
            answer = self._send("GET", "/messages", query=query).body
        except ResourceGone:
            return [], None  # nobody has posted anything
        messages = _after(marker, _maps(answer, "messages"))
        return [each.get("body") for each in messages], _next_marker(_maps(answer, "links"))

    def _send(
        self, method: str, path: str, body: Json = None, *, query: Mapping[str, Json] | None = None
    ) -> CloudResponse:
        return self._client.send(
            CloudRequest(
                SERVICE,
                method,
                f"/queues/{quote(self.name, safe='')}{path}",
                body,
                dict(query or {}),
                {"Client-ID": CLIENT_ID},
            )
        )


def _maps(answer: Json, key: str) -> list[Mapping[str, Json]]:
    """Return the maps in a list of an answer, which may have any form."""
    listed = answer.get(key) if isinstance(answer, Mapping) else None
    found = listed if isinstance(listed, list) else []
    return [each for each in found if isinstance(each, Mapping)]


def _after(
    marker: str | None, messages: Sequence[Mapping[str, Json]]
) -> Sequence[Mapping[str, Json]]:
    """Return the messages after that of the marker, which Zaqar on Redis may list again."""
    ids = [each.get("id") for each in messages]
    return messages[ids.index(marker) + 1 :] if marker in ids else messages


def _next_marker(links: Sequence[Mapping[str, Json]]) -> str | None:
    """Return the marker in the link to the next page, None without one."""
    for link in links:
        if link.get("rel") == "next":
            return parse_qs(urlsplit(str(link.get("href"))).query).get("marker", [None])[0]
    return None
