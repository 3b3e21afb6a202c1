"""One object of the object storage: its content, its versions, and URLs that need no credentials.

Decides how an object is written, read and signed. What is read was stored by others, so that its
number and its size are limited. All calls may be repeated (RULE 4).

Source: docs.openstack.org/swift/latest/api/temporary_url_middleware.html.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

from heat_convergence.clients.rest_client import CloudClient, CloudRequest, CloudResponse
from heat_convergence.common.errors import ResourceTypeUnavailable
from heat_convergence.common.failures import Conflict, ResourceFailure, ResourceGone

Json = Any
SERVICE = "object_store"
MAX_OBJECT_BYTES = 1_048_576  # of one object that somebody else has stored
MAX_VERSIONS = 1_000  # of one object, that are read
_KEY_HEADER = "X-Account-Meta-Temp-Url-Key"
_EXPIRES_AT = 2_147_483_587  # a minute before 32 bits end: a server may signal at any time
_MAX_LISTED = 10_000


class StoredObject:
    """An object in a container of a project's account."""

    def __init__(self, cloud: CloudClient, container: str, name: str) -> None:
        """Bind to a project's cloud."""
        self._cloud = cloud
        self.container = container
        self.name = name

    def create_container(self, *, versioned: bool) -> None:
        """Create the container; a versioned one keeps what an object was before."""
        headers = {"X-Versions-Location": self.container} if versioned else {}
        self._send("PUT", self._path(), headers=headers)

    def write(self, text: str) -> None:
        """Store the object."""
        self._send("PUT", self._path(self.name), text)

    def exists(self) -> bool:
        """Return whether the object exists."""
        try:
            self._send("HEAD", self._path(self.name))
        except (ResourceGone, ResourceTypeUnavailable):
            return False
        return True

    def signed_url(self, method: str = "PUT") -> str:
        """Return the URL that permits one method."""
        endpoint = urlsplit(self._cloud.endpoint_url(SERVICE))
        path = f"{endpoint.path.rstrip('/')}{self._path(self.name)}"
        text = f"{method}\n{_EXPIRES_AT}\n{path}".encode()
        signature = hmac.new(self._signing_key().encode(), text, hashlib.sha256).hexdigest()
        query = f"temp_url_sig={signature}&temp_url_expires={_EXPIRES_AT}"
        return f"{endpoint.scheme}://{endpoint.netloc}{path}?{query}"

    def read_versions(self) -> list[str]:
        """Return the texts of the object's versions and of the object.

        Raises:
            ResourceFailure: One of them is too long, or there are too many.
        """
        items = self._list()
        if len(items) > MAX_VERSIONS:
            raise ResourceFailure(f"More than {MAX_VERSIONS} signals are stored")
        found = []
        for item in items:
            size = item.get("bytes")
            if isinstance(size, int) and size > MAX_OBJECT_BYTES:
                raise ResourceFailure(f"A stored signal has more than {MAX_OBJECT_BYTES} bytes")
            with suppress(ResourceGone):  # it became a version since the list was made
                answer = self._send("GET", self._path(str(item["name"])))
                found.append(answer.content[:MAX_OBJECT_BYTES].decode("utf-8", "replace"))
        return found

    def delete(self) -> None:
        """Delete the object with its versions, and the container if it is empty."""
        try:
            for item in sorted(self._list(), key=lambda each: bool(each["name"] == self.name)):
                with suppress(ResourceGone):
                    self._send("DELETE", self._path(str(item["name"])))
            with suppress(Conflict):
                self._send("DELETE", self._path())
        except (ResourceGone, ResourceTypeUnavailable):
            return

    def _list(self) -> Sequence[Mapping[str, Json]]:
        query = {"format": "json", "limit": _MAX_LISTED}
        listed = self._send("GET", self._path(), query=query).body
        found = listed if isinstance(listed, list) else []
        maps = (item for item in found if isinstance(item, Mapping))
        return [item for item in maps if self.name in str(item.get("name"))]

    def _signing_key(self) -> str:
        """Return the account's key, created if there is none.

        Raises:
            ResourceFailure: The service does not keep one.
        """
        found = self._account_key()
        if found is None:
            self._send("POST", "/", headers={_KEY_HEADER: secrets.token_hex(16)})
            found = self._account_key()  # that of whoever was last
        if not found:
            raise ResourceFailure("The object storage keeps no key that signs URLs")
        return found

    def _account_key(self) -> str | None:
        headers = self._send("HEAD", "/").headers
        lower = {name.lower(): value for name, value in headers.items()}
        return lower.get(_KEY_HEADER.lower())

    def _path(self, name: str | None = None) -> str:
        own = f"/{quote(self.container, safe='')}"
        return own if name is None else f"{own}/{quote(name)}"

    def _send(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        query: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> CloudResponse:
        return self._cloud.send(
            CloudRequest(SERVICE, method, path, body, dict(query or {}), dict(headers or {}))
        )
