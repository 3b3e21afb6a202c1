"""``OS::Heat::Stack`` by way of a real service catalog: the service calls itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService, UserIdentityClient

Json = Any
NAME = "outer"


def template(value: str) -> Json:
    inner = {
        "heat_template_version": "2016-10-14",
        "parameters": {"v": {"type": "string"}},
        "resources": {"a": {"type": "OS::Heat::Value", "properties": {
            "value": {"get_param": "v"}}}},
        "outputs": {"out": {"value": {"get_attr": ["a", "value"]}}},
    }  # fmt: skip
    remote = {"template": json.dumps(inner), "parameters": {"v": value}, "timeout": 5}
    return {
        "heat_template_version": "2016-10-14",
        "resources": {"r": {"type": "OS::Heat::Stack", "properties": remote}},
        "outputs": {
            "out": {"value": {"get_attr": ["r", "outputs", "out"]}},
            "name": {"value": {"get_attr": ["r", "stack_name"]}},
        },
    }


@pytest.fixture(scope="module")
def deployed_service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client("demo")


def test_remote_stack_lifecycle(
    deployed_service: DeployedService, user: UserIdentityClient
) -> None:
    stack_id = deployed_service.create_stack(user.session, NAME, template("1"))
    status = deployed_service.wait_until_done(user.session, NAME)
    assert status[0] == "CREATE_COMPLETE", status
    name = deployed_service.outputs(user.session, NAME)["name"]
    assert deployed_service.outputs(user.session, NAME)["out"] == "1"
    assert deployed_service.stack_status(user.session, name)[0] == "CREATE_COMPLETE"
    path = f"/stacks/{NAME}/{stack_id}"
    deployed_service.request(user.session, "PUT", path, {"template": template("2")})
    status = deployed_service.wait_until_done(user.session, NAME)
    assert status[0] == "UPDATE_COMPLETE", status
    assert deployed_service.outputs(user.session, NAME)["out"] == "2"
    for action, expected in (("suspend", "SUSPEND_COMPLETE"), ("resume", "RESUME_COMPLETE")):
        deployed_service.request(user.session, "POST", f"{path}/actions", {action: None})
        assert deployed_service.wait_until_done(user.session, NAME)[0] == expected
        assert deployed_service.stack_status(user.session, name)[0] == expected
    deployed_service.delete_stack(user.session, NAME)
    assert deployed_service.request(user.session, "GET", f"/stacks/{name}").status_code == 404
