"""EC2 signatures of requests, versions 2 and 4, which Keystone verifies.

Decides what of a request is signed, and asks Keystone for a token of the signer; must not decide
what the signer may do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import webob

from heat_convergence.api import context
from heat_convergence.api.cfn.cfn_errors import CfnError, access_denied
from heat_convergence.api.cfn.parameters import RequestParameters
from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.api.middleware.identity import is_local
from heat_convergence.api.services import TokenIssuer
from heat_convergence.common import errors

PARAMETERS_KEY = "heat_convergence.cfn_parameters"
_SIGNATURES = ("Signature", "X-Amz-Signature")
_IN_HEADER = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_V4 = "AWS4-HMAC-SHA256"
_SCOPE = re.compile(r"[^/]+/\d{8}/[^/]+/[^/]+/aws4_request")
_DATE = "X-Amz-Date"
_UNQUOTED = "/~!$&'()*+,;=:@"


class SignatureAuth:
    """WSGI middleware that replaces a verified signature by a token of the signer.

    A request without a signature needs a token already.
    """

    def __init__(
        self, application: WsgiApplication, issue_token: TokenIssuer, max_body_bytes: int
    ) -> None:
        """Keep the application behind, and what asks Keystone."""
        self._application = application
        self._issue_token = issue_token
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Authenticate the request and pass it on."""
        parameters = RequestParameters.read(environ, self._max_body_bytes)
        environ[PARAMETERS_KEY] = parameters
        credentials = signed_credentials(environ, parameters)
        if credentials is None and "HTTP_X_AUTH_TOKEN" not in environ:
            raise CfnError("IncompleteSignature", "The request has neither signature nor token.")
        if credentials is not None:
            try:
                environ["HTTP_X_AUTH_TOKEN"] = self._issue_token(credentials)
            except errors.AuthorizationFailure as error:
                raise access_denied() from error
        return self._application(environ, start_response)


class NoAuth:
    """WSGI middleware for callers on this machine, whose access key names the project."""

    def __init__(self, application: WsgiApplication, max_body_bytes: int) -> None:
        """Keep the application behind."""
        self._application = application
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Add the fixed caller to the environment, or refuse another machine."""
        if not is_local(environ.get("REMOTE_ADDR") or "127.0.0.1"):
            raise access_denied()
        parameters = RequestParameters.read(environ, self._max_body_bytes)
        environ[PARAMETERS_KEY] = parameters
        credentials = signed_credentials(environ, parameters)
        if credentials is None:
            raise CfnError("IncompleteSignature", "The access key, a project id, is missing.")
        environ[CALLER_KEY] = context.noauth_caller(environ, credentials["access"])
        return self._application(environ, start_response)


def signed_credentials(
    environ: dict[str, Any], parameters: RequestParameters
) -> dict[str, Any] | None:
    """Return the credentials that Keystone verifies; None for a request without a signature.

    Raises:
        CfnError: A signature without an access key, of another version, or that does not cover
            all parameters.
    """
    request, values = webob.Request(environ), parameters.values
    header = dict(_IN_HEADER.findall(request.headers.get("Authorization", "")))
    signature = next((values[name] for name in _SIGNATURES if values.get(name)), None)
    signature = signature or header.get("Signature")
    if signature is None:
        return None
    scope = values.get("X-Amz-Credential") or header.get("Credential") or ""
    access = values.get("AWSAccessKeyId") or scope.partition("/")[0]
    if not access:
        raise CfnError("MissingAuthenticationToken", "The request has no access key.", 403)
    _check_form(request, values, header)
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return {
        "access": access,
        "signature": signature,
        "host": request.host,
        "verb": request.method,
        "path": quote(path.encode("latin-1"), safe=_UNQUOTED),
        "params": {name: value for name, value in values.items() if name not in _SIGNATURES},
        "headers": {name.title(): value for name, value in request.headers.items()},
        "body_hash": hashlib.sha256(parameters.body).hexdigest(),
    }


def _check_form(
    request: webob.Request, values: Mapping[str, str], header: Mapping[str, str]
) -> None:
    """Refuse a signature that Keystone cannot verify, or verifies for less than the request."""
    version = values.get("SignatureVersion")
    if version == "2" and "SignatureMethod" in values:
        return
    in_header = request.headers.get("Authorization", "").partition(" ")[0] == _V4
    if version is not None or not (in_header or values.get("X-Amz-Algorithm") == _V4):
        raise CfnError("IncompleteSignature", "Signatures have version 2 or 4.")
    scope = header.get("Credential") if in_header else values.get("X-Amz-Credential")
    signed = header.get("SignedHeaders") if in_header else values.get("X-Amz-SignedHeaders")
    date = request.headers.get(_DATE) or values.get(_DATE)
    if not _SCOPE.fullmatch(scope or "") or not signed or not date:
        text = "A signature of version 4 needs a credential's scope, signed headers and a date."
        raise CfnError("IncompleteSignature", text)
    # Keystone verifies the body of a POST, and the query of every other request.
    if request.method.upper() == "POST" and request.query_string:
        raise access_denied()
