"""The paths of the console: its files, its settings and the login.

Stands in front of authentication and readiness, so that the page can say that the service is not
ready. Decides the headers that keep foreign code out of the page. Called by ``api.app``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import webob

from heat_convergence.api.console.login import LoginEndpoint
from heat_convergence.api.console.static_files import load_static_files, static_response
from heat_convergence.api.http import json_response
from heat_convergence.api.middleware.faults import WsgiApplication

CONSOLE_PATH = "/console"
STANDALONE_PROJECT_ID = "standalone"
_INDEX, _SETTINGS, _TOKENS = "index.html", "settings.json", "tokens"
_READ_METHODS = frozenset({"GET", "HEAD"})
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Console:
    """WSGI middleware that serves the console below ``/console``.

    Args:
        application: Serves all other paths.
        login: Logs users in; None where the service has no authentication.
    """

    def __init__(self, application: WsgiApplication, login: LoginEndpoint | None) -> None:
        self._application = application
        self._login = login
        self._files = load_static_files()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Serve a path of the console, or pass the request on."""
        path = environ.get("PATH_INFO", "")
        if path == CONSOLE_PATH:
            # Relative, because a proxy may serve the API below another path.
            start_response(
                "308 Permanent Redirect", [("Location", "console/"), ("Content-Length", "0")]
            )
            return [b""]
        if not path.startswith(f"{CONSOLE_PATH}/"):
            return self._application(environ, start_response)
        response = self._respond(webob.Request(environ), path[len(CONSOLE_PATH) + 1 :])
        response.headers.update(_SECURITY_HEADERS)
        body: Iterable[bytes] = response(environ, start_response)
        return body

    def _respond(self, request: webob.Request, name: str) -> webob.Response:
        if name == _TOKENS and self._login is not None:
            return self._login.respond(request)
        if name != _SETTINGS and (name or _INDEX) not in self._files:
            return webob.Response("Not found.", 404, content_type="text/plain", charset="UTF-8")
        if request.method not in _READ_METHODS:
            return webob.Response(status=405, allow=sorted(_READ_METHODS))
        if name == _SETTINGS:
            return self._settings_response()
        return static_response(self._files[name or _INDEX], request)

    def _settings_response(self) -> webob.Response:
        keystone = self._login is not None
        response = json_response(
            {
                "auth": "keystone" if keystone else "none",
                "project_id": None if keystone else STANDALONE_PROJECT_ID,
            }
        )
        response.headers["Cache-Control"] = "no-store"
        return response
