"""Clients of the cloud in which an ``OS::Heat::Stack`` is.

Decides from the property ``context`` whether that is another region, or another cloud whose
credential is a secret of the local one. A client of another cloud has circuit breakers and limits
of its own, so that no failure of it reaches other stacks (RULE 11).
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from heat_convergence.clients.remote.remote_clouds import RemoteAccess
from heat_convergence.clients.rest_client import (
    CloudClient,
    CloudRequest,
    RequestLimiter,
    SdkCloudClient,
)
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
CONTEXT, CREDENTIAL = "context", "credential_secret_id"
_OTHER_CLOUD = (CREDENTIAL, "ca_cert", "insecure")
_SECRET_ID = re.compile(r"[0-9a-fA-F-]{32,36}")
_MAX_CREDENTIAL_BYTES = 65_536
_MAX_CLIENTS = 64
_MAX_PARALLEL_REQUESTS = 32
_MAX_REMOTE_REQUESTS = 4  # at one other cloud


class RemoteClients:
    """The clients of one process, limited to the most recently used."""

    def __init__(self) -> None:
        self._slots = RequestLimiter(_MAX_PARALLEL_REQUESTS)
        self._clients: OrderedDict[str, SdkCloudClient] = OrderedDict()
        self._lock = threading.Lock()

    def client_of(self, context: ResourceContext) -> CloudClient:
        """Return the client of the cloud and region that the properties name.

        Raises:
            Error: The credential cannot be read or used.
        """
        place, own = location(context.properties), require_cloud(context, self._slots)
        if is_other_cloud(context.properties):
            return self._other_cloud(context, place, own)
        region = region_of(context.properties)
        return own if region is None else own.in_region(region)

    def _other_cloud(
        self, context: ResourceContext, place: Mapping[str, Json], own: CloudClient
    ) -> CloudClient:
        reference = place.get(CREDENTIAL)
        access = RemoteAccess(
            credential=read_credential(own, str(reference)) if reference else "",
            region=region_of(context.properties),
            ca_cert=place.get("ca_cert"),
            insecure=bool(place.get("insecure")),
        )
        parts = (context.cloud.tree_id, access.credential, access.region, access.ca_cert)
        key = hashlib.sha256(repr((*parts, access.insecure)).encode()).hexdigest()
        with self._lock:
            found = self._clients.get(key)
        if found is None:
            connection = context.cloud.connect_remote(access)
            found = SdkCloudClient(
                key,
                context.project_id,
                lambda: connection,
                RequestLimiter(_MAX_REMOTE_REQUESTS),
                access.region,
            )
        with self._lock:
            self._clients[key] = found
            self._clients.move_to_end(key)
            while len(self._clients) > _MAX_CLIENTS:
                self._clients.popitem(last=False)
        return found


def location(properties: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the property that says where the stack is."""
    found: Mapping[str, Json] = properties.get(CONTEXT) or {}
    return found


def region_of(properties: Mapping[str, Json]) -> str | None:
    """Return the region of the stack; None for the own one, also for an empty text."""
    found: str | None = location(properties).get("region_name")
    return found or None


def is_other_cloud(properties: Mapping[str, Json]) -> bool:
    """Return whether the stack is reached otherwise than the stack's own cloud is."""
    return any(location(properties).get(name) for name in _OTHER_CLOUD)


def read_credential(own: CloudClient, reference: str) -> str:
    """Return the payload of a secret, which the stack's user may read.

    Args:
        own: A client of the local cloud.
        reference: The id of the secret, or its URL, of which the id alone is used.

    Raises:
        ResourceFailure: There is no such secret, or it is no text of that size.
    """
    secret_id = reference.rstrip("/").rpartition("/")[2]
    if _SECRET_ID.fullmatch(secret_id) is None:
        raise ResourceFailure(f"{CREDENTIAL} is no id of a secret")
    path = f"/secrets/{secret_id}/payload"
    request = CloudRequest("key_manager", "GET", path, headers={"Accept": "text/plain"})
    try:
        content = own.send(request).content
    except ResourceGone as error:
        raise ResourceFailure(f"there is no secret {secret_id} for {CREDENTIAL}") from error
    if len(content) > _MAX_CREDENTIAL_BYTES:
        raise ResourceFailure(f"the secret of {CREDENTIAL} is too long")
    return content.decode("utf-8", "replace")
