"""The login of a user at Keystone with what the user typed.

Called by the console's login alone. The URL of Keystone is the configured one, never one of the
request; nothing is stored, and no password or token is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.v3 import ApplicationCredential, Password, Token
from keystoneauth1.session import Session

from heat_convergence.clients.auth import ServiceAuth, create_session, keystone_v3_url
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common.failures import Unavailable

_TIMEOUT_S = 15.0
_NOT_ACCEPTED = (401, 403, 404)


class LoginRefused(Exception):
    """Keystone does not accept what the user typed."""


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A method to log in, and what it needs.

    Attributes:
        method: ``password``, ``token`` or ``application_credential``.
        values: Arguments of keystoneauth's plug-in of that method.
    """

    method: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class GrantedToken:
    """A token for a project.

    Attributes:
        token: The token.
        expires_at: Time of its end, as Keystone writes it.
        project_id: Id of the project.
        project_name: Name of the project.
        user_name: Name of the user.
        roles: Names of the user's roles in the project.
    """

    token: str
    expires_at: str
    project_id: str
    project_name: str
    user_name: str
    roles: tuple[str, ...]


_PLUGINS: dict[str, Callable[..., Any]] = {
    "password": Password,
    "token": Token,
    "application_credential": ApplicationCredential,
}


class UserLogin:
    """The login of users at the Keystone that the configuration names."""

    def __init__(self, settings: ClientSettings, service: ServiceAuth) -> None:
        self._settings = replace(settings, timeout_s=min(settings.timeout_s, _TIMEOUT_S))
        self._service = service

    def log_in(self, login: LoginRequest) -> GrantedToken:
        """Return a token for the project that the user named, or that the token is for.

        Raises:
            LoginRefused: Keystone refuses, or grants no project.
            Unavailable: Keystone cannot be asked.
        """
        url = keystone_v3_url(self._settings.auth_uri or self._service.auth_url)
        plugin = _PLUGINS[login.method](url, **login.values)
        session = create_session(self._settings, plugin)
        try:
            granted: AccessInfo = plugin.get_access(session)
            if granted.project_id is None and login.method == "token":
                granted = _rescope_to_own_project(url, session, login.values["token"])
        except exceptions.HttpError as error:
            if error.http_status in _NOT_ACCEPTED:
                raise LoginRefused("Keystone does not accept these credentials.") from error
            raise Unavailable(f"Keystone answered {error.http_status} to a login") from error
        except exceptions.ClientException as error:
            raise Unavailable(f"Keystone cannot be asked: {type(error).__name__}") from error
        if granted.project_id is None:
            raise LoginRefused("The user has no default project: name a project.")
        return GrantedToken(
            token=str(granted.auth_token),
            expires_at=granted.expires.isoformat() if granted.expires else "",
            project_id=str(granted.project_id),
            project_name=str(granted.project_name or ""),
            user_name=str(granted.username or ""),
            roles=tuple(granted.role_names or ()),
        )


def _rescope_to_own_project(url: str, session: Session, token: str) -> AccessInfo:
    """Return a token for the project that a token is for."""
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    found = session.get(f"{url}/auth/tokens", headers=headers, authenticated=False, log=False)
    project = found.json()["token"].get("project") or {}
    plugin = Token(url, token=token, project_id=project.get("id"))
    access: AccessInfo = plugin.get_access(session)
    return access
