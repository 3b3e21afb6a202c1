"""URLs that authenticate themselves with EC2 credentials (signature version 2).

Called by resource types that pass URLs to servers, and by the API that receives the requests
and lets Keystone verify the signature. Pure but for ``Ec2SignatureVerifier``.

Source: AWS General Reference, "Signature Version 2 signing process".
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
from heat_convergence.clients.service_account import ServiceAccount
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import Ec2Keys

SIGNATURE_VERSION, SIGNATURE_METHOD = "2", "HmacSHA256"
# Keystone answers 500, not 401, to a signature that lacks one of these.
_REQUIRED_PARAMETERS = ("SignatureVersion", "SignatureMethod")


@dataclass(frozen=True, slots=True)
class Signer:
    """The user, project and roles of a signed request, as Keystone reports them."""

    user_id: str
    project_id: str
    project_name: str
    project_domain_id: str
    project_domain_name: str
    roles: tuple[str, ...]


def sign_url(url: str, keys: Ec2Keys, *, http_method: str = "POST") -> str:
    """Return the URL with a query that authorizes one HTTP method, until the keys are deleted.

    The query has no timestamp: Keystone would reject signatures older than ``[credential]
    auth_ttl``, a quarter of an hour, and a server may take longer than that to send a signal.
    """
    parts = urlsplit(url)
    query = {
        "AWSAccessKeyId": keys.access,
        "SignatureMethod": SIGNATURE_METHOD,
        "SignatureVersion": SIGNATURE_VERSION,
    }
    # The unescaped path is signed: WSGI servers do not report how it was escaped.
    path = unquote(parts.path)
    query["Signature"] = compute_signature(
        keys.secret, http_method, parts.netloc.lower(), path, query
    )
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{urlencode(query)}"


def compute_signature(
    secret: str, http_method: str, host: str, path: str, query: Mapping[str, str]
) -> str:
    """Return the EC2 signature, version 2, of a request."""
    pairs = "&".join(f"{_escaped(name)}={_escaped(query[name])}" for name in sorted(query))
    text = "\n".join([http_method, host, path, pairs])
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode("ascii")


def ec2_credentials(
    http_method: str, host: str, path: str, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the credentials that Keystone verifies; None for an unsigned request."""
    parameters = dict(query)
    signed = parameters.pop("Signature", None)
    access = parameters.get("AWSAccessKeyId")
    if not signed or not access or any(name not in parameters for name in _REQUIRED_PARAMETERS):
        return None
    return {
        "access": access,
        "signature": signed,
        "host": host,
        "verb": http_method,
        "path": path,
        "params": parameters,
    }


class Ec2SignatureVerifier:
    """Verification of signatures by Keystone, requested as the service itself."""

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._account = ServiceAccount(settings, service)

    def identify_signer(self, credentials: Mapping[str, Any]) -> Signer:
        """Return the signer of a request.

        Args:
            credentials: Result of ``ec2_credentials``.

        Raises:
            AuthorizationFailure: The signature is invalid.
        """
        token = self._account.validate_signature(credentials)
        project = token["project"]
        return Signer(
            user_id=token["user"]["id"],
            project_id=project["id"],
            project_name=project["name"],
            project_domain_id=project["domain"]["id"],
            project_domain_name=project["domain"].get("name", ""),
            roles=tuple(role["name"] for role in token["roles"]),
        )

    def issue_token(self, credentials: Mapping[str, Any]) -> str:
        """Return a token of the signer of a request.

        Args:
            credentials: What Keystone verifies: the signature, and all that it covers.

        Raises:
            AuthorizationFailure: The signature is invalid.
        """
        return self._account.issue_token(credentials)


def _escaped(text: str) -> str:
    return quote(text, safe="-_~")
