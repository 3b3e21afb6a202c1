"""URLs that carry their own right to be called, by EC2 keys (signature version 2).

Called by resource types that hand URLs to guests, and by the API that is called with
them, which asks Keystone whether the signature is right.  Pure but for ``Ec2Tokens``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from heat_convergence.clients import plugins
from heat_convergence.clients.keystone import identity, refused_as_failure
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import Ec2Keys

VERSION, METHOD = "2", "HmacSHA256"


@dataclass(frozen=True, slots=True)
class Signer:
    """Whom Keystone says a signed request is of."""

    user_id: str
    project_id: str
    project_name: str
    project_domain_id: str
    project_domain_name: str
    roles: tuple[str, ...]


def sign(url: str, keys: Ec2Keys, *, verb: str = "POST") -> str:
    """The URL with the query that lets whoever has it call it by ``verb``; it does not
    expire before the keys are deleted.

    It has no time in it: Keystone would take what is older than its ``[credential]
    auth_ttl``, a quarter of an hour, for expired, and a guest may take longer than that.
    """
    parts = urlsplit(url)
    query = {
        "AWSAccessKeyId": keys.access,
        "SignatureMethod": METHOD,
        "SignatureVersion": VERSION,
    }
    # Of the path in clear: servers are not told how it was escaped.
    path = unquote(parts.path)
    query["Signature"] = signature(keys.secret, verb, parts.netloc.lower(), path, query)
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{urlencode(query)}"


def signature(
    secret: str, verb: str, host: str, path: str, query: Mapping[str, str]
) -> str:
    """Of the request as EC2 writes it down, version 2."""
    pairs = "&".join(f"{_escaped(name)}={_escaped(query[name])}" for name in sorted(query))
    text = "\n".join([verb, host, path, pairs])
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode("ascii")


def credentials_of(
    verb: str, host: str, path: str, query: Mapping[str, str]
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
        "verb": verb,
        "path": path,
        "params": given,
    }


class Ec2Tokens:
    """Asks Keystone about signatures, as the service itself."""

    def __init__(self, settings: ClientSettings, service: plugins.Service) -> None:
        self._settings = settings
        self._service = service

    def signer(self, credentials: Mapping[str, Any]) -> Signer:
        """Raises ``AuthorizationFailure`` when the signature is not right."""
        session = plugins.session(self._settings, self._service.plugin())
        with refused_as_failure("Keystone does not take the signature"):
            client = identity(session, self._settings)
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
