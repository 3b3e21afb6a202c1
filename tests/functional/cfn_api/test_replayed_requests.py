"""Signed requests that were captured and are sent again with something changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import botocore.auth
import pytest
from webob import Request

from tests.functional.cfn_api.signing import URL, answer, version_2, version_4
from tests.functional.harness import LocalService

Json = Any
FORM = "application/x-www-form-urlencoded"
READ = {"Action": "DescribeStacks", "StackName": "s"}
DELETION = {"Action": "DeleteStack", "StackName": "s"}
TEMPLATE = {"heat_template_version": "2018-08-31", "description": "of project p"}


@pytest.fixture(autouse=True)
def stack(service: LocalService) -> str:
    """The ARN of a stack of the project ``p``."""
    values = {"Action": "CreateStack", "StackName": "s", "TemplateBody": json.dumps(TEMPLATE)}
    response = answer(service, version_4({**values, "ContentType": "JSON"}))
    return str(response.json["CreateStackResponse"]["CreateStackResult"]["StackId"])


def replay(captured: Request, query: str = "", body: bytes | None = None, **headers: str) -> Any:
    """Return a request with the signature of another."""
    sent = {**captured.headers, **{key.replace("_", "-"): headers[key] for key in headers}}
    content = captured.body if body is None else body
    return Request.blank(f"{URL}?{query}", headers=sent, method=captured.method, body=content)


def assert_denied(service: LocalService, request: Request) -> None:
    """The request is refused, tells nothing about the stack, and changes nothing."""
    response = answer(service, request)
    code = ElementTree.fromstring(response.body).findtext("Error/Code")
    assert (response.status_int, code) == (403, "AccessDenied"), response.text
    assert "of project p" not in response.text
    assert "COMPLETE" not in response.text
    kept = answer(service, version_4({"Action": "ListStacks"}))
    assert "<StackStatus>CREATE_COMPLETE</StackStatus>" in kept.text


@pytest.mark.parametrize("content_type", [FORM, "application/json", "text/plain"])
def test_query_beside_a_signed_form_is_refused(service: LocalService, content_type: str) -> None:
    """Keystone does not verify the query of a POST with a signature of version 4."""
    captured = version_4(READ)
    assert answer(service, replay(captured)).status_int == 200
    assert_denied(service, replay(captured, urlencode(DELETION), Content_Type=content_type))
    assert_denied(service, replay(captured, "NextToken=x"))


@pytest.mark.parametrize("body", [urlencode(DELETION).encode(), b""])
def test_another_body_is_refused(service: LocalService, body: bytes) -> None:
    assert_denied(service, replay(version_4(READ), body=body))


def test_another_method_is_refused(service: LocalService) -> None:
    captured = version_4(READ)
    captured.method = "PUT"
    assert_denied(service, replay(captured))


@pytest.mark.parametrize("sign", [version_2, version_4], ids=["version 2", "version 4"])
def test_another_project_is_refused(
    service: LocalService, sign: Callable[..., Request], stack: str
) -> None:
    for action in ("DescribeStacks", "DeleteStack", "GetTemplate", "DescribeStackEvents"):
        assert_denied(service, sign({"Action": action, "StackName": stack}, "other"))


def test_expired_signature_of_version_4_is_refused(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = datetime.now(UTC) - timedelta(minutes=16)
    with monkeypatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda: earlier)
        captured = version_4(READ)
    assert_denied(service, captured)


@pytest.mark.parametrize("version", ["0", "1", "3"])
def test_older_versions_are_refused_whatever_else_is_named(
    service: LocalService, version: str
) -> None:
    """A signature of version 0 covers the action and the time alone."""
    values = {
        **READ,
        "AWSAccessKeyId": "access",
        "Signature": "x",
        "SignatureVersion": version,
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    }
    response = answer(service, Request.blank(f"{URL}?{urlencode(values)}"))
    assert response.status_int == 400
    code = ElementTree.fromstring(response.body).findtext("Error/Code")
    assert code == "IncompleteSignature"


SCOPE = "access/20260101/heat/cloudformation/aws4_request"
COMPLETE = {"Credential": SCOPE, "SignedHeaders": "host", "Signature": "0" * 64}


@pytest.mark.parametrize(
    ("changes", "date"),
    [
        ({"Credential": "access"}, "20260101T000000Z"),
        ({"Credential": "access/now/heat/cloudformation/aws4_request"}, "20260101T000000Z"),
        ({"SignedHeaders": ""}, "20260101T000000Z"),
        ({}, ""),
    ],
)
def test_parts_of_version_4_are_required(
    service: LocalService, changes: dict[str, str], date: str
) -> None:
    parts = ", ".join(f"{key}={value}" for key, value in {**COMPLETE, **changes}.items())
    headers = {"Authorization": f"AWS4-HMAC-SHA256 {parts}", "X-Amz-Date": date}
    response = answer(service, Request.blank(f"{URL}?Action=ListStacks", headers=headers))
    assert response.status_int == 400
    assert "IncompleteSignature" in response.text
