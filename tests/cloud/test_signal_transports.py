"""Guests who signal resources, let in by a real Keystone: by token, password, signed URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService, UserIdentityClient

Json = Any
TRANSPORTS = {"token": "TOKEN_SIGNAL", "cfn": "CFN_SIGNAL", "heat": "HEAT_SIGNAL"}
NAME = "guests"


def template() -> Json:
    resources: Json = {
        f"h_{name}": {"type": "OS::Heat::WaitConditionHandle",
                      "properties": {"signal_transport": transport}}
        for name, transport in TRANSPORTS.items()
    }  # fmt: skip
    resources["h_aws"] = {"type": "AWS::CloudFormation::WaitConditionHandle"}
    for name in TRANSPORTS:
        resources[f"w_{name}"] = {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": f"h_{name}"}, "timeout": 300},
        }
    resources["w_aws"] = {
        "type": "AWS::CloudFormation::WaitCondition",
        "properties": {"Handle": {"get_resource": "h_aws"}, "Timeout": 300},
    }
    resources["group"] = {
        "type": "OS::Heat::AutoScalingGroup",
        "properties": {"min_size": 1, "max_size": 3, "resource": {"type": "OS::Heat::None"}},
    }
    resources["up"] = {
        "type": "OS::Heat::ScalingPolicy",
        "properties": {
            "auto_scaling_group_id": {"get_resource": "group"},
            "scaling_adjustment": 1,
            "adjustment_type": "change_in_capacity",
        },
    }
    outputs = {f"signal_{name}": {"get_attr": [f"h_{name}", "signal"]} for name in TRANSPORTS}
    outputs |= {
        "curl": {"get_attr": ["h_token", "curl_cli"]},
        "aws": {"get_resource": "h_aws"},
        "alarm": {"get_attr": ["up", "alarm_url"]},
        "scale": {"get_attr": ["up", "signal_url"]},
        "size": {"get_attr": ["group", "current_size"]},
        "data": {"get_attr": ["w_heat", "data"]},
    }
    return {
        "heat_template_version": "2016-10-14",
        "resources": resources,
        "outputs": {name: {"value": value} for name, value in outputs.items()},
    }


@pytest.fixture(scope="module")
def ours(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client("demo")


def outputs(ours: DeployedService, user: UserIdentityClient) -> dict[str, Json]:
    stack = ours.request(user.session, "GET", f"/stacks/{NAME}").json()["stack"]
    return {each["output_key"]: each["output_value"] for each in stack["outputs"]}


@pytest.fixture(scope="module")
def stack_id(ours: DeployedService, user: UserIdentityClient) -> Iterator[str]:
    """A stack whose handles are there and wait."""
    stack_id = ours.create_stack(user.session, NAME, template())
    first = {*(f"h_{name}" for name in TRANSPORTS), "h_aws", "up"}

    def there() -> bool:
        shown = ours.request(user.session, "GET", f"/stacks/{NAME}/{stack_id}/resources").json()
        made = {each["resource_name"] for each in shown["resources"]
                if each["resource_status"] == "CREATE_COMPLETE"}  # fmt: skip
        return first <= made

    wait_until(there, "handles are there", timeout_s=120)
    yield stack_id
    ours.delete_stack(user.session, NAME)


def signal_user_session(cloud_testbed: CloudTestbed, told: Json) -> Session:
    return Session(Password(
        told["auth_url"], user_id=told["user_id"], password=told["password"],
        project_id=told["project_id"],
    ))  # fmt: skip


def test_signal_transports_and_their_limits(
    cloud_testbed: CloudTestbed, ours: DeployedService, user: UserIdentityClient, stack_id: str
) -> None:
    found = outputs(ours, user)
    told = {name: json.loads(found[f"signal_{name}"]) for name in TRANSPORTS}

    by_token = {"X-Auth-Token": told["token"]["auth_token"]}
    answer = requests.post(told["token"]["alarm_url"], json={}, headers=by_token, timeout=60)
    assert answer.status_code == 200, answer.text
    assert told["token"]["alarm_url"] in found["curl"]

    answer = requests.put(told["cfn"]["alarm_url"], data="{}", timeout=60)
    assert answer.status_code == 200, answer.text
    assert requests.post(told["cfn"]["alarm_url"], data="{}", timeout=60).status_code == 403

    session = signal_user_session(cloud_testbed, told["heat"])
    answer = session.post(told["heat"]["alarm_url"], json={"data": "by password"},
                          raise_exc=False)  # fmt: skip
    assert answer.status_code == 200, answer.text

    body = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}
    answer = requests.put(found["aws"], json=body, timeout=60)
    assert answer.status_code == 200, answer.text

    assert ours.wait_until_done(user.session, NAME)[0] == "CREATE_COMPLETE"
    assert json.loads(outputs(ours, user)["data"]) == {"1": "by password"}

    root = told["heat"]["alarm_url"].split("/resources/")[0]
    for method, url in (("GET", root), ("DELETE", root), ("GET", f"{root}/resources")):
        assert session.request(url, method, raise_exc=False).status_code == 403
    others = root.replace(told["heat"]["project_id"], user.session.get_project_id())
    assert session.get(others, raise_exc=False).status_code in (403, 404)


def test_alarm_url_scales_group(
    cloud_testbed: CloudTestbed, ours: DeployedService, user: UserIdentityClient, stack_id: str
) -> None:
    found = outputs(ours, user)
    assert requests.post(found["alarm"], data="{}", timeout=60).status_code == 200
    wait_until(lambda: outputs(ours, user)["size"] == 2, "the group has grown", timeout_s=60)
    session = signal_user_session(cloud_testbed, json.loads(found["signal_heat"]))
    answer = session.post(found["scale"], json={}, raise_exc=False)
    assert answer.status_code == 200, answer.text
    wait_until(lambda: outputs(ours, user)["size"] == 3, "it has grown again", timeout_s=60)


def test_suspended_stack_rejects_signals(
    cloud_testbed: CloudTestbed, ours: DeployedService, user: UserIdentityClient, stack_id: str
) -> None:
    found = outputs(ours, user)
    told = json.loads(found["signal_token"])
    ours.request(user.session, "POST", f"/stacks/{NAME}/{stack_id}/actions", {"suspend": None})
    assert ours.wait_until_done(user.session, NAME)[0] == "SUSPEND_COMPLETE"
    by_token = {"X-Auth-Token": told["auth_token"]}
    answer = requests.post(told["alarm_url"], json={}, headers=by_token, timeout=60)
    assert answer.status_code in (400, 401), answer.text
    assert requests.post(found["alarm"], data="{}", timeout=60).status_code in (400, 403)
    ours.request(user.session, "POST", f"/stacks/{NAME}/{stack_id}/actions", {"resume": None})
    assert ours.wait_until_done(user.session, NAME)[0] == "RESUME_COMPLETE"
    assert requests.post(found["alarm"], data="{}", timeout=60).status_code == 200


def test_deleted_stack_leaves_no_signal_user(
    cloud_testbed: CloudTestbed, ours: DeployedService, user: UserIdentityClient
) -> None:
    admin, domain = cloud_testbed.identity_client(), cloud_testbed.facts["heat_domain_id"]

    def left(stack_id: str) -> Json:
        path = f"/projects?domain_id={domain}&name={stack_id}"
        return admin.get(path)["projects"]

    resource = {"h": {"type": "OS::Heat::WaitConditionHandle"}}
    body = {"heat_template_version": "2016-10-14", "resources": resource}
    stack_id = ours.create_stack(user.session, "short", body)
    assert ours.wait_until_done(user.session, "short")[0] == "CREATE_COMPLETE"
    assert len(left(stack_id)) == 1
    shown = ours.request(user.session, "GET", f"/stacks/short/{stack_id}/resources/h").json()
    made = shown["resource"]["physical_resource_id"]
    assert admin.get(f"/users/{made}")["user"]["domain_id"] == domain
    ours.delete_stack(user.session, "short")
    users = admin.get(f"/users?domain_id={domain}")["users"]
    assert made not in {each["id"] for each in users}
    wait_until(lambda: not left(stack_id), "the users' project is gone", timeout_s=60)
