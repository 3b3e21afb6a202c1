"""Signals that senders store as objects, at URLs that need no credentials.

Decides the container and the names of the objects, and signs their URLs. The container belongs to
a stack, and several of its resources may share it. All calls may be repeated (RULE 4).

Source: docs.openstack.org/swift/latest/api/temporary_url_middleware.html.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

from heat_convergence.clients.rest_client import (
    CloudClient,
    CloudRequest,
    CloudResponse,
    RequestLimiter,
)
from heat_convergence.common.errors import Error, ResourceTypeUnavailable
from heat_convergence.common.failures import Conflict, ResourceFailure, ResourceGone
from heat_convergence.resources.builtin.signals.signal_log import (
    NATIVE_FORMAT,
    SignalLog,
    add_signal,
)
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
SERVICE = "object_store"
INITIAL_TEXT = "in progress"  # of an object that nobody has signalled yet
_KEY_HEADER = "X-Account-Meta-Temp-Url-Key"
_EXPIRES_AT = 2_147_483_587  # a minute before 32 bits end: a server may signal at any time
_SLOTS = RequestLimiter(16)
_MAX_LISTED = 10_000


class SignalObjects:
    """The objects with the signals to one resource."""

    def __init__(self, context: ResourceContext, name: str | None = None) -> None:
        """Bind to the cloud of a resource; the object has its physical name, or another one."""
        self._cloud: CloudClient = require_cloud(context, _SLOTS)
        self.container = context.stack_id
        self.name = name or context.physical_name

    def create_container(self, *, versioned: bool) -> None:
        """Create the container; a versioned one keeps what an object was before."""
        headers = {"X-Versions-Location": self.container} if versioned else {}
        self._send("PUT", self._path(), headers=headers)

    def create_object(self) -> None:
        """Create the object with the text that is no signal, unless it exists."""
        if not self.exists():
            self._send("PUT", self._path(self.name), INITIAL_TEXT)

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

    def texts(self) -> list[str]:
        """Return the texts of the object's versions and of the object that are signals."""
        found = []
        for item in self._list():
            try:
                answer = self._send("GET", self._path(str(item["name"])))
            except ResourceGone:
                continue  # it became a version since the list was made
            found.append(answer.content.decode("utf-8", "replace"))
        return [text for text in found if text != INITIAL_TEXT]

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
        listed = self._send("GET", self._path(), query=query).body or ()
        return [item for item in listed if self.name in str(item.get("name"))]

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


def parse_signals(texts: Sequence[str]) -> tuple[SignalLog, str]:
    """Return the signals that texts are, and the reason why one of them cannot be read."""
    log: SignalLog = {}
    for text in texts:
        try:
            details = json.loads(text) if text.strip() else {}
            log, _reason = add_signal(log, details, NATIVE_FORMAT)
        except ValueError:
            return log, "a signal is no JSON document"
        except Error as error:
            return log, error.message
    return log, ""
