"""Requests to signed URLs: agents signal a resource without a token.

``/v1/signal/{arn}`` and ``/v1/waitcondition/{arn}``, with the query that
``clients.signed_urls`` put there.  Decides who the caller is, by asking Keystone, and
passes the request on as a signal by that user; must not decide what the user may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import webob

from heat_convergence.api.context import StackUserDomain, caller_from_signature
from heat_convergence.api.http import CALLER_KEY
from heat_convergence.api.middleware.faults import MethodNotAllowed, RouteNotFound, WsgiApplication
from heat_convergence.api.services import SignerLookup
from heat_convergence.clients.signed_urls import Signer, ec2_credentials
from heat_convergence.common import errors

_PATH = re.compile(r"/v1/(?:signal|waitcondition)/(?P<arn>.+)")
_ARN = re.compile(
    r"arn:openstack:heat::[^:/]+:stacks/(?P<stack>[^/]+/[^/]+)/resources/(?P<resource>[^/]+)"
)
_METHODS = frozenset({"POST", "PUT"})


class Ec2SignatureAuth:
    """WSGI middleware that authenticates signed URLs.

    Every other request goes to ``others``, those with a verified signature to ``application``.
    """

    def __init__(
        self,
        others: WsgiApplication,
        application: WsgiApplication,
        find_signer: SignerLookup,
        domain: StackUserDomain,
    ) -> None:
        self._others = others
        self._application = application
        self._find_signer = find_signer
        self._domain = domain

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Pass a signed request on as its user's signal, and every other one unchanged."""
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        called = _PATH.fullmatch(path)
        if called is None:
            return self._others(environ, start_response)
        arn = _ARN.fullmatch(called["arn"])
        if arn is None:
            raise RouteNotFound(path)
        if environ["REQUEST_METHOD"] not in _METHODS:
            raise MethodNotAllowed(path)
        caller = caller_from_signature(environ, self._signer(environ, path), self._domain)
        path_info = (
            f"/{caller.project_id}/stacks/{arn['stack']}/resources/{arn['resource']}/signal"
        )
        signal = {
            **environ,
            CALLER_KEY: caller,
            "REQUEST_METHOD": "POST",
            "PATH_INFO": path_info.encode().decode("latin-1"),
            "QUERY_STRING": "",
            "CONTENT_TYPE": "application/json",  # curl says it is a form
        }
        return self._application(signal, start_response)

    def _signer(self, environ: dict[str, Any], path: str) -> Signer:
        request = webob.Request(environ)
        full = environ.get("SCRIPT_NAME", "") + path
        credentials = ec2_credentials(request.method, _host(request), full, dict(request.GET))
        if credentials is None:
            raise errors.HTTPForbidden("The URL is not signed.")
        try:
            return self._find_signer(credentials)
        except errors.AuthorizationFailure as error:
            raise errors.HTTPForbidden("The signature of the URL is not valid.") from error


def _host(request: webob.Request) -> str:
    """Return the host as the URL was signed: some clients name the default port."""
    default_port = {"http": ":80", "https": ":443"}.get(request.scheme, "")
    host: str = request.host
    return host.lower().removesuffix(default_port)
