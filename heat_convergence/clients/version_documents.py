"""The version documents of services, which all sessions of a process share.

keystoneauth reads the document of an endpoint for each session anew, and a process has a session
for each stack tree and for each request of its API. Called by ``auth`` around every request of a
session; decides which requests are reads of a version document. Must keep nothing that depends on
a token.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import requests
from keystoneauth1 import exceptions

from heat_convergence.common.single_flight import SingleFlight

MAX_DOCUMENTS = 512
MAX_DOCUMENT_BYTES = 65_536
KEPT_S = 300.0  # a service may have been upgraded by then
_HEADERS = frozenset({"accept", "openstack-api-version"})  # that keystoneauth sends for these

DOCUMENT_RETRIES = 1  # of a read whose connection has failed
_UNREACHABLE = (
    exceptions.ConnectionError,
    exceptions.BadGateway,
    exceptions.ServiceUnavailable,
    exceptions.GatewayTimeout,
)

_Key = tuple[str, tuple[tuple[str, str], ...]]
_Fetch = Callable[[], requests.Response]


class DocumentUnreadable(exceptions.ClientException):
    """A service that could not be reached for its version document.

    keystoneauth takes any error, also of the connection, for a missing document.  It goes on
    without the version, at an address where every path is 404, or says that the service has no
    such version.
    """


class VersionDocuments:
    """Responses to reads of version documents, by URL and headers. Thread-safe, bounded.

    Args:
        now_s: Clock in seconds that never goes back.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[float, requests.Response]] = OrderedDict()
        self._flights: SingleFlight[requests.Response] = SingleFlight(
            (exceptions.ClientException,)
        )

    def get(self, url: str, headers: Mapping[str, str], fetch: _Fetch) -> requests.Response:
        """Return the document at a URL, read by ``fetch`` unless it is known.

        Raises:
            DocumentUnreadable: The service could not be reached.
            ClientException: The service refused.
        """
        key = (url, tuple(sorted(headers.items())))

        def read() -> requests.Response:
            response = fetch()
            if response.ok and len(response.content) <= MAX_DOCUMENT_BYTES:
                self._keep(key, response)
            return response

        try:
            return self._flights.run(key, lambda: self._find(key), read)
        except _UNREACHABLE as error:
            raise DocumentUnreadable(str(error)) from error

    def _find(self, key: _Key) -> requests.Response | None:
        with self._lock:
            read_s, response = self._kept.get(key, (None, None))
        return response if read_s is not None and self._now_s() - read_s < KEPT_S else None

    def _keep(self, key: _Key, response: requests.Response) -> None:
        with self._lock:
            self._kept[key] = (self._now_s(), response)
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_DOCUMENTS:
                self._kept.popitem(last=False)


def is_document_request(method: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a request of keystoneauth reads a version document without a token."""
    names = {str(name).lower() for name in arguments.get("headers") or ()}
    return method == "GET" and arguments.get("authenticated") is False and names <= _HEADERS
