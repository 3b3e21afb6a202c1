"""A stack as a resource, through the Orchestration API of another service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.clients.error_mapping import ErrorResponse, error_from_response
from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


class RemoteServiceCloud:
    """``View.cloud`` whose Orchestration API is another service's."""

    key = project_id = "p"
    region = "here"

    def __init__(self, service: LocalService) -> None:
        self.service = service
        self.requests: list[tuple[str, str]] = []
        self.lost = 0  # answers that are still to get lost

    def send(self, request: CloudRequest) -> CloudResponse:
        self.requests.append((request.method, request.path))
        query = "&".join(f"{name}={value}" for name, value in request.query.items())
        path = f"{request.path}?{query}" if query else request.path
        found = self.service.send(request.method, path, request.body, leave_pending=True)
        if found.status_int >= 400:
            raise error_from_response(
                ErrorResponse(request.method, path, found.status_int, found.headers, found.text)
            )
        if request.method != "GET" and self.lost:
            self.lost -= 1
            raise error_from_response(ErrorResponse("POST", path, 503, text="lost"))
        reported = found.json if found.content_type == "application/json" else None
        return CloudResponse(found.status_int, dict(found.headers), reported)


@pytest.fixture
def beyond(tmp_path: Any) -> Iterator[RemoteServiceCloud]:
    service = LocalService(f"sqlite:///{tmp_path}/beyond.sqlite")
    yield RemoteServiceCloud(service)
    service.close()


@pytest.fixture
def heat(tmp_path: Any, beyond: RemoteServiceCloud) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", cloud_of=lambda _tree_id: beyond)
    yield ProjectClient(service)
    service.close()


def template(value: str = "1", **properties: Json) -> Json:
    inner = hot_template(
        {"a": resource_definition(value={"get_param": "v"})},
        parameters={"v": {"type": "string"}},
        outputs={"out": {"get_attr": ["a", "output"]}},
    )
    remote = {"template": json.dumps(inner), "parameters": {"v": value}, **properties}
    return hot_template(
        {"r": {"type": "OS::Heat::Stack", "properties": remote}},
        outputs={
            "out": {"get_attr": ["r", "outputs", "out"]},
            "name": {"get_attr": ["r", "stack_name"]},
            "id": {"get_resource": "r"},
        },
    )


def work(heat: ProjectClient, beyond: RemoteServiceCloud) -> None:
    """Both services, until nothing is left to do."""
    for _round in range(8):
        heat.service.run_due_work()
        beyond.service.run_until_idle()
        heat.service.clock.advance(20)
    heat.service.run_due_work()


def begin(heat: ProjectClient, beyond: RemoteServiceCloud, body: Json) -> str:
    heat.create("s", body, hold=True)
    work(heat, beyond)
    return str(heat.outputs("s")["id"])


def stacks(beyond: RemoteServiceCloud) -> list[Json]:
    return list(beyond.service.send("GET", "/stacks").json["stacks"])


def test_create_update_and_delete(heat: ProjectClient, beyond: RemoteServiceCloud) -> None:
    remote_id = begin(heat, beyond, template())
    (stack,) = stacks(beyond)
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.outputs("s") == {"out": "1", "name": stack["stack_name"], "id": stack["id"]}
    assert stack["id"] == remote_id
    heat.update("s", template("2"), hold=True)
    work(heat, beyond)
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "2")
    for action, state in (("suspend", "SUSPEND"), ("resume", "RESUME"), ("check", "CHECK")):
        heat.perform_action("s", action, leave_pending=True)
        work(heat, beyond)
        assert (heat.status("s"), stacks(beyond)[0]["stack_status"]) == (
            f"{state}_COMPLETE",
            f"{state}_COMPLETE",
        )
    own_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    work(heat, beyond)
    assert (heat.status(own_id), stacks(beyond)) == ("DELETE_COMPLETE", [])


def test_a_failure_of_the_remote_stack_is_reported(
    heat: ProjectClient, beyond: RemoteServiceCloud
) -> None:
    inner = hot_template({"a": resource_definition(fail=True)})
    heat.create("s", template(template=json.dumps(inner), parameters={}), hold=True)
    work(heat, beyond)
    assert heat.status("s") == "CREATE_FAILED"
    assert "Test Resource failed a" in heat.resource("s", "r")["resource_status_reason"]


def test_a_template_that_is_refused_there(heat: ProjectClient, beyond: RemoteServiceCloud) -> None:
    heat.create("s", template(parameters={"w": 1}), hold=True)
    work(heat, beyond)
    assert heat.status("s") == "CREATE_FAILED"
    assert '"w"' in heat.resource("s", "r")["resource_status_reason"] or (
        "(w)" in heat.resource("s", "r")["resource_status_reason"]
    )
    assert stacks(beyond) == []


def test_the_stack_of_a_lost_answer_is_found(
    heat: ProjectClient, beyond: RemoteServiceCloud
) -> None:
    beyond.lost = 1
    begin(heat, beyond, template())
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(stacks(beyond)) == 1


@pytest.mark.parametrize("action", ["suspend", "resume", "check", "update", "delete"])
def test_an_answer_may_get_lost(
    heat: ProjectClient, beyond: RemoteServiceCloud, action: str
) -> None:
    begin(heat, beyond, template())
    own_id = heat.stack("s")["id"]
    if action == "resume":
        heat.perform_action("s", "suspend", leave_pending=True)
        work(heat, beyond)
    beyond.lost = 1
    if action == "update":
        heat.update("s", template("2"), hold=True)
    elif action == "delete":
        heat.delete("s", leave_pending=True)
    else:
        heat.perform_action("s", action, leave_pending=True)
    work(heat, beyond)
    assert beyond.lost == 0
    assert heat.status(own_id) == f"{action.upper()}_COMPLETE"


def test_a_remote_stack_that_was_deleted_directly_is_missing(
    heat: ProjectClient, beyond: RemoteServiceCloud
) -> None:
    remote_id = begin(heat, beyond, template())
    (stack,) = stacks(beyond)
    beyond.service.send("DELETE", f"/stacks/{stack['stack_name']}/{remote_id}")
    own_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    work(heat, beyond)
    assert heat.status(own_id) == "DELETE_COMPLETE"


def test_another_region_is_refused(heat: ProjectClient, beyond: RemoteServiceCloud) -> None:
    heat.create("s", template(context={"region_name": "there"}), hold=True)
    work(heat, beyond)
    assert heat.status("s") == "CREATE_FAILED"
    assert "there" in heat.resource("s", "r")["resource_status_reason"]
    begin_here = template(context={"region_name": "here"})
    heat.update("s", begin_here, hold=True)
    work(heat, beyond)
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_another_cloud_is_refused_before_anything_is_made(heat: ProjectClient) -> None:
    body = template(context={"credential_secret_id": "x"})
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert answer.status_int == 400
    assert "credential_secret_id" in answer.json["error"]["message"]
