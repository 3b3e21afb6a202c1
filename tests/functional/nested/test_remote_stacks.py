"""A stack as a resource, through the Orchestration API of another service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from heat_convergence.clients.error_mapping import ErrorResponse, error_from_response
from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.common.errors import ResourceTypeUnavailable
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from tests.functional.harness import LocalService
from tests.functional.plans.plan_cases import execute, make_plan
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
LIMIT = 5  # action_retry_limit


class RemoteServiceCloud:
    """A cloud whose Orchestration API is provided by another service."""

    key = project_id = "p"

    def __init__(self, service: LocalService, region: str = "here") -> None:
        self.service = service
        self.region = region
        self.requests: list[tuple[str, str]] = []
        self.responses_to_lose = 0  # responses that will still get lost

    def in_region(self, region: str) -> RemoteServiceCloud:
        """Return the same cloud, which has an Orchestration API in one region only."""
        if region == self.region:
            return self
        return RegionWithoutService(self.service, region)

    def endpoint_url(self, service: str) -> str:
        return "http://heat.example.com"

    def send(self, request: CloudRequest) -> CloudResponse:
        self.requests.append((request.method, request.path))
        query = "&".join(f"{name}={value}" for name, value in request.query.items())
        path = f"{request.path}?{query}" if query else request.path
        found = self.service.send(request.method, path, request.body, leave_pending=True)
        if found.status_int >= 400:
            raise error_from_response(
                ErrorResponse(request.method, path, found.status_int, found.headers, found.text)
            )
        if request.method != "GET" and self.responses_to_lose:
            self.responses_to_lose -= 1
            raise error_from_response(ErrorResponse("POST", path, 503, text="lost"))
        reported = found.json if found.content_type == "application/json" else None
        return CloudResponse(found.status_int, dict(found.headers), reported)


class RegionWithoutService(RemoteServiceCloud):
    """A region whose catalog has no Orchestration API."""

    def endpoint_url(self, service: str) -> str:
        raise ResourceTypeUnavailable(
            f"public endpoint for {service} service in {self.region} region not found"
        )

    def send(self, request: CloudRequest) -> CloudResponse:
        raise ResourceTypeUnavailable(self.endpoint_url(request.service))


@pytest.fixture
def remote(tmp_path: Any) -> Iterator[RemoteServiceCloud]:
    service = LocalService(f"sqlite:///{tmp_path}/remote.sqlite")
    yield RemoteServiceCloud(service)
    service.close()


@pytest.fixture
def heat(tmp_path: Any, remote: RemoteServiceCloud) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", cloud_of=lambda _tree_id: remote)
    yield ProjectClient(service)
    service.close()


def template(value: Json = "1", **properties: Json) -> Json:
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


def run_both(heat: ProjectClient, remote: RemoteServiceCloud) -> None:
    """Run both services until no work is left."""
    for _round in range(8):
        heat.service.run_due_work()
        remote.service.run_until_idle()
        heat.service.clock.advance(20)
    heat.service.run_due_work()


def create_stack(heat: ProjectClient, remote: RemoteServiceCloud, body: Json) -> str:
    heat.create("s", body, hold=True)
    run_both(heat, remote)
    return str(heat.outputs("s")["id"])


def stacks(remote: RemoteServiceCloud) -> list[Json]:
    return list(remote.service.send("GET", "/stacks").json["stacks"])


def test_remote_stack_is_created_updated_and_deleted(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    remote_id = create_stack(heat, remote, template())
    (stack,) = stacks(remote)
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.outputs("s") == {"out": "1", "name": stack["stack_name"], "id": stack["id"]}
    assert stack["id"] == remote_id
    heat.update("s", template("2"), hold=True)
    run_both(heat, remote)
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "2")
    for action, state in (("suspend", "SUSPEND"), ("resume", "RESUME"), ("check", "CHECK")):
        heat.perform_action("s", action, leave_pending=True)
        run_both(heat, remote)
        assert (heat.status("s"), stacks(remote)[0]["stack_status"]) == (
            f"{state}_COMPLETE",
            f"{state}_COMPLETE",
        )
    own_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    run_both(heat, remote)
    assert (heat.status(own_id), stacks(remote)) == ("DELETE_COMPLETE", [])


def test_failure_of_the_remote_stack_is_reported(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    inner = hot_template({"a": resource_definition(fail=True)})
    heat.create("s", template(template=json.dumps(inner), parameters={}), hold=True)
    for _try in range(LIMIT + 1):
        run_both(heat, remote)
    assert heat.status("s") == "CREATE_FAILED"
    assert remote.requests.count(("POST", "/stacks")) == LIMIT + 1
    assert len(stacks(remote)) == 1  # the last one, for the user to look at
    assert "Test Resource failed a" in heat.resource("s", "r")["resource_status_reason"]


def test_template_refused_by_the_remote_service_fails_the_stack(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    heat.create("s", template(parameters={"w": 1}), hold=True)
    run_both(heat, remote)
    assert heat.status("s") == "CREATE_FAILED"
    assert '"w"' in heat.resource("s", "r")["resource_status_reason"] or (
        "(w)" in heat.resource("s", "r")["resource_status_reason"]
    )
    assert stacks(remote) == []


def test_remote_stack_is_found_after_a_lost_response(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    remote.responses_to_lose = 1
    create_stack(heat, remote, template())
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(stacks(remote)) == 1


@pytest.mark.parametrize("action", ["suspend", "resume", "check", "update", "delete"])
def test_action_completes_after_a_lost_response(
    heat: ProjectClient, remote: RemoteServiceCloud, action: str
) -> None:
    create_stack(heat, remote, template())
    own_id = heat.stack("s")["id"]
    if action == "resume":
        heat.perform_action("s", "suspend", leave_pending=True)
        run_both(heat, remote)
    remote.responses_to_lose = 1
    if action == "update":
        heat.update("s", template("2"), hold=True)
    elif action == "delete":
        heat.delete("s", leave_pending=True)
    else:
        heat.perform_action("s", action, leave_pending=True)
    run_both(heat, remote)
    assert remote.responses_to_lose == 0
    assert heat.status(own_id) == f"{action.upper()}_COMPLETE"


def test_delete_succeeds_after_the_remote_stack_was_deleted(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    remote_id = create_stack(heat, remote, template())
    (stack,) = stacks(remote)
    remote.service.send("DELETE", f"/stacks/{stack['stack_name']}/{remote_id}")
    own_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    run_both(heat, remote)
    assert heat.status(own_id) == "DELETE_COMPLETE"


def test_unknown_region_fails_the_stack(heat: ProjectClient, remote: RemoteServiceCloud) -> None:
    heat.create("s", template(context={"region_name": "there"}), hold=True)
    run_both(heat, remote)
    assert heat.status("s") == "CREATE_FAILED"
    assert "in there region" in heat.resource("s", "r")["resource_status_reason"]
    own_region = template(context={"region_name": "here"})
    heat.update("s", own_region, hold=True)
    run_both(heat, remote)
    assert heat.status("s") == "UPDATE_COMPLETE"


@pytest.fixture
def validated_remotely(monkeypatch: pytest.MonkeyPatch, remote: RemoteServiceCloud) -> Any:
    """Let the requests of this test reach the remote service while they are validated."""
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud", lambda _cloud: nullcontext()
    )
    with use_request_cloud(remote):
        yield


@pytest.mark.usefixtures("validated_remotely")
def test_validation_refuses_an_unknown_region(heat: ProjectClient) -> None:
    body = {"stack_name": "s", "template": template(context={"region_name": "DARKHOLE"})}
    response = heat.send("POST", "/stacks", body)
    assert (response.status_int, response.json["error"]["message"]) == (
        400,
        'Cannot establish connection to Heat endpoint at region "DARKHOLE" due to'
        ' "public endpoint for orchestration service in DARKHOLE region not found"',
    )


@pytest.mark.usefixtures("validated_remotely")
def test_validation_quotes_the_first_mistake_of_the_remote_service(heat: ProjectClient) -> None:
    inner = {"heat_template_version": "2013-05-23", "resource": {}}
    outer = template(template=json.dumps(inner), context={"region_name": "here"}, parameters={})
    response = heat.send("POST", "/stacks", {"stack_name": "s", "template": outer})
    assert (response.status_int, response.json["error"]["message"]) == (
        400,
        'Failed validating stack template using Heat endpoint at region "here" due to'
        ' "ERROR: The template section is invalid: resource"',
    )


@pytest.mark.usefixtures("validated_remotely")
def test_unreachable_remote_service_does_not_refuse_a_request(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    remote.responses_to_lose = 1
    create_stack(heat, remote, template())
    assert heat.status("s") == "CREATE_COMPLETE"


def nested_template(resource_value: str) -> Json:
    inner = hot_template({"n": {"type": "nested.yaml"}})
    outer = hot_template({"r": {"type": "OS::Heat::Stack", "properties": {
        "template": json.dumps(inner)}}})  # fmt: skip
    file = json.dumps(hot_template({"a": resource_definition(value=resource_value)}))
    return {"template": outer, "files": {"nested.yaml": file}}


def test_files_and_environment_are_sent_along(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    registry = {"resource_registry": {"My::Alias": "OS::Heat::TestResource"}}
    body = {**nested_template("1"), "environment": registry}
    heat.service.send("POST", "/stacks", {"stack_name": "s", **body}, leave_pending=True)
    run_both(heat, remote)
    assert heat.status("s") == "CREATE_COMPLETE"
    (stack,) = stacks(remote)
    path = f"/stacks/{stack['stack_name']}/{stack['id']}"
    environment = remote.service.send("GET", f"{path}/environment").json
    assert environment["resource_registry"]["My::Alias"] == "OS::Heat::TestResource"
    own_path = f"/stacks/s/{heat.stack('s')['id']}"
    heat.service.send("PUT", own_path, nested_template("2"), leave_pending=True)
    run_both(heat, remote)
    assert heat.status("s") == "UPDATE_COMPLETE"
    files = remote.service.send("GET", f"{path}/files").json
    assert '"value": "2"' in files["nested.yaml"]


def test_preview_updates_a_remote_stack_with_changed_files(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    create_stack(heat, remote, template())
    for files, change in (({}, "unchanged"), ({"new.yaml": "x"}, "updated")):
        body = {"template": template(), "files": files}
        with use_request_cloud(remote):
            answer = heat.send("PUT", f"{heat.path('s')}/preview", body, leave_pending=True)
        changes = answer.json["resource_changes"]
        assert [each["resource_name"] for each in changes[change]] == ["r"]


def test_rename_leaves_a_remote_stack_that_refers_to_the_resource(
    heat: ProjectClient, remote: RemoteServiceCloud
) -> None:
    def body(name: str) -> Json:
        found = template({"get_resource": name})
        found["resources"][name] = {"type": "OS::Heat::RandomString"}
        return found

    create_stack(heat, remote, body("a"))
    request = {"action": "rename", "template": body("b"), "rename": {"a": "b"}}
    with use_request_cloud(remote):
        files = {**request, "files": {"f.yaml": "x"}}
        assert "s/r (update)" in make_plan(heat.service, heat.path("s"), files, 400)["message"]
        plan = make_plan(heat.service, heat.path("s"), request)
        remote.requests.clear()
        execute(heat.service, plan)
    assert [each for each in remote.requests if each[0] != "GET"] == []
    assert heat.resource("s", "b")["resource_status"] == "CREATE_COMPLETE"
