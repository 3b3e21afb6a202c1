"""Signals to resources by way of a real Keystone: with a token, a password, a signed URL."""

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
NAME = "signals"


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
    outputs: Json = {
        f"signal_{name}": {"get_attr": [f"h_{name}", "signal"]} for name in TRANSPORTS
    }
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
def deployed_service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client("demo")


@pytest.fixture(scope="module")
def stack_id(deployed_service: DeployedService, user: UserIdentityClient) -> Iterator[str]:
    """Yield a stack whose handles are complete and whose wait conditions wait."""
    stack_id = deployed_service.create_stack(user.session, NAME, template())
    expected = {*(f"h_{name}" for name in TRANSPORTS), "h_aws", "up"}

    def handles_exist() -> bool:
        shown = deployed_service.request(
            user.session, "GET", f"/stacks/{NAME}/{stack_id}/resources"
        ).json()
        complete = {each["resource_name"] for each in shown["resources"]
                if each["resource_status"] == "CREATE_COMPLETE"}  # fmt: skip
        return expected <= complete

    wait_until(handles_exist, "the handles exist", timeout_s=120)
    yield stack_id
    deployed_service.delete_stack(user.session, NAME)


def signal_user_session(cloud_testbed: CloudTestbed, signal_info: Json) -> Session:
    return Session(Password(
        signal_info["auth_url"], user_id=signal_info["user_id"], password=signal_info["password"],
        project_id=signal_info["project_id"],
    ))  # fmt: skip


def test_signal_transports_and_their_limits(
    cloud_testbed: CloudTestbed,
    deployed_service: DeployedService,
    user: UserIdentityClient,
    stack_id: str,
) -> None:
    values = deployed_service.outputs(user.session, NAME)
    signals = {name: json.loads(values[f"signal_{name}"]) for name in TRANSPORTS}

    headers = {"X-Auth-Token": signals["token"]["auth_token"]}
    response = requests.post(signals["token"]["alarm_url"], json={}, headers=headers, timeout=60)
    assert response.status_code == 200, response.text
    assert signals["token"]["alarm_url"] in values["curl"]

    response = requests.put(signals["cfn"]["alarm_url"], data="{}", timeout=60)
    assert response.status_code == 200, response.text
    assert requests.post(signals["cfn"]["alarm_url"], data="{}", timeout=60).status_code == 403

    session = signal_user_session(cloud_testbed, signals["heat"])
    response = session.post(signals["heat"]["alarm_url"], json={"data": "by password"},
                          raise_exc=False)  # fmt: skip
    assert response.status_code == 200, response.text

    body = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}
    response = requests.put(values["aws"], json=body, timeout=60)
    assert response.status_code == 200, response.text

    assert deployed_service.wait_until_done(user.session, NAME)[0] == "CREATE_COMPLETE"
    assert json.loads(deployed_service.outputs(user.session, NAME)["data"]) == {"1": "by password"}

    root = signals["heat"]["alarm_url"].split("/resources/")[0]
    for method, url in (("GET", root), ("DELETE", root), ("GET", f"{root}/resources")):
        assert session.request(url, method, raise_exc=False).status_code == 403
    other_stack = root.replace(signals["heat"]["project_id"], user.session.get_project_id())
    assert session.get(other_stack, raise_exc=False).status_code in (403, 404)


def test_alarm_url_scales_group(
    cloud_testbed: CloudTestbed,
    deployed_service: DeployedService,
    user: UserIdentityClient,
    stack_id: str,
) -> None:
    values = deployed_service.outputs(user.session, NAME)
    assert requests.post(values["alarm"], data="{}", timeout=60).status_code == 200
    wait_until(
        lambda: deployed_service.outputs(user.session, NAME)["size"] == 2,
        "the group has scaled up",
        timeout_s=60,
    )
    session = signal_user_session(cloud_testbed, json.loads(values["signal_heat"]))
    response = session.post(values["scale"], json={}, raise_exc=False)
    assert response.status_code == 403, "a stack's user reaches no resource but its own"
    response = user.session.post(values["scale"], json={}, raise_exc=False)
    assert response.status_code == 200, response.text
    wait_until(
        lambda: deployed_service.outputs(user.session, NAME)["size"] == 3,
        "the group has scaled up again",
        timeout_s=60,
    )


def test_suspended_stack_rejects_signals(
    cloud_testbed: CloudTestbed,
    deployed_service: DeployedService,
    user: UserIdentityClient,
    stack_id: str,
) -> None:
    values = deployed_service.outputs(user.session, NAME)
    signal = json.loads(values["signal_token"])
    deployed_service.request(
        user.session, "POST", f"/stacks/{NAME}/{stack_id}/actions", {"suspend": None}
    )
    assert deployed_service.wait_until_done(user.session, NAME)[0] == "SUSPEND_COMPLETE"
    headers = {"X-Auth-Token": signal["auth_token"]}
    response = requests.post(signal["alarm_url"], json={}, headers=headers, timeout=60)
    assert response.status_code in (400, 401), response.text
    assert requests.post(values["alarm"], data="{}", timeout=60).status_code in (400, 403)
    deployed_service.request(
        user.session, "POST", f"/stacks/{NAME}/{stack_id}/actions", {"resume": None}
    )
    assert deployed_service.wait_until_done(user.session, NAME)[0] == "RESUME_COMPLETE"
    assert requests.post(values["alarm"], data="{}", timeout=60).status_code == 200


def test_deleted_stack_leaves_no_signal_user(
    cloud_testbed: CloudTestbed, deployed_service: DeployedService, user: UserIdentityClient
) -> None:
    admin, domain = cloud_testbed.identity_client(), cloud_testbed.facts["heat_domain_id"]

    def projects_of(stack_id: str) -> Json:
        path = f"/projects?domain_id={domain}&name={stack_id}"
        return admin.get(path)["projects"]

    resource = {"h": {"type": "OS::Heat::WaitConditionHandle"}}
    body = {"heat_template_version": "2016-10-14", "resources": resource}
    stack_id = deployed_service.create_stack(user.session, "short", body)
    assert deployed_service.wait_until_done(user.session, "short")[0] == "CREATE_COMPLETE"
    assert len(projects_of(stack_id)) == 1
    shown = deployed_service.request(
        user.session, "GET", f"/stacks/short/{stack_id}/resources/h"
    ).json()
    user_id = shown["resource"]["physical_resource_id"]
    assert admin.get(f"/users/{user_id}")["user"]["domain_id"] == domain
    deployed_service.delete_stack(user.session, "short")
    users = admin.get(f"/users?domain_id={domain}")["users"]
    assert user_id not in {each["id"] for each in users}
    wait_until(lambda: not projects_of(stack_id), "the users' project is deleted", timeout_s=60)
