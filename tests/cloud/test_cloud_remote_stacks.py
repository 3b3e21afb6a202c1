"""``OS::Heat::Stack`` through the catalogue of a real Keystone: the service asks itself."""

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
def ours(deploy: DeployService) -> DeployedService:
    return deploy(allow_trusts_redelegation=True)  # else a trust gives no other


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client("demo")


def test_remote_stack_lifecycle(ours: DeployedService, user: UserIdentityClient) -> None:
    def outputs() -> dict[str, Json]:
        stack = ours.request(user.session, "GET", f"/stacks/{NAME}").json()["stack"]
        return {each["output_key"]: each["output_value"] for each in stack["outputs"]}

    stack_id = ours.create_stack(user.session, NAME, template("1"))
    status = ours.wait_until_done(user.session, NAME)
    assert status[0] == "CREATE_COMPLETE", status
    name = outputs()["name"]
    assert outputs()["out"] == "1"
    assert ours.stack_status(user.session, name)[0] == "CREATE_COMPLETE"
    path = f"/stacks/{NAME}/{stack_id}"
    ours.request(user.session, "PUT", path, {"template": template("2")})
    status = ours.wait_until_done(user.session, NAME)
    assert status[0] == "UPDATE_COMPLETE", status
    assert outputs()["out"] == "2"
    for action, done in (("suspend", "SUSPEND_COMPLETE"), ("resume", "RESUME_COMPLETE")):
        ours.request(user.session, "POST", f"{path}/actions", {action: None})
        assert ours.wait_until_done(user.session, NAME)[0] == done
        assert ours.stack_status(user.session, name)[0] == done
    ours.delete_stack(user.session, NAME)
    assert ours.request(user.session, "GET", f"/stacks/{name}").status_code == 404
