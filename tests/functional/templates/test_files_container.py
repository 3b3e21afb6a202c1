"""Files of a stack in the user's object store."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from heat_convergence.stacks.source import files_container
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.fake_server import assert_refused, get_body
from tests.functional.harness import LocalService

Json = Any
CHILD = {
    "heat_template_version": "2016-10-14",
    "resources": {"a": {"type": "OS::Heat::Value", "properties": {"value": "stored"}}},
}
OTHER = {
    "heat_template_version": "2016-10-14",
    "resources": {"b": {"type": "OS::Heat::Value", "properties": {"value": "given"}}},
}
TEMPLATE = {"heat_template_version": "2016-10-14", "resources": {"n": {"type": "child.yaml"}}}


@pytest.fixture
def contents() -> dict[str, Json]:
    """Objects of the container by name."""
    return {"child.yaml": CHILD, "env.yaml": {"parameters": {}}}


@pytest.fixture
def emulation(contents: dict[str, Json]) -> Emulation:
    emulation = create_emulation()
    emulation.collection("swift.container").add({"name": "mine", "objects": sorted(contents)})

    def read(_emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
        return EmulatedResponse(200, contents[request.path_parameters["object"]])

    emulation.add_handler("object_store", "GET", "/{name}/{object}", read)
    return emulation


def send(
    service: LocalService, emulation: Emulation, method: str, path: str, body: Json, *missing: str
) -> Any:
    """Send a request with the user's cloud, as the middleware sets it."""
    connection = connect(emulation, missing_services=frozenset(missing))
    with use_request_cloud(SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))):
        return service.send(method, path, body)


@pytest.fixture(autouse=True)
def _cloud_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the cloud that the test enters: without Keystone a request has none of its own."""
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud", lambda _cloud: nullcontext()
    )


BODY = {"stack_name": "s", "template": TEMPLATE, "files_container": "mine"}


def test_files_of_the_request_take_precedence_over_objects(
    service: LocalService, emulation: Emulation
) -> None:
    answer = send(service, emulation, "POST", "/stacks", BODY)
    assert answer.status_int == 201, answer.text
    path = f"/stacks/s/{answer.json['stack']['id']}"
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
    stored = service.send("GET", f"{path}/files").json
    assert json.loads(stored["child.yaml"]) == CHILD
    names = {row["resource_name"] for row in get_body(service, f"{path}/resources?nested_depth=1")}
    assert names == {"n", "a"}

    body = {**BODY, "files": {"child.yaml": json.dumps(OTHER)}}
    assert send(service, emulation, "PUT", path, body).status_int == 202
    names = {row["resource_name"] for row in get_body(service, f"{path}/resources?nested_depth=1")}
    assert names == {"n", "b"}

    # A PATCH overlays the stored files with the container's.
    body = {"files_container": "mine"}
    assert send(service, emulation, "PATCH", path, body).status_int == 202
    assert json.loads(service.send("GET", f"{path}/files").json["child.yaml"]) == CHILD


def test_objects_serve_environments_previews_and_validation(
    service: LocalService, emulation: Emulation, contents: dict[str, Json]
) -> None:
    contents["env.yaml"] = {"resource_registry": {"My::Child": "child.yaml"}}
    template = {**TEMPLATE, "resources": {"n": {"type": "My::Child"}}}
    body = {**BODY, "template": template, "environment_files": ["env.yaml"]}
    for path in ("/stacks/preview", "/validate", "/stacks"):
        answer = send(service, emulation, "POST", path, body)
        assert answer.status_int in (200, 201), answer.text


def test_container_without_an_object_store_is_refused(
    service: LocalService, emulation: Emulation
) -> None:
    answer = send(service, emulation, "POST", "/stacks", BODY, "object_store")
    assert "object store" in assert_refused(answer, 400, "NotSupported")
    answer = service.send("POST", "/stacks", BODY)
    assert "object store" in assert_refused(answer, 400, "NotSupported")


def test_unknown_container_is_refused(service: LocalService, emulation: Emulation) -> None:
    body = {**BODY, "files_container": "yours"}
    answer = send(service, emulation, "POST", "/stacks", body)
    assert '"yours"' in assert_refused(answer, 400, "HTTPBadRequest")
    assert service.send("GET", "/stacks").json["stacks"] == []


def test_size_and_number_of_objects_are_limited(
    service: LocalService,
    emulation: Emulation,
    contents: dict[str, Json],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents["child.yaml"] = "x" * 1_048_577
    answer = send(service, emulation, "POST", "/stacks", BODY)
    assert "1048576 bytes" in assert_refused(answer, 400, "RequestLimitExceeded")
    monkeypatch.setattr(files_container, "MAX_FILES", 1)
    answer = send(service, emulation, "POST", "/stacks", BODY)
    assert "1 objects" in assert_refused(answer, 400, "RequestLimitExceeded")


def test_container_name_must_be_text(service: LocalService) -> None:
    answer = service.send("POST", "/stacks", {**BODY, "files_container": ["mine"]})
    assert_refused(answer, 400, "HTTPBadRequest")
