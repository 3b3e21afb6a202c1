"""The caller of a request, put into the environment for the application.

Either what keystonemiddleware verified, or a fixed user in the project that the URL
names.  Must not decide what the caller may do.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from heat_convergence.api import context
from heat_convergence.api.context import StackUserDomain
from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.common import errors


class KeystoneIdentity:
    """WSGI middleware inside ``auth_token``, which has refused invalid tokens."""

    def __init__(self, application: WsgiApplication, users: StackUserDomain) -> None:
        self._application = application
        self._users = users

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Add the verified caller to the environment."""
        environ[CALLER_KEY] = context.caller_from_token(environ, self._users)
        return self._application(environ, start_response)


class NoAuthIdentity:
    """WSGI middleware for callers on this machine alone, whatever socket they use."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Add the fixed caller to the environment, or refuse another machine."""
        if not is_local(environ.get("REMOTE_ADDR") or "127.0.0.1"):  # a UNIX socket has none
            raise errors.HTTPForbidden(
                "Without authentication, the service answers this machine alone."
            )
        project_id = environ.get("PATH_INFO", "").lstrip("/").split("/", 1)[0] or None
        environ[CALLER_KEY] = context.noauth_caller(environ, project_id)
        return self._application(environ, start_response)


def is_local(address: str) -> bool:
    """Return whether the address is one of this machine."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return False  # a proxy's header said something else
    return (getattr(known, "ipv4_mapped", None) or known).is_loopback
