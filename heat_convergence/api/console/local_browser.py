"""The refusal of requests that pages of other sites make a browser on this machine send.

Without authentication nothing else tells them from the user's: the address is that of this
machine. A browser states the site of the page; a name that was pointed at this machine later shows
in the Host header. Stands in front of the API where the console is served without authentication;
the files of the console hold nothing of the user, so that links to them may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.api.middleware.identity import is_local
from heat_convergence.common import errors

_OWN_SITES = frozenset({"same-origin", "none"})


class LocalBrowserCheck:
    """WSGI middleware that refuses cross-site requests and foreign host names."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Pass the request on, or refuse it with 403."""
        host = environ.get("HTTP_HOST")
        if host is not None and not _names_this_machine(host):
            raise errors.HTTPForbidden(
                "Without authentication, the service is reached as localhost or 127.0.0.1."
            )
        origin = environ.get("HTTP_ORIGIN")
        foreign = origin is not None and _netloc(origin) != (host or "").lower()
        if foreign or environ.get("HTTP_SEC_FETCH_SITE", "none") not in _OWN_SITES:
            raise errors.HTTPForbidden("The request comes from a page of another site.")
        return self._application(environ, start_response)


def _names_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    name = name.rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or is_local(name)


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
