"""The base of the links in responses.

Decides it before any handler runs: the operator's ``public_endpoint``, else the address that the
client used, once it is one. Must not change the host of the request, which signatures cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import webob

from heat_convergence.api.http import BASE_URL_KEY
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common import errors

_SCHEMES = frozenset({"http", "https"})
_MAX_HOST = 261  # 255 of a name, and a port
_HOST = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
)


class PublicEndpoint:
    """WSGI middleware that stores the base of links in the environment.

    Args:
        endpoint: URL without version and project; None for the address of each request.
    """

    def __init__(self, application: WsgiApplication, endpoint: str | None) -> None:
        self._application = application
        self._endpoint = endpoint

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Store the base, or refuse a request whose address cannot stand in a link."""
        base_url = self._endpoint or _requested_base_url(environ)
        environ[BASE_URL_KEY] = base_url.rstrip("/")
        return self._application(environ, start_response)


def _requested_base_url(environ: dict[str, Any]) -> str:
    host = environ.get("HTTP_HOST")
    if host is not None and (len(host) > _MAX_HOST or _HOST.fullmatch(host) is None):
        raise errors.HTTPBadRequest("The Host header is not a host name with an optional port.")
    if environ["wsgi.url_scheme"] not in _SCHEMES:
        raise errors.HTTPBadRequest("The protocol that the proxy names is not http or https.")
    url: str = webob.Request(environ).application_url
    return url
