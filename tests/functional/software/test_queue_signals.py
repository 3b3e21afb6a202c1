"""Signals that servers post to queues of Zaqar, over the emulated cloud."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.testing.openstack.emulation import EmulatedRequest
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import ServerAgentTestbed

Json = Any
CONFIG = {
    "type": "OS::Heat::SoftwareConfig",
    "properties": {"group": "script", "config": "echo", "outputs": [{"name": "result"}]},
}


def template(count: int = 1, timeout: int = 600, **values: Json) -> Json:
    """Return a template with a deployment, or with a condition if there are no values."""
    handle = {
        "type": "OS::Heat::WaitConditionHandle",
        "properties": {"signal_transport": "ZAQAR_SIGNAL"},
    }
    wait = {"handle": {"get_resource": "h"}, "count": count, "timeout": timeout}
    resources = {"h": handle, "wait": {"type": "OS::Heat::WaitCondition", "properties": wait}}
    outputs: Json = {
        "signal": {"get_attr": ["h", "signal"]},
        "data": {"get_attr": ["wait", "data"]},
    }
    if values:
        values["config"] = {"get_resource": "c"}
        values["signal_transport"] = "ZAQAR_SIGNAL"
        deployment = {"type": "OS::Heat::SoftwareDeployment", "properties": values}
        resources, outputs = {"c": CONFIG, "d": deployment}, {"r": {"get_attr": ["d", "result"]}}
    return hot_template(resources, outputs=outputs)


def start(heat: ProjectClient, body: Json) -> None:
    heat.create("s", body, hold=True)
    heat.service.run_due_work()


def post(testbed: ServerAgentTestbed, queue: str, *bodies: Json, ttl: int = 3600) -> None:
    """Post messages, as an agent does."""
    messages = [{"body": body, "ttl": ttl} for body in bodies]
    path = f"/queues/{queue}/messages"
    request = EmulatedRequest("message", "POST", path, {}, {"messages": messages})
    assert testbed.sky.emulation.handle(request).status == 201


def settle(heat: ProjectClient) -> None:
    heat.service.run_until_idle()


def inputs(heat: ProjectClient) -> Json:
    """Return the inputs that the agent of the server reads."""
    answer = heat.send("GET", "/software_deployments/metadata/srv", leave_pending=True)
    (config,) = answer.json["metadata"]
    return {each["name"]: each["value"] for each in config["inputs"]}


def test_condition_counts_posted_signals(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    start(heat, template(count=3))
    signal = json.loads(heat.outputs("s")["signal"])
    assert "alarm_url" not in signal
    user = testbed.fake.users[signal["user_id"]]
    assert (user["name"], user["password"]) == (signal["username"], signal["password"])
    post(testbed, signal["queue_id"], {"id": "a", "data": 1}, None)
    heat.service.clock.advance(120)
    heat.service.run_due_work()
    assert heat.status("s") == "CREATE_IN_PROGRESS"
    post(testbed, signal["queue_id"], {"id": "c", "status": "SUCCESS"})
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert json.loads(heat.outputs("s")["data"]) == {"a": 1, "2": None, "c": None}
    heat.delete("s")
    assert testbed.sky.bodies("zaqar.queue") == []
    assert signal["user_id"] not in testbed.fake.users


def test_messages_that_expire_are_remembered(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    start(heat, template(count=2, timeout=3600))
    queue = json.loads(heat.outputs("s")["signal"])["queue_id"]
    post(testbed, queue, {"id": "a"}, ttl=300)
    for _ in range(3):
        heat.service.clock.advance(60)
        heat.service.run_due_work()
    heat.service.clock.advance(300)  # the first message is no longer there
    post(testbed, queue, {"id": "b"})
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert json.loads(heat.outputs("s")["data"]) == {"a": None, "b": None}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"status": "FAILURE", "reason": "disk"}, "disk"),
        ({"status": "PERHAPS"}, "PERHAPS"),
        ({"nonsense": 1}, "a signal has no nonsense"),
    ],
)
def test_posted_signals_fail_the_condition(
    testbed: ServerAgentTestbed, heat: ProjectClient, body: Json, reason: str
) -> None:
    start(heat, template())
    post(testbed, json.loads(heat.outputs("s")["signal"])["queue_id"], body)
    settle(heat)
    assert heat.status("s") == "CREATE_FAILED"
    assert reason in heat.stack("s")["stack_status_reason"]


def test_number_of_messages_is_limited(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    start(heat, template(count=2))
    queue = json.loads(heat.outputs("s")["signal"])["queue_id"]
    post(testbed, queue, *({"id": "same", "data": number} for number in range(2_000)))
    requests = testbed.sky.emulation.request_counts
    path = f"GET message /queues/{queue}/messages"
    before = requests[path]
    heat.service.clock.advance(120)
    heat.service.run_due_work()
    assert 50 <= requests[path] - before <= 51 * 2
    settle(heat)
    assert "1 of 2 received" in heat.stack("s")["stack_status_reason"]


def test_condition_without_signals_times_out(heat: ProjectClient) -> None:
    start(heat, template(timeout=60))
    settle(heat)
    assert "0 of 1 received" in heat.stack("s")["stack_status_reason"]


def test_deployment_reads_the_posted_signal(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    start(heat, template(server="srv"))
    first = inputs(heat)
    user = testbed.fake.users[first["deploy_user_id"]]
    assert user["password"] == first["deploy_password"]
    post(testbed, first["deploy_queue_id"], {"result": "one", "deploy_status_code": 0})
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s")["r"] == "one"
    heat.update("s", template(server="srv", input_values={"a": "b"}), hold=True)
    heat.service.run_due_work()
    second = inputs(heat)
    assert second["deploy_queue_id"] != first["deploy_queue_id"]
    assert testbed.sky.bodies("zaqar.queue") == []  # what the first one used is gone
    post(testbed, first["deploy_queue_id"], {"result": "late"})
    post(testbed, second["deploy_queue_id"], {"result": "two"})
    settle(heat)
    assert heat.outputs("s")["r"] == "two"
    heat.delete("s")
    assert heat.stack("s") is None
    assert first["deploy_user_id"] not in testbed.fake.users


@pytest.mark.parametrize("body", [{"deploy_status_code": 3}, "text", [1], None])
def test_deployment_fails_by_a_posted_signal(
    testbed: ServerAgentTestbed, heat: ProjectClient, body: Json
) -> None:
    start(heat, template(server="srv"))
    post(testbed, inputs(heat)["deploy_queue_id"], body)
    settle(heat)
    assert heat.status("s") == "CREATE_FAILED"
    assert "non-zero status code" in heat.stack("s")["stack_status_reason"]


def test_retried_create_keeps_the_password_that_was_deployed(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    """The server may have read the configuration before the response was lost."""
    testbed.sky.emulation.inject_failure("GET", "/messages$", 503)
    start(heat, template(server="srv"))
    for _ in range(5):
        heat.service.clock.advance(30)
        heat.service.run_due_work()
        known = inputs(heat)
        user = testbed.fake.users[known["deploy_user_id"]]
        assert user["password"] == known["deploy_password"]
    post(testbed, known["deploy_queue_id"], {"result": "one"})
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
