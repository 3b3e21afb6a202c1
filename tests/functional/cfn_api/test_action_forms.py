"""Every action as XML and as JSON, with signatures of versions 2 and 4."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from webob import Request

from heat_convergence.api.cfn import project_rows
from heat_convergence.api.cfn.app import ACTIONS
from tests.functional.cfn_api.signing import answer, version_2, version_4, version_4_in_query
from tests.functional.harness import LocalService

Json = Any
Sign = Callable[..., Request]
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2018-08-31",
    "description": "d",
    "parameters": {
        "text": {"type": "string", "default": "v"},
        "pin": {"type": "string", "hidden": True, "default": "1234"},
    },
    "parameter_groups": [{"label": "g", "parameters": ["text"]}],
    "resources": {
        "one": {
            "type": "OS::Heat::TestResource",
            "metadata": {"a": 1},
            "properties": {"value": {"get_param": "text"}},
        }
    },
    "outputs": {"o": {"description": "d", "value": {"get_attr": ["one", "output"]}}},
}
STATE = ("PhysicalResourceId", "ResourceStatusReason", "ResourceType")
OWNER = ("StackId", "StackName")
# Action → parameters, path to the first item of the result, and its elements in order.
RESULTS: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "ListStacks": (
        {},
        "StackSummaries/0",
        ("CreationTime", "LastUpdatedTime", *OWNER, "StackStatusReason", "StackStatus"),
    ),
    "DescribeStacks": (
        {"StackName": "s"},
        "Stacks/0",
        (
            *("Capabilities", "CreationTime", "Description", "DisableRollback"),
            *("NotificationARNs", "Parameters", *OWNER, "StackStatusReason"),
            *("TimeoutInMinutes", "LastUpdatedTime", "StackStatus", "Outputs"),
        ),
    ),
    "DescribeStackEvents": (
        {"StackName": "s"},
        "StackEvents/0",
        (
            *("EventId", "LogicalResourceId", "PhysicalResourceId", "ResourceProperties"),
            *(*STATE[1:], *OWNER, "Timestamp", "ResourceStatus"),
        ),
    ),
    "DescribeStackResource": (
        {"StackName": "s", "LogicalResourceId": "one"},
        "StackResourceDetail",
        (
            *("Description", "LastUpdatedTimestamp", "LogicalResourceId", "Metadata"),
            *(*STATE, *OWNER, "ResourceStatus"),
        ),
    ),
    "DescribeStackResources": (
        {"StackName": "s"},
        "StackResources/0",
        ("Description", "LogicalResourceId", *STATE, *OWNER, "Timestamp", "ResourceStatus"),
    ),
    "ListStackResources": (
        {"StackName": "s"},
        "StackResourceSummaries/0",
        ("LastUpdatedTimestamp", "LogicalResourceId", *STATE, "ResourceStatus"),
    ),
    "ValidateTemplate": (
        {"TemplateBody": json.dumps(TEMPLATE)},
        "Parameters/0",
        ("ParameterKey", "DefaultValue", "Description", "NoEcho"),
    ),
    "GetTemplate": ({"StackName": "s"}, "", ("TemplateBody",)),
    "EstimateTemplateCost": ({"TemplateBody": json.dumps(TEMPLATE)}, "", ("Url",)),
    "UpdateStack": (
        {"StackName": "s", "TemplateBody": json.dumps(TEMPLATE), "TimeoutInMinutes": "9"},
        "",
        ("StackId",),
    ),
    "CreateStack": ({"StackName": "t", "TemplateBody": json.dumps(TEMPLATE)}, "", ("StackId",)),
    "DeleteStack": ({"StackName": "s"}, "", ()),
    "CancelUpdateStack": ({"StackName": "s"}, "", ()),  # refused here: see its own test
}


def test_the_table_has_every_action() -> None:
    assert set(RESULTS) == set(ACTIONS)


@pytest.fixture(
    params=[version_2, version_4, version_4_in_query],
    ids=["version 2", "version 4", "version 4 in the query"],
)
def sign(request: pytest.FixtureRequest) -> Sign:
    """The function that signs a request."""
    found: Sign = request.param
    return found


@pytest.fixture
def stack(service: LocalService) -> str:
    """The name of a stack that was updated once."""
    values = {"StackName": "s", "TemplateBody": json.dumps(TEMPLATE)}
    for action in ("CreateStack", "UpdateStack"):
        sent = version_4({**values, "Action": action, "TimeoutInMinutes": "7"})
        assert answer(service, sent).status_int == 200
    return "s"


def _result(response: Any, action: str) -> Json:
    """Return the result of an action, maps and lists alike for both forms."""
    if response.content_type == "application/json":
        document = response.json
    else:
        root = ElementTree.fromstring(response.body)
        document = {root.tag: _plain(root)}
    ((name, body),) = document.items()
    assert name == f"{action}Response"
    return body[f"{action}Result"] or {}


def _plain(element: ElementTree.Element) -> Json:
    children = list(element)
    if children and all(each.tag == "member" for each in children):
        return [_plain(each) for each in children]
    return {each.tag: _plain(each) for each in children} if children else element.text or ""


@pytest.mark.parametrize("form", ["XML", "JSON"])
@pytest.mark.parametrize("action", sorted(RESULTS.keys() - {"CancelUpdateStack"}))
def test_action_has_the_elements_of_heat(
    service: LocalService, stack: str, sign: Sign, action: str, form: str
) -> None:
    values, path, elements = RESULTS[action]
    response = answer(service, sign({**values, "Action": action, "ContentType": form}))
    media_type = {"XML": "application/xml", "JSON": "application/json"}[form]
    assert (response.status_int, response.content_type) == (200, media_type), response.text
    found = _result(response, action)
    for step in filter(None, path.split("/")):
        found = found[int(step)] if step.isdigit() else found[step]
    assert tuple(found) == elements


@pytest.mark.parametrize("form", ["XML", "JSON"])
def test_cancel_of_no_update_is_refused_in_the_form(
    service: LocalService, stack: str, sign: Sign, form: str
) -> None:
    values = {"StackName": stack, "Action": "CancelUpdateStack", "ContentType": form}
    response = answer(service, sign(values))
    assert response.status_int == 400
    if form == "JSON":
        error = response.json["ErrorResponse"]["Error"]
    else:
        error = _plain(ElementTree.fromstring(response.body))["Error"]
    assert list(error) == ["Type", "Code", "Message"]
    assert (error["Type"], error["Code"]) == ("Sender", "InvalidParameterValue")


def test_validation_has_groups_and_the_environment(service: LocalService) -> None:
    values = {"Action": "ValidateTemplate", "TemplateBody": json.dumps(TEMPLATE)}
    as_json = _result(
        answer(service, version_4({**values, "ContentType": "JSON"})), "ValidateTemplate"
    )
    assert list(as_json) == ["Description", "Parameters", "ParameterGroups", "Environment"]
    assert as_json["ParameterGroups"] == TEMPLATE["parameter_groups"]
    assert set(as_json["Environment"]) >= {"parameters", "resource_registry"}
    as_xml = _result(answer(service, version_2(values)), "ValidateTemplate")
    assert as_xml["ParameterGroups"] == [{"label": "g", "parameters": ["text"]}]
    assert json.loads(as_xml["Environment"]) == as_json["Environment"]


def _events(service: LocalService) -> list[Json]:
    """Return the events of the resource, the oldest first."""
    sent = version_2({"Action": "DescribeStackEvents", "StackName": "s", "ContentType": "JSON"})
    found = _result(answer(service, sent), "DescribeStackEvents")["StackEvents"]
    return [each for each in reversed(found) if each["LogicalResourceId"] == "one"]


def _values(service: LocalService) -> list[tuple[str, Json]]:
    """Return the status and the property of the resource's events, the oldest first."""
    return [
        (each["ResourceStatus"], json.loads(each["ResourceProperties"]).get("value"))
        for each in _events(service)
    ]


def _update(service: LocalService, text: str) -> None:
    values = {"StackName": "s", "UsePreviousTemplate": "true", "Action": "UpdateStack"}
    member = "Parameters.member.1"
    named = {f"{member}.ParameterKey": "text", f"{member}.ParameterValue": text}
    response = answer(service, version_4({**values, **named}))
    assert response.status_int == 200, response.text


def test_events_have_the_properties_of_their_action(service: LocalService, stack: str) -> None:
    _update(service, "w")
    assert _values(service) == [
        ("CREATE_IN_PROGRESS", "v"),
        ("CREATE_COMPLETE", "v"),
        ("UPDATE_IN_PROGRESS", "w"),
        ("UPDATE_COMPLETE", "w"),
    ]


def test_properties_with_secrets_are_masked(service: LocalService) -> None:
    resources = {
        "one": {**TEMPLATE["resources"]["one"], "properties": {"value": {"get_param": "pin"}}}
    }
    text = json.dumps({**TEMPLATE, "resources": resources})
    sent = version_4({"Action": "CreateStack", "StackName": "s", "TemplateBody": text})
    assert answer(service, sent).status_int == 200
    assert {value for _status, value in _values(service)} == {"******"}


def test_properties_of_many_events_are_limited(
    service: LocalService, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _update(service, "w")
    length = len(_events(service)[-1]["ResourceProperties"])
    monkeypatch.setattr(project_rows, "MAX_PROPERTY_CHARACTERS", 2 * length)
    assert [value for _status, value in _values(service)] == [None, None, "w", "w"]
    monkeypatch.setattr(project_rows, "MAX_PROPERTY_CHARACTERS", length)
    assert {value for _status, value in _values(service)} == {None}
