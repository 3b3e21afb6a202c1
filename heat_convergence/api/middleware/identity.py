"""Who asks, put into the environment for the application.

Two ways: what keystonemiddleware verified, or a fixed user in the project that
the URL names.  Decides nothing about what the caller may do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heat_convergence.api import context
from heat_convergence.api.middleware.faults import Wsgi
from heat_convergence.api.wire import CALLER


class KeystoneIdentity:
    """Stands below ``auth_token``, which has refused whoever has no valid token."""

    def __init__(self, application: Wsgi) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[CALLER] = context.from_environ(environ)
        return self._application(environ, start_response)


class NoAuthIdentity:
    """For loopback alone; ``cli`` sees to that."""

    def __init__(self, application: Wsgi) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        project_id = environ.get("PATH_INFO", "").lstrip("/").split("/", 1)[0] or None
        environ[CALLER] = context.without_keystone(environ, project_id)
        return self._application(environ, start_response)
