"""Signatures of agents, the forms of responses, and bodies that nobody should send."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from webob import Request

from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.clients.signed_urls import compute_signature
from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter
from tests.functional.cfn_api.conftest import DOMAIN, KEYS, SignatureKeystone
from tests.functional.harness import LocalService

Json = Any
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "one": {"type": "Test::Agent", "metadata": {"os-collect-config": {"a": "<é>"}}},
        "two": {"type": "OS::Heat::None"},
    },
}


def signed(
    service: LocalService, access: str = "access", method: str = "GET", **values: str
) -> Any:
    """Send a request with a signature of version 2."""
    query = {
        "AWSAccessKeyId": access,
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        **values,
    }
    secret = KEYS.get(access, "agent-secret")
    query["Signature"] = compute_signature(secret, method, "localhost:80", "/v1/", query)
    return send(service, query, method)


def send(service: LocalService, query: dict[str, str], method: str = "GET") -> Any:
    request = Request.blank("/v1/", method=method)
    if method == "POST":
        request = Request.blank("/v1/", POST=query)
    else:
        request.GET.update(query)
    return request.get_response(service.app)


@pytest.fixture
def stack(service: LocalService) -> str:
    """The ARN of a stack."""
    text = json.dumps(TEMPLATE)
    answer = signed(service, method="POST", Action="CreateStack", StackName="s", TemplateBody=text)
    assert answer.status_int == 200, answer.text
    found = ElementTree.fromstring(answer.body).findtext("CreateStackResult/StackId")
    assert found is not None
    return found


def code_of(answer: Any) -> str:
    return str(ElementTree.fromstring(answer.body).findtext("Error/Code"))


def test_agent_reads_its_metadata_as_xml(service: LocalService, stack: str) -> None:
    answer = signed(
        service, Action="DescribeStackResource", StackName="s", LogicalResourceId="one"
    )
    assert (answer.status_int, answer.content_type) == (200, "application/xml")
    assert not answer.text.startswith("<?xml")
    assert answer.text.isascii()
    path = "DescribeStackResourceResult/StackResourceDetail/Metadata"
    root = ElementTree.fromstring(answer.text)
    assert root.tag == "DescribeStackResourceResponse"
    assert json.loads(root.findtext(path) or "") == {"os-collect-config": {"a": "<é>"}}


def test_json_is_sent_on_request(service: LocalService, stack: str) -> None:
    values = {"StackName": "s", "LogicalResourceId": "one", "ContentType": "JSON"}
    found = signed(service, Action="DescribeStackResource", **values).json
    result = found["DescribeStackResourceResponse"]["DescribeStackResourceResult"]
    assert result["StackResourceDetail"]["Metadata"] == {"os-collect-config": {"a": "<é>"}}
    assert result["StackResourceDetail"]["StackId"] == stack
    refused = signed(service, Action="DescribeStacks", StackName="no", ContentType="JSON")
    assert refused.status_int == 400
    assert refused.json["ErrorResponse"]["Error"]["Code"] == "InvalidParameterValue"


def test_user_of_a_stack_reads_its_own_resource_only(
    service: LocalService, stack: str, keystone: SignatureKeystone
) -> None:
    stack_id = stack.rpartition("/")[2]
    keystone.keys["agent"] = "agent-secret"
    keystone.tokens["agent"] = f"{DOMAIN}/users/{stack_id}/heat_stack_user"
    values = {"StackName": stack, "LogicalResourceId": "one"}
    answer = signed(service, "agent", Action="DescribeStackResource", **values)
    assert answer.status_int == 200, answer.text
    assert "CREATE_COMPLETE" in answer.text
    another = {**values, "LogicalResourceId": "two"}
    refused = signed(service, "agent", Action="DescribeStackResource", **another)
    assert (refused.status_int, code_of(refused)) == (403, "AccessDenied")
    for action in ("DescribeStacks", "ListStackResources", "GetTemplate", "DeleteStack"):
        refused = signed(service, "agent", Action=action, StackName=stack)
        assert (refused.status_int, code_of(refused)) == (403, "AccessDenied")
    keystone.tokens["agent"] = f"{DOMAIN}/users/another-tree/heat_stack_user"
    refused = signed(service, "agent", Action="DescribeStackResource", **values)
    assert refused.status_int in (400, 403)
    assert "CREATE_COMPLETE" not in refused.text


def listed_events(service: LocalService, access: str = "access", **values: str) -> Any:
    answer = signed(service, access, Action="DescribeStackEvents", ContentType="JSON", **values)
    assert answer.status_int == 200, answer.text
    return answer.json["DescribeStackEventsResponse"]["DescribeStackEventsResult"]["StackEvents"]


def test_events_of_the_whole_project_are_described(service: LocalService, stack: str) -> None:
    """Clients of AWS always name a stack."""
    text = json.dumps(TEMPLATE)
    signed(service, method="POST", Action="CreateStack", StackName="t", TemplateBody=text)
    events = listed_events(service)
    assert {each["StackName"] for each in events} == {"s", "t"}
    assert [each for each in events if each["StackName"] == "s"] == listed_events(
        service, StackName="s"
    )
    assert {each["StackId"] for each in events if each["StackName"] == "s"} == {stack}
    times = [each["Timestamp"] for each in events]
    assert times == sorted(times, reverse=True)
    signed(service, Action="DeleteStack", StackName="t")
    assert {each["StackName"] for each in listed_events(service)} == {"s"}
    assert listed_events(service, "other") == []


def test_user_of_a_stack_finds_nothing_by_physical_ids_and_no_events(
    service: LocalService, stack: str, keystone: SignatureKeystone
) -> None:
    keystone.keys["agent"] = "agent-secret"
    keystone.tokens["agent"] = f"{DOMAIN}/users/{stack.rpartition('/')[2]}/heat_stack_user"
    for values in (
        {"Action": "DescribeStackEvents"},
        {"Action": "DescribeStackResources", "PhysicalResourceId": "x"},
    ):
        refused = signed(service, "agent", **values)
        assert (refused.status_int, code_of(refused)) == (403, "AccessDenied")


def test_agent_finds_its_nested_stack_by_name(
    service: LocalService, keystone: SignatureKeystone
) -> None:
    """Agents are told the name of their stack alone."""
    group = {"count": 1, "resource_def": {"type": "Test::Agent", "metadata": {"a": "told"}}}
    body = {
        "heat_template_version": "2018-08-31",
        "resources": {"group": {"type": "OS::Heat::ResourceGroup", "properties": group}},
    }
    text = json.dumps(body)
    answer = signed(service, method="POST", Action="CreateStack", StackName="s", TemplateBody=text)
    assert answer.status_int == 200, answer.text
    with service.database.read() as conn:
        (root,) = stacks.list_page(conn, StackFilter("p"))
        (nested,) = stacks.list_children(conn, [root.id]).values()
        assert stacks.find_in_tree_by_name(conn, root.id, "other") is None
        assert stacks.find_in_tree_by_name(conn, nested.id, "s") is None
    keystone.keys["agent"] = "agent-secret"
    keystone.tokens["agent"] = f"{DOMAIN}/users/{root.id}/heat_stack_user"
    values = {"LogicalResourceId": "0", "StackName": nested.name}
    answer = signed(service, "agent", Action="DescribeStackResource", **values)
    assert answer.status_int == 200, answer.text
    assert "told" in answer.text


@pytest.mark.parametrize(
    ("policies", "readable"),
    [
        ([], {"one", "two", "p"}),
        (["p"], {"one"}),
        (["p", "q"], set()),
        (["missing"], set()),
        (["two"], set()),
    ],
)
def test_user_of_a_template_reads_what_its_policies_allow(
    service: LocalService, keystone: SignatureKeystone, policies: list[str], readable: set[str]
) -> None:
    def policy(*names: str) -> Json:
        return {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": [*names]}}

    user = {"type": "Test::User", "properties": {"Policies": policies}}
    resources = {
        "one": {"type": "OS::Heat::None", "metadata": {"a": 1}},
        "two": {"type": "OS::Heat::None"},
        "p": policy("one"),
        "q": policy("two"),
    }
    text = json.dumps({**TEMPLATE, "resources": {**resources, "user": user}})
    answer = signed(service, method="POST", Action="CreateStack", StackName="t", TemplateBody=text)
    arn = str(ElementTree.fromstring(answer.body).findtext("CreateStackResult/StackId"))
    keystone.keys["agent"] = "agent-secret"
    keystone.tokens["agent"] = f"{DOMAIN}/users/{arn.rpartition('/')[2]}/heat_stack_user"
    found = set()
    for name in ("one", "two", "p"):
        values = {"StackName": arn, "LogicalResourceId": name}
        answer = signed(service, "agent", Action="DescribeStackResource", **values)
        if answer.status_int == 200:
            found.add(name)
        else:
            assert (answer.status_int, code_of(answer)) == (403, "AccessDenied")
    assert found == readable


def test_rule_of_an_action_decides_beside_that_of_the_request(
    service: LocalService, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allows = PolicyEnforcer.allows
    denied = "cloudformation:ListStacks"
    monkeypatch.setattr(
        PolicyEnforcer,
        "allows",
        lambda self, request, rule: rule != denied and allows(self, request, rule),
    )
    refused = signed(service, Action="ListStacks")
    assert (refused.status_int, code_of(refused)) == (403, "AccessDenied")
    assert signed(service, Action="DescribeStacks").status_int == 200


def test_expired_signature_is_refused(service: LocalService, stack: str) -> None:
    answer = signed(service, Action="ListStacks", Timestamp="2020-01-01T00:00:00Z")
    assert (answer.status_int, code_of(answer)) == (403, "AccessDenied")


def test_signature_covers_the_parameters(service: LocalService, stack: str) -> None:
    query = {
        "AWSAccessKeyId": "access",
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "Action": "ListStacks",
    }
    query["Signature"] = compute_signature(KEYS["access"], "POST", "localhost:80", "/v1/", query)
    assert send(service, query, "POST").status_int == 200
    changed = {**query, "Action": "DeleteStack", "StackName": "s"}
    assert send(service, changed, "POST").status_int == 403
    assert send(service, query, "GET").status_int == 403


@pytest.mark.parametrize(
    ("query", "code", "status"),
    [
        ({"Action": "ListStacks"}, "IncompleteSignature", 400),
        ({"Signature": "x"}, "MissingAuthenticationToken", 403),
        ({"Signature": "x", "AWSAccessKeyId": "access"}, "IncompleteSignature", 400),
        (
            {
                "Signature": "x",
                "AWSAccessKeyId": "access",
                "SignatureVersion": "1",
                "SignatureMethod": "HmacSHA1",
            },
            "IncompleteSignature",
            400,
        ),
    ],
)
def test_incomplete_signatures_are_refused(
    service: LocalService, query: dict[str, str], code: str, status: int
) -> None:
    answer = send(service, query)
    assert (answer.status_int, code_of(answer)) == (status, code)


def test_token_takes_the_place_of_a_signature(service: LocalService, stack: str) -> None:
    headers = {"X-Auth-Token": "default/p/p/reader"}
    request = Request.blank("/v1/?Action=ListStacks", headers=headers)
    assert "<StackName>s</StackName>" in request.get_response(service.app).text


def test_form_of_ten_megabytes_is_refused(service: LocalService) -> None:
    body = b"TemplateBody=" + b"x" * 10_000_000
    request = Request.blank("/v1/?Action=CreateStack", method="POST", body=body)
    request.content_type = "application/x-www-form-urlencoded"
    answer = request.get_response(service.app)
    assert (answer.status_int, code_of(answer)) == (400, "RequestLimitExceeded")


@pytest.mark.parametrize("body", [b"&".join([b"a=b"] * 10_001), b"a=%ff\xff"])
def test_form_that_cannot_be_read_is_refused(service: LocalService, body: bytes) -> None:
    request = Request.blank("/v1/", method="POST", body=body)
    request.content_type = "application/x-www-form-urlencoded"
    answer = request.get_response(service.app)
    assert (answer.status_int, code_of(answer)) == (400, "InvalidParameterValue")


def test_entities_of_an_xml_body_are_never_expanded(service: LocalService) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "%s">]><Action>&b;</Action>' % (b"ListStacks" * 100)
    headers = {"X-Auth-Token": "default/p/p/member"}
    request = Request.blank("/v1/", method="POST", body=bomb, headers=headers)
    request.content_type = "application/xml"
    answer = request.get_response(service.app)
    assert (answer.status_int, code_of(answer)) == (400, "InvalidAction")


def test_characters_that_xml_cannot_hold_are_replaced(service: LocalService) -> None:
    template = {**TEMPLATE, "description": "a\u0001b"}
    values = {"StackName": "s", "TemplateBody": json.dumps(template)}
    created = signed(service, method="POST", Action="CreateStack", **values)
    assert created.status_int == 200, created.text
    answer = signed(service, Action="DescribeStacks", StackName="s")
    found = ElementTree.fromstring(answer.body)
    assert found.findtext("DescribeStacksResult/Stacks/member/Description") == "a\ufffdb"


@pytest.mark.parametrize(("path", "status"), [("/", 300), ("/versions", 300), ("/v9", 404)])
def test_versions_need_no_authentication(service: LocalService, path: str, status: int) -> None:
    answer = Request.blank(path).get_response(service.app)
    assert answer.status_int == status
    if status == 300:
        assert answer.json["versions"][0]["id"] == "v1.0"
