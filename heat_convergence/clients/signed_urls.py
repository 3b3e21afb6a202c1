"""URLs that carry their own right to be called, by EC2 keys (signature version 2).

Called by resource types that hand URLs to guests, and by the API that is called with
them, which asks Keystone whether the signature is right.  Pure but for ``Ec2SignatureVerifier``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from heat_convergence.clients import auth
from heat_convergence.clients.keystone import create_identity_adapter, translate_keystone_errors
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import Ec2Keys

SIGNATURE_VERSION, SIGNATURE_METHOD = "2", "HmacSHA256"


@dataclass(frozen=True, slots=True)
class Signer:
    """Whom Keystone says a signed request is of."""

    user_id: str
    project_id: str
    project_name: str
    project_domain_id: str
    project_domain_name: str
    roles: tuple[str, ...]


def sign_url(url: str, keys: Ec2Keys, *, http_method: str = "POST") -> str:
    """The URL with the query that lets whoever has it call it by ``verb``; it does not
    expire before the keys are deleted.

    It has no time in it: Keystone would take what is older than its ``[credential]
    auth_ttl``, a quarter of an hour, for expired, and a guest may take longer than that.
    """
    parts = urlsplit(url)
    query = {
        "AWSAccessKeyId": keys.access,
        "SignatureMethod": SIGNATURE_METHOD,
        "SignatureVersion": SIGNATURE_VERSION,
    }
    # Of the path in clear: servers are not told how it was escaped.
    path = unquote(parts.path)
    query["Signature"] = compute_signature(
        keys.secret, http_method, parts.netloc.lower(), path, query
    )
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{urlencode(query)}"


def compute_signature(
    secret: str, http_method: str, host: str, path: str, query: Mapping[str, str]
) -> str:
    """Of the request as EC2 writes it down, version 2."""
    pairs = "&".join(f"{_escaped(name)}={_escaped(query[name])}" for name in sorted(query))
    text = "\n".join([http_method, host, path, pairs])
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode("ascii")


def ec2_credentials(
    http_method: str, host: str, path: str, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """What Keystone needs to judge a request; None when it is not signed."""
    given = dict(query)
    signed = given.pop("Signature", None)
    access = given.get("AWSAccessKeyId")
    if not signed or not access:
        return None
    return {
        "access": access,
        "signature": signed,
        "host": host,
        "verb": http_method,
        "path": path,
        "params": given,
    }


class Ec2SignatureVerifier:
    """Asks Keystone about signatures, as the service itself."""

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    def identify_signer(self, credentials: Mapping[str, Any]) -> Signer:
        """Raises ``AuthorizationFailure`` when the signature is not right."""
        session = auth.create_session(self._settings, self._service.load_plugin())
        with translate_keystone_errors("Keystone does not take the signature"):
            client = create_identity_adapter(session, self._settings)
            token = client.post("/ec2tokens", json={"credentials": credentials}).json()["token"]
        project = token["project"]
        return Signer(
            user_id=token["user"]["id"],
            project_id=project["id"],
            project_name=project["name"],
            project_domain_id=project["domain"]["id"],
            project_domain_name=project["domain"].get("name", ""),
            roles=tuple(role["name"] for role in token["roles"]),
        )


def _escaped(text: str) -> str:
    return quote(text, safe="-_~")
