"""Bodies that agents and attackers send to the signed URLs of the CloudFormation API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from webob import Request

from heat_convergence.clients import signed_urls
from heat_convergence.clients.stack_users import Ec2Keys
from tests.functional.cfn_api.conftest import DOMAIN, SignatureKeystone
from tests.functional.cfn_api.signing import HOST, answer, version_4
from tests.functional.harness import LocalService

Json = Any
KEYS = Ec2Keys("agent", "agent-secret")
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "one": {"type": "Test::Agent"},
        "two": {"type": "OS::Heat::None"},
    },
    "outputs": {"signal": {"value": {"get_attr": ["one", "signal"]}}},
}


@pytest.fixture
def arn(service: LocalService, keystone: SignatureKeystone) -> str:
    """The ARN of a stack whose agent has keys."""
    values = {"Action": "CreateStack", "StackName": "s", "TemplateBody": json.dumps(TEMPLATE)}
    response = answer(service, version_4({**values, "ContentType": "JSON"}))
    found = str(response.json["CreateStackResponse"]["CreateStackResult"]["StackId"])
    keystone.keys["agent"] = KEYS.secret
    keystone.tokens["agent"] = f"{DOMAIN}/users/{found.rpartition('/')[2]}/heat_stack_user"
    return found


def signal(
    service: LocalService,
    arn: str,
    body: bytes,
    resource: str = "one",
    content_type: str = "application/json",
) -> Any:
    """Send a body to the URL of a wait condition's handle."""
    quoted = f"{arn.replace(':', '%3A')}/resources/{resource}"
    url = signed_urls.sign_url(f"http://{HOST}/v1/waitcondition/{quoted}", KEYS, http_method="PUT")
    request = Request.blank(url, method="PUT", body=body)
    request.content_type = content_type
    return answer(service, request)


def recorded(service: LocalService) -> Json:
    values = {"Action": "DescribeStacks", "StackName": "s", "ContentType": "JSON"}
    found = answer(service, version_4(values)).json["DescribeStacksResponse"]
    (stack,) = found["DescribeStacksResult"]["Stacks"]
    return stack["Outputs"][0]["OutputValue"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""]
)
def test_signal_is_read_whatever_its_content_type(
    service: LocalService, arn: str, content_type: str
) -> None:
    """Heat refuses the signature when curl says that the body is a form."""
    response = signal(service, arn, b'{"a": "b=c&d"}', content_type=content_type)
    assert response.status_int == 200, response.text
    assert recorded(service) == {"a": "b=c&d"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b'"text"',
        b"\xff\xfe",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        b"[" * 100_000,
    ],
)
def test_body_that_begins_no_map_is_a_signal_without_details(
    service: LocalService, arn: str, body: bytes
) -> None:
    """Heat answers some of them with 500."""
    assert signal(service, arn, b'{"a": 1}').status_int == 200
    assert signal(service, arn, body).status_int == 200
    assert recorded(service) in (None, "")


@pytest.mark.parametrize("body", [b'{"a": NaN}', b'{"a"', b'{"a": "\xff"}', b'{"a":' * 50_000])
def test_map_that_cannot_be_read_is_refused(service: LocalService, arn: str, body: bytes) -> None:
    """Heat answers 500."""
    assert signal(service, arn, b'{"a": 1}').status_int == 200
    response = signal(service, arn, body)
    assert response.status_int == 400, response.text
    assert recorded(service) == {"a": 1}


def test_large_body_is_refused(service: LocalService, arn: str) -> None:
    response = signal(service, arn, b'{"a": "' + b"x" * 10_000_000 + b'"}')
    assert response.status_int == 400, response.text


def test_resource_without_signals_and_unknown_resource(service: LocalService, arn: str) -> None:
    body = b"{}"
    assert signal(service, arn, body, "two").status_int == 403
    assert signal(service, arn, body, "none").status_int == 404
