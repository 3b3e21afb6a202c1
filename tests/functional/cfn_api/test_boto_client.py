"""The CloudFormation API through boto3's unmodified client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

Json = Any
Connect = Callable[..., Any]
TEMPLATE = {
    "HeatTemplateFormatVersion": "2012-12-12",
    "Description": "<ä & b>",
    "Parameters": {
        "value": {"Type": "String", "Default": "v"},
        "pin": {"Type": "String", "NoEcho": "true", "Default": "1234"},
    },
    "Resources": {
        "one": {"Type": "OS::Heat::TestResource", "Properties": {"value": {"Ref": "value"}}},
        "two": {"Type": "OS::Heat::RandomString", "Metadata": {"key": ["a", "<b>"]}},
    },
    "Outputs": {
        "text": {"Description": "d", "Value": {"Fn::GetAtt": ["one", "output"]}},
        "map": {"Value": {"a": ["b", 1]}},
    },
}


def parameters(**values: str) -> list[dict[str, str]]:
    return [{"ParameterKey": key, "ParameterValue": values[key]} for key in values]


def create(client: Any, name: str = "s", template: Json = TEMPLATE, **more: Any) -> str:
    answer = client.create_stack(StackName=name, TemplateBody=json.dumps(template), **more)
    return str(answer["StackId"])


def test_stack_is_created_described_updated_and_deleted(connect: Connect) -> None:
    client = connect()
    arn = create(client, Parameters=parameters(value="w"), TimeoutInMinutes=7)
    assert arn.startswith("arn:openstack:heat::p:stacks/s/")
    (stack,) = client.describe_stacks(StackName="s")["Stacks"]
    assert (stack["StackId"], stack["StackStatus"]) == (arn, "CREATE_COMPLETE")
    assert (stack["Description"], stack["TimeoutInMinutes"]) == ("<ä & b>", 7)
    assert stack["DisableRollback"] is True
    values = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    assert values["text"] == "w"
    assert json.loads(values["map"]) == {"a": ["b", 1]}
    shown = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
    assert shown["pin"] == "******"
    assert shown["AWS::StackId"] == arn

    changed = client.update_stack(
        StackName=arn, UsePreviousTemplate=True, Parameters=parameters(value="x")
    )
    assert changed["StackId"] == arn
    (stack,) = client.describe_stacks()["Stacks"]
    assert stack["StackStatus"] == "UPDATE_COMPLETE"
    assert {"OutputKey": "text", "OutputValue": "x", "Description": "d"} in stack["Outputs"]
    (summary,) = client.list_stacks()["StackSummaries"]
    assert summary["StackName"] == "s"
    assert summary["LastUpdatedTime"] >= summary["CreationTime"]

    client.delete_stack(StackName="s")
    assert client.list_stacks()["StackSummaries"] == []


def test_stack_that_was_never_updated_is_listed(connect: Connect) -> None:
    client = connect()
    arn = create(client)
    (summary,) = client.list_stacks()["StackSummaries"]
    assert summary["StackId"] == arn
    assert "LastUpdatedTime" not in summary
    assert "TimeoutInMinutes" not in client.describe_stacks(StackName=arn)["Stacks"][0]
    client.get_waiter("stack_create_complete").wait(StackName="s")


def test_resources_and_events_are_described(connect: Connect) -> None:
    client = connect()
    arn = create(client)
    found = client.describe_stack_resource(StackName="s", LogicalResourceId="two")
    detail = found["StackResourceDetail"]
    assert (detail["StackId"], detail["ResourceType"]) == (arn, "OS::Heat::RandomString")
    assert json.loads(detail["Metadata"]) == {"key": ["a", "<b>"]}
    listed = client.list_stack_resources(StackName=arn)["StackResourceSummaries"]
    assert {each["LogicalResourceId"] for each in listed} == {"one", "two"}
    assert {each["ResourceStatus"] for each in listed} == {"CREATE_COMPLETE"}
    one = client.describe_stack_resources(StackName="s", LogicalResourceId="one")
    assert [each["LogicalResourceId"] for each in one["StackResources"]] == ["one"]
    assert len(client.describe_stack_resources(StackName="s")["StackResources"]) == 2
    events = client.describe_stack_events(StackName="s")["StackEvents"]
    assert {each["LogicalResourceId"] for each in events} == {"s", "one", "two"}
    assert all(each["StackId"] == arn and each["EventId"] for each in events)


def test_stack_is_described_by_a_physical_id(connect: Connect) -> None:
    client, invalid = connect(), ("InvalidParameterValue", 400)
    arn = create(client)
    summaries = client.list_stack_resources(StackName="s")["StackResourceSummaries"]
    ids = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in summaries}
    found = client.describe_stack_resources(PhysicalResourceId=ids["two"])["StackResources"]
    assert {each["LogicalResourceId"] for each in found} == {"one", "two"}
    assert {each["StackId"] for each in found} == {arn}
    one = {"PhysicalResourceId": ids["two"], "LogicalResourceId": "one"}
    (only,) = client.describe_stack_resources(**one)["StackResources"]
    assert only["PhysicalResourceId"] == ids["one"]
    both = {"StackName": "s", "PhysicalResourceId": ids["two"]}
    mixed = ("InvalidParameterCombination", 400)
    assert code_of(lambda: client.describe_stack_resources(**both)) == mixed
    for physical_id in ("no", "%", "a" * 2_000):
        wrong = {"PhysicalResourceId": physical_id}
        assert code_of(lambda: client.describe_stack_resources(**wrong)) == invalid  # noqa: B023
    assert code_of(client.describe_stack_resources) == ("MissingParameter", 400)
    other = connect("other")
    assert (
        code_of(lambda: other.describe_stack_resources(PhysicalResourceId=ids["two"])) == invalid
    )


def test_shared_physical_id_is_ambiguous(connect: Connect) -> None:
    client = connect()
    agent = {"heat_template_version": "2018-08-31", "resources": {"a": {"type": "Test::Agent"}}}
    for name in ("s", "t"):
        client.create_stack(StackName=name, TemplateBody=json.dumps(agent))
    found = code_of(lambda: client.describe_stack_resources(PhysicalResourceId="x"))
    assert found == ("InvalidParameterValue", 400)


def test_templates_are_shown_validated_and_estimated(connect: Connect) -> None:
    client = connect()
    create(client)
    shown = client.get_template(StackName="s")["TemplateBody"]
    assert shown["Resources"] == TEMPLATE["Resources"]
    found = client.validate_template(TemplateBody=json.dumps(TEMPLATE))
    assert found["Description"] == "<ä & b>"
    described = {each["ParameterKey"]: each for each in found["Parameters"]}
    assert (described["value"]["DefaultValue"], described["value"]["NoEcho"]) == ("v", False)
    assert described["pin"]["NoEcho"] is True
    assert client.estimate_template_cost(TemplateBody="x")["Url"].startswith("http")
    wrong = {**TEMPLATE, "Resources": {"x": {"Type": "No::Such"}}}
    with pytest.raises(ClientError, match="No::Such") as found_error:
        client.validate_template(TemplateBody=json.dumps(wrong))
    assert found_error.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_update_keeps_previous_values(connect: Connect) -> None:
    client = connect()
    create(client, Parameters=parameters(value="w"))
    kept = [{"ParameterKey": "value", "UsePreviousValue": True}]
    larger = {**TEMPLATE["Resources"], "three": {"Type": "OS::Heat::None"}}
    template = {**TEMPLATE, "Resources": larger}
    client.update_stack(StackName="s", TemplateBody=json.dumps(template), Parameters=kept)
    (stack,) = client.describe_stacks(StackName="s")["Stacks"]
    assert [each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == "text"] == [
        "w"
    ]
    client.update_stack(StackName="s", TemplateBody=json.dumps(TEMPLATE))
    (stack,) = client.describe_stacks(StackName="s")["Stacks"]
    assert [each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == "text"] == [
        "v"
    ]


@pytest.mark.parametrize(("on_failure", "disabled"), [("DO_NOTHING", True), ("ROLLBACK", False)])
def test_rollback_follows_on_failure(connect: Connect, on_failure: str, disabled: bool) -> None:
    client = connect()
    create(client, OnFailure=on_failure)
    (stack,) = client.describe_stacks(StackName="s")["Stacks"]
    assert stack["DisableRollback"] is disabled


def code_of(call: Callable[[], Any]) -> tuple[str, int]:
    with pytest.raises(ClientError) as found:
        call()
    response = found.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_errors_have_the_codes_of_the_api(connect: Connect) -> None:
    client, body = connect(), json.dumps(TEMPLATE)
    create(client)
    invalid = ("InvalidParameterValue", 400)
    assert code_of(lambda: create(client)) == ("AlreadyExists", 400)
    assert code_of(lambda: client.describe_stacks(StackName="no")) == invalid
    assert code_of(lambda: client.delete_stack(StackName="no")) == invalid
    assert code_of(lambda: client.create_stack(StackName="t")) == ("MissingParameter", 400)
    assert code_of(lambda: client.create_stack(StackName="t", TemplateBody="{")) == invalid
    assert code_of(lambda: client.update_stack(StackName="s")) == ("MissingParameter", 400)
    assert code_of(lambda: client.cancel_update_stack(StackName="s")) == invalid
    missing = {"StackName": "s", "LogicalResourceId": "no"}
    assert code_of(lambda: client.describe_stack_resource(**missing)) == invalid
    both = {"DisableRollback": True, "OnFailure": "ROLLBACK"}
    create_both = lambda: client.create_stack(StackName="t", TemplateBody=body, **both)  # noqa: E731
    assert code_of(create_both) == ("InvalidParameterCombination", 400)
    assert code_of(lambda: client.list_change_sets(StackName="s")) == ("InvalidAction", 400)


def test_wrong_and_unknown_keys_learn_nothing(connect: Connect) -> None:
    create(connect())
    denied = ("AccessDenied", 403)
    for client in (connect("access", "wrong"), connect("unknown", "wrong")):
        assert code_of(lambda client=client: client.describe_stacks(StackName="s")) == denied


def test_another_project_is_refused(connect: Connect) -> None:
    arn = create(connect())
    other = connect("other")
    assert other.list_stacks()["StackSummaries"] == []
    assert code_of(lambda: other.describe_stacks(StackName=arn)) == ("AccessDenied", 403)
    own = arn.replace("::p:", "::q:")
    assert code_of(lambda: other.describe_stacks(StackName=own)) == ("InvalidParameterValue", 400)


@pytest.mark.parametrize("suffix", ["/template", "%2Ftemplate"])
def test_names_with_a_slash_reach_nothing(connect: Connect, suffix: str) -> None:
    client, invalid = connect(), ("InvalidParameterValue", 400)
    arn = create(client)
    assert code_of(lambda: client.describe_stacks(StackName="s/template")) == invalid
    assert code_of(lambda: client.describe_stacks(StackName=arn + suffix)) == invalid
    names = {"StackName": "s", "LogicalResourceId": "two/metadata"}
    assert code_of(lambda: client.describe_stack_resource(**names)) == invalid


def test_reader_may_not_change_stacks(connect: Connect) -> None:
    create(connect())
    reader = connect("reader")
    assert len(reader.list_stacks()["StackSummaries"]) == 1
    assert code_of(lambda: create(reader, "t")) == ("AccessDenied", 403)
    assert code_of(lambda: reader.delete_stack(StackName="s")) == ("AccessDenied", 403)
