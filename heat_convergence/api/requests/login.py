"""The body of a login of the console.

Called by ``api.console.login``. Raises ``HTTPBadRequest`` that names the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.clients.login.user_login import LoginRequest
from heat_convergence.common import errors

Json = Any
_MAX_TEXT = 4096
_PROJECT_KEYS = ("project_id", "project_name", "project_domain_name")
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # Method -> required keys, optional keys.
    "password": (("username", "password"), ("user_domain_name", *_PROJECT_KEYS)),
    "token": (("token",), _PROJECT_KEYS),
    "application_credential": (
        ("application_credential_secret",),
        (
            "application_credential_id",
            "application_credential_name",
            "username",
            "user_domain_name",
        ),
    ),
}
_DEFAULT_DOMAIN = "Default"


def parse_login(body: Mapping[str, Json]) -> LoginRequest:
    """Return the parsed body.

    Raises:
        HTTPBadRequest: A key is missing, unknown, or no text.
    """
    method = body.get("method")
    if not isinstance(method, str) or method not in _KEYS:
        raise errors.HTTPBadRequest(f'"method" must be one of: {", ".join(_KEYS)}.')
    required, optional = _KEYS[method]
    unknown = sorted(set(body) - {"method", *required, *optional})
    if unknown:
        raise errors.HTTPBadRequest(f'A login with "{method}" has no key "{unknown[0]}".')
    values = {name: _text(name, body[name]) for name in (*required, *optional) if body.get(name)}
    missing = [name for name in required if name not in values]
    if missing:
        raise errors.HTTPBadRequest(f'A login with "{method}" needs "{missing[0]}".')
    if "username" in values:
        values.setdefault("user_domain_name", _DEFAULT_DOMAIN)
    if "project_name" in values:
        values.setdefault("project_domain_name", values.get("user_domain_name", _DEFAULT_DOMAIN))
    elif "project_id" not in values:
        values.pop("project_domain_name", None)
    return LoginRequest(method, values)


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise errors.HTTPBadRequest(f'"{name}" must be text of at most {_MAX_TEXT} characters.')
    return value
