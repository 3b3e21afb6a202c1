"""Requests to the CloudFormation API with signatures of either version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from webob import Request

from heat_convergence.clients.signed_urls import compute_signature
from tests.functional.cfn_api.conftest import KEYS
from tests.functional.harness import LocalService

HOST = "localhost:8000"
URL = f"http://{HOST}/v1/"


def version_2(values: Mapping[str, str], access: str = "access") -> Request:
    """Return a request whose query has the parameters and a signature of version 2."""
    query = {
        "AWSAccessKeyId": access,
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        **values,
    }
    query["Signature"] = compute_signature(KEYS[access], "GET", HOST, "/v1/", query)
    return Request.blank(f"{URL}?{urlencode(query)}")


def version_4(values: Mapping[str, str], access: str = "access") -> Request:
    """Return a request whose form has the parameters, with a signature of version 4."""
    body = urlencode(values)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    signed = AWSRequest("POST", URL, headers=headers, data=body)
    SigV4Auth(Credentials(access, KEYS[access]), "cloudformation", "heat").add_auth(signed)
    return Request.blank(URL, headers=dict(signed.headers), method="POST", body=body.encode())


def version_4_in_query(values: Mapping[str, str], access: str = "access") -> Request:
    """Return a request whose query has the parameters and a signature of version 4."""
    signed = AWSRequest("GET", URL, params=dict(values))
    SigV4QueryAuth(Credentials(access, KEYS[access]), "cloudformation", "heat").add_auth(signed)
    return Request.blank(signed.url)


def answer(service: LocalService, request: Request) -> Any:
    """Return the response of the API to a request."""
    return request.get_response(service.app)
