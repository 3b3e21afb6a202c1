"""Signals that senders store in the object storage, over the emulated cloud."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from heat_convergence.cli.offline.trial_cloud import TrialCloud
from heat_convergence.testing.openstack.emulation import EmulatedRequest
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
HANDLE = {"type": "OS::Heat::SwiftSignalHandle"}
CONFIG = {
    "type": "OS::Heat::SoftwareConfig",
    "properties": {"group": "script", "config": "echo", "outputs": [{"name": "result"}]},
}


@pytest.fixture
def cloud() -> ClockedEmulation:
    return TrialCloud()


@pytest.fixture
def heat(tmp_path: Path, cloud: ClockedEmulation) -> Iterator[ProjectClient]:
    service = emulation_service(cloud, tmp_path)
    yield ProjectClient(service)
    service.close()


def swift_signal(count: int = 1, timeout: int = 60) -> Json:
    properties = {"handle": {"get_resource": "h"}, "count": count, "timeout": timeout}
    return {"type": "OS::Heat::SwiftSignal", "properties": properties}


def condition(count: int = 1) -> dict[str, Json]:
    properties = {"handle": {"get_resource": "h"}, "count": count, "timeout": 60}
    return {
        "h": {
            "type": "OS::Heat::WaitConditionHandle",
            "properties": {"signal_transport": "TEMP_URL_SIGNAL"},
        },
        "wait": {"type": "OS::Heat::WaitCondition", "properties": properties},
    }


def deployment(**properties: Json) -> Json:
    values = {"config": {"get_resource": "c"}, "server": "srv", **properties}
    values["signal_transport"] = "TEMP_URL_SIGNAL"
    return {"type": "OS::Heat::SoftwareDeployment", "properties": values}


def start(heat: ProjectClient, resources: Json, **outputs: Json) -> None:
    values = {name: {"value": value} for name, value in outputs.items()}
    heat.create("s", {**hot_template(resources), "outputs": values}, hold=True)
    heat.service.run_due_work()


def store(cloud: ClockedEmulation, url: str, text: str) -> None:
    """Store an object at a signed URL, as a server without credentials does."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    expires = query["temp_url_expires"][0]
    signed = f"PUT\n{expires}\n{parts.path}".encode()
    expected = hmac.new(b"account-key", signed, hashlib.sha256).hexdigest()
    assert query["temp_url_sig"] == [expected]
    assert int(expires) > 2_000_000_000
    path = "/" + unquote(parts.path).split("/", 4)[4]
    answer = cloud.emulation.handle(EmulatedRequest("object_store", "PUT", path, {}, text))
    assert answer.status == 201


def settle(heat: ProjectClient) -> None:
    heat.service.run_until_idle()


def stored_objects(cloud: ClockedEmulation) -> list[str]:
    found = cloud.bodies("swift.container")
    return [name for each in found for name in each["objects"] if name != "one"]


def test_swift_signals_complete_the_resource(heat: ProjectClient, cloud: ClockedEmulation) -> None:
    resources = {"h": HANDLE, "wait": swift_signal(count=2)}
    outputs = {
        "url": {"get_resource": "h"},
        "curl": {"get_attr": ["h", "curl_cli"]},
        "token": {"get_attr": ["h", "token"]},
        "data": {"get_attr": ["wait", "data"]},
    }
    start(heat, resources, **outputs)
    assert heat.status("s") == "CREATE_IN_PROGRESS"
    found = heat.outputs("s")
    assert (found["token"], found["curl"]) == ("", f"curl -i -X PUT '{found['url']}'")
    store(cloud, found["url"], '{"id": "a", "data": 1}')
    store(cloud, found["url"], '{"id": "b", "status": "SUCCESS"}')
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE"
    assert json.loads(heat.outputs("s")["data"]) == {"a": 1, "b": None}
    heat.delete("s")
    assert heat.stack("s") is None
    assert stored_objects(cloud) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"status": "FAILURE", "reason": "disk"}', "disk"),
        ("no JSON", "no JSON document"),
        ('{"status": "PERHAPS"}', "PERHAPS"),
        (None, "0 of 1 received"),
    ],
)
def test_swift_signals_fail_the_resource(
    heat: ProjectClient, cloud: ClockedEmulation, text: str | None, reason: str
) -> None:
    start(heat, {"h": HANDLE, "wait": swift_signal()}, url={"get_resource": "h"})
    if text is not None:
        store(cloud, heat.outputs("s")["url"], text)
    settle(heat)
    assert heat.status("s") == "CREATE_FAILED"
    assert reason in heat.stack("s")["stack_status_reason"]


def test_url_of_another_container_is_no_handle(
    heat: ProjectClient, cloud: ClockedEmulation
) -> None:
    wait = swift_signal()
    wait["properties"]["handle"] = "http://cloud.invalid/v1/AUTH_x/other/object"
    start(heat, {"wait": wait})
    settle(heat)
    assert heat.status("s") == "CREATE_FAILED"
    assert "no URL of an OS::Heat::SwiftSignalHandle" in heat.stack("s")["stack_status_reason"]


@pytest.mark.parametrize(("method", "path"), [("PUT", "/[^/]+$"), ("PUT", "/[^/]+/[^/]+$")])
def test_lost_responses_keep_one_handle(
    heat: ProjectClient, cloud: ClockedEmulation, method: str, path: str
) -> None:
    cloud.emulation.inject_failure(method, path, 503, after_processing=True)
    wait = swift_signal(timeout=600)
    start(heat, {"h": HANDLE, "wait": wait}, url={"get_resource": "h"})
    for _ in range(20):
        if "temp_url_sig" in str(heat.outputs("s")["url"]):
            break
        heat.service.clock.advance(10)
        heat.service.run_due_work()
    store(cloud, heat.outputs("s")["url"], "")
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


def test_wait_condition_reads_stored_signals(heat: ProjectClient, cloud: ClockedEmulation) -> None:
    start(heat, condition(count=2), signal={"get_attr": ["h", "signal"]})
    url = json.loads(heat.outputs("s")["signal"])["alarm_url"]
    store(cloud, url, "{}")
    store(cloud, url, '{"reason": "second"}')
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE"
    heat.delete("s")
    assert heat.stack("s") is None
    assert stored_objects(cloud) == []


def signal_url(heat: ProjectClient) -> str:
    """Return the URL that the server reads among the inputs of its configuration."""
    answer = heat.send("GET", "/software_deployments/metadata/srv", leave_pending=True)
    (config,) = answer.json["metadata"]
    inputs = {each["name"]: each["value"] for each in config["inputs"]}
    assert inputs["deploy_signal_verb"] == "PUT"
    return str(inputs["deploy_signal_id"])


def test_deployment_reads_a_stored_signal(heat: ProjectClient, cloud: ClockedEmulation) -> None:
    outputs = {"result": {"get_attr": ["d", "result"]}}
    start(heat, {"c": CONFIG, "d": deployment()}, **outputs)
    first = signal_url(heat)
    store(cloud, first, '{"result": "one", "deploy_status_code": 0}')
    settle(heat)
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.outputs("s")["result"] == "one"
    changed = hot_template({"c": CONFIG, "d": deployment(input_values={"a": "b"})})
    heat.update("s", {**changed, "outputs": {"result": {"value": outputs["result"]}}}, hold=True)
    heat.service.run_due_work()
    second = signal_url(heat)
    assert second != first
    store(cloud, first, '{"result": "late"}')
    store(cloud, second, '{"result": "two"}')
    settle(heat)
    assert heat.outputs("s")["result"] == "two"
    heat.delete("s")
    assert heat.stack("s") is None
    assert stored_objects(cloud) == []


@pytest.mark.parametrize("text", ['{"deploy_status_code": 3}', "no JSON", "[]"])
def test_deployment_fails_by_a_stored_signal(
    heat: ProjectClient, cloud: ClockedEmulation, text: str
) -> None:
    start(heat, {"c": CONFIG, "d": deployment()})
    store(cloud, signal_url(heat), text)
    settle(heat)
    assert heat.status("s") == "CREATE_FAILED"
    assert "non-zero status code" in heat.stack("s")["stack_status_reason"]
