"""Metadata that agents read from the object storage or a queue, over the emulated cloud."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from heat_convergence.testing.openstack.emulation import EmulatedRequest
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import TEXT, ServerAgentTestbed

Json = Any
TEMP_URL, ZAQAR = "POLL_TEMP_URL", "ZAQAR_MESSAGE"
TYPES = ("OS::Nova::Server", "OS::Heat::DeployedServer")


def host(type_name: str, transport: str, **properties: Json) -> Json:
    values: Json = {"software_config_transport": transport, **properties}
    if type_name == "OS::Nova::Server":
        values |= {"image": "cirros", "flavor": "m1.nano", "networks": []}
        values["user_data_format"] = "SOFTWARE_CONFIG"
    return {"type": type_name, "properties": values, "metadata": {"mine": "own"}}


def template(server: Json, *names: str) -> Json:
    """Return a template with a deployment of each name on the server."""
    config = {"type": "OS::Heat::SoftwareConfig", "properties": {"config": TEXT}}
    properties = {
        "config": {"get_resource": "config"},
        "server": {"get_resource": "host"},
        "signal_transport": "NO_SIGNAL",
    }
    deployments = {
        name: {"type": "OS::Heat::SoftwareDeployment", "properties": {**properties, "name": name}}
        for name in names
    }
    outputs = {
        "id": {"get_resource": "host"},
        "agent": {"get_attr": ["host", "os_collect_config"]},
    }
    return hot_template({"host": server, "config": config, **deployments}, outputs=outputs)


def stored(testbed: ServerAgentTestbed, url: str) -> Json:
    """Return the document at a signed URL."""
    path = "/" + unquote(urlsplit(url).path).split("/", 4)[4]
    answer = testbed.sky.emulation.handle(EmulatedRequest("object_store", "GET", path, {}, None))
    assert answer.status == 200
    return json.loads(answer.content)


def posted(testbed: ServerAgentTestbed, queue: str) -> list[Json]:
    """Return the bodies of all messages in a queue."""
    found = testbed.sky.emulation.collection("zaqar.message", {"queue_name": queue})
    return [each["body"] for each in found.bodies()]


def published(testbed: ServerAgentTestbed, heat: ProjectClient) -> Json:
    """Return what the agent of the server reads."""
    agent = heat.outputs("s")["agent"]
    if "request" in agent:
        return stored(testbed, agent["request"]["metadata_url"])
    return posted(testbed, agent["zaqar"]["queue_id"])[-1]


def deployed_names(testbed: ServerAgentTestbed, heat: ProjectClient) -> list[str]:
    return [each["name"] for each in published(testbed, heat)["deployments"]]


def left_over(testbed: ServerAgentTestbed) -> list[Json]:
    objects = [each["texts"] for each in testbed.sky.bodies("swift.container") if "texts" in each]
    return [*(each for each in objects if each), *testbed.sky.bodies("zaqar.queue")]


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize(("transport", "section"), [(TEMP_URL, "request"), (ZAQAR, "zaqar")])
def test_every_change_of_deployments_is_published(
    testbed: ServerAgentTestbed, heat: ProjectClient, type_name: str, transport: str, section: str
) -> None:
    server = host(type_name, transport)
    heat.create("s", template(server, "b", "a"))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    shown, agent = published(testbed, heat), heat.outputs("s")["agent"]
    local = [] if type_name == TYPES[1] else ["ec2"]
    assert agent["collectors"] == [*local, section, "local"]
    assert (shown["mine"], shown["os-collect-config"]) == ("own", agent)
    first = shown["deployments"][0]
    assert (first["name"], first["config"], first["group"]) == ("a", TEXT, "Heat::Ungrouped")
    assert [each["name"] for each in shown["deployments"]] == ["a", "b"]
    heat.update("s", template(server, "b", "c"))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert deployed_names(testbed, heat) == ["b", "c"]
    heat.delete("s")
    assert heat.stack("s") is None
    assert left_over(testbed) == []


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("transport", [TEMP_URL, ZAQAR])
def test_changed_metadata_alone_are_published(
    testbed: ServerAgentTestbed, heat: ProjectClient, type_name: str, transport: str
) -> None:
    server = host(type_name, transport)
    heat.create("s", template(server, "a"))
    server_id = heat.resource("s", "host")["physical_resource_id"]
    for metadata in ({"mine": "another"}, {}):
        heat.update("s", template({**server, "metadata": metadata}, "a"))
        assert heat.status("s") == "UPDATE_COMPLETE"
        shown = published(testbed, heat)
        assert shown.get("mine") == metadata.get("mine")
        assert shown["os-collect-config"] == heat.outputs("s")["agent"]
        assert [each["name"] for each in shown["deployments"]] == ["a"]
    assert heat.resource("s", "host")["physical_resource_id"] == server_id


@pytest.mark.parametrize("transport", [TEMP_URL, ZAQAR])
def test_deployments_of_requests_are_published(
    testbed: ServerAgentTestbed, heat: ProjectClient, transport: str
) -> None:
    heat.create("s", template(host(TYPES[1], transport)))
    config = heat.send("POST", "/software_configs", {"name": "mine", "config": "x"}).json
    body = {
        "config_id": config["software_config"]["id"],
        "server_id": heat.outputs("s")["id"],
        "action": "CREATE",
        "status": "IN_PROGRESS",
    }
    made = heat.send("POST", "/software_deployments", body).json["software_deployment"]
    assert deployed_names(testbed, heat) == ["mine"]
    other = heat.send("POST", "/software_configs", {"name": "other", "config": "y"}).json
    path = f"/software_deployments/{made['id']}"
    heat.send("PUT", path, {"config_id": other["software_config"]["id"]})
    assert deployed_names(testbed, heat) == ["other"]
    before = len(testbed.sky.emulation.request_counts)
    heat.send("PUT", path, {"status": "COMPLETE"})
    assert len(testbed.sky.emulation.request_counts) == before
    heat.send("DELETE", path)
    assert deployed_names(testbed, heat) == []


def test_failing_store_does_not_fail_a_request(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    heat.create("s", template(host(TYPES[1], TEMP_URL)))
    testbed.sky.emulation.inject_failure("PUT", "/[^/]+/[^/]+$", 503)
    config = heat.send("POST", "/software_configs", {"name": "mine", "config": "x"}).json
    body = {
        "config_id": config["software_config"]["id"],
        "server_id": heat.outputs("s")["id"],
        "action": "CREATE",
    }
    assert heat.send("POST", "/software_deployments", body).status_int == 200
    assert deployed_names(testbed, heat) == []


def test_failing_store_is_tried_again_by_a_deployment(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    server = host(TYPES[1], TEMP_URL)
    heat.create("s", template(server))
    testbed.sky.emulation.inject_failure("PUT", "/[^/]+/[^/]+$", 503)
    heat.update("s", template(server, "a"))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert deployed_names(testbed, heat) == ["a"]


def test_lost_container_fails_the_deployment_and_not_its_deletion(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    server = host(TYPES[1], TEMP_URL)
    heat.create("s", template(server, "a"))
    collection = testbed.sky.emulation.collection("swift.container")
    for each in collection.bodies():
        collection.remove(each["name"])
    heat.update("s", template(server, "a", "b"))
    assert heat.status("s") == "UPDATE_FAILED"
    assert "metadata of the server cannot be stored" in heat.stack("s")["stack_status_reason"]
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize(
    ("before", "after", "section"),
    [
        (TEMP_URL, ZAQAR, "zaqar"),
        (ZAQAR, TEMP_URL, "request"),
        ("POLL_SERVER_CFN", TEMP_URL, "request"),
        (ZAQAR, "POLL_SERVER_HEAT", "heat"),
    ],
)
@pytest.mark.parametrize("type_name", TYPES)
def test_transport_changes_in_place(
    testbed: ServerAgentTestbed,
    heat: ProjectClient,
    type_name: str,
    before: str,
    after: str,
    section: str,
) -> None:
    heat.create("s", template(host(type_name, before), "a"))
    old = heat.outputs("s")
    heat.update("s", template(host(type_name, after), "a"))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    new = heat.outputs("s")
    assert new["id"] == old["id"]
    assert section in new["agent"]["collectors"]
    if section != "heat":
        assert deployed_names(testbed, heat) == ["a"]
    assert len(left_over(testbed)) == (section != "heat")
    heat.delete("s")
    assert left_over(testbed) == []


def test_swift_data_choose_the_object(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    chosen = {"container": "box", "object": "thing"}
    heat.create("s", template(host(TYPES[0], TEMP_URL, deployment_swift_data=chosen), "a"))
    url = heat.outputs("s")["agent"]["request"]["metadata_url"]
    assert urlsplit(url).path.endswith("/box/thing")
    assert deployed_names(testbed, heat) == ["a"]
    heat.delete("s")
    assert left_over(testbed) == []


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("transport", [TEMP_URL, ZAQAR])
def test_lost_responses_leave_one_channel(
    testbed: ServerAgentTestbed, heat: ProjectClient, type_name: str, transport: str
) -> None:
    for path in ("/[^/]+$", "/[^/]+/[^/]+$"):
        testbed.sky.emulation.inject_failure("PUT", path, 503, after_processing=True)
    testbed.sky.emulation.inject_failure("POST", "/messages$", 503, after_processing=True)
    heat.create("s", template(host(type_name, transport), "a"))
    assert heat.status("s") == "CREATE_COMPLETE"
    assert deployed_names(testbed, heat) == ["a"]
    assert len(left_over(testbed)) == 1
    heat.delete("s")
    assert left_over(testbed) == []


@pytest.mark.parametrize("transport", [TEMP_URL, ZAQAR])
def test_secrets_are_sealed(
    testbed: ServerAgentTestbed, heat: ProjectClient, transport: str
) -> None:
    heat.create("s", template(host(TYPES[0], transport)))
    agent = heat.outputs("s")["agent"]
    secret = agent["zaqar"]["password"] if transport == ZAQAR else agent["request"]["metadata_url"]
    assert testbed.files_containing(secret) == []


def test_template_metadata_are_published_with_an_update_of_the_server(
    testbed: ServerAgentTestbed, heat: ProjectClient
) -> None:
    server = host(TYPES[1], TEMP_URL)
    heat.create("s", template(server, "a"))
    server["metadata"] = {"mine": "new"}
    server["properties"]["name"] = "other"
    heat.update("s", template(server, "a"))
    assert published(testbed, heat)["mine"] == "new"
    assert deployed_names(testbed, heat) == ["a"]
