"""The API version of a path, and the document that lists versions.

Decides, before authentication, what becomes of paths without ``/v1``.  Passes requests
of version 1 on without ``/v1`` in their path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import webob

from heat_convergence.api.http import BASE_URL_KEY, json_response
from heat_convergence.api.middleware.faults import RouteNotFound, WsgiApplication

VERSION_PATH = "/v1"
_ACCEPTED = ("/v1", "/v1.0")
_ACCEPT_V1 = "application/vnd.openstack.orchestration-v1"
_VERSION = re.compile(r"/v\d+(\.\d+)?")
_LISTED_AT = ("", "/", "/versions")


class VersionNegotiation:
    """WSGI middleware; ``open_documents`` are served without a version or a token."""

    def __init__(self, application: WsgiApplication, open_documents: dict[str, Any]) -> None:
        self._application = application
        self._open_documents = open_documents

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Serve open documents and the list of versions, and pass on version 1."""
        path = environ.get("PATH_INFO", "")
        head = "/" + path.lstrip("/").split("/", 1)[0]
        if path in self._open_documents:
            response = json_response(self._open_documents[path])
        elif path in _LISTED_AT or (_VERSION.fullmatch(head) and head not in _ACCEPTED):
            response = self._list(environ[BASE_URL_KEY])
        elif head in _ACCEPTED:
            inner = {**environ, "PATH_INFO": path[len(head) :]}
            return self._application(inner, start_response)
        elif environ.get("HTTP_ACCEPT", "").startswith(_ACCEPT_V1):
            return self._application(environ, start_response)
        else:
            raise RouteNotFound(path)
        body: Iterable[bytes] = response(environ, start_response)
        return body

    @staticmethod
    def _list(base_url: str) -> webob.Response:
        here = f"{base_url}{VERSION_PATH}/"
        version = {"id": "v1.0", "status": "CURRENT", "links": [{"rel": "self", "href": here}]}
        return json_response({"versions": [version]}, 300)
