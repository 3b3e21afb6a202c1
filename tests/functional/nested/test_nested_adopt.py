"""Adopted trees of stacks, and requests that arrive before the adoption is processed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.fake_server import (
    FakeServer,
    adopt_stack,
    assert_refused,
    create_stack,
    get_body,
)
from tests.functional.harness import LocalService

Json = Any

SERVER_TEMPLATE = json.dumps(
    {
        "heat_template_version": "2016-10-14",
        "parameters": {"colour": {"type": "string"}},
        "resources": {
            "server": {"type": "Test::Server", "properties": {"colour": {"get_param": "colour"}}}
        },
    }
)


def root_template(colour: str, count: int) -> Json:
    street = {"type": "street.yaml", "properties": {"colour": colour}}
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": street},
    }
    return {
        "heat_template_version": "2016-10-14",
        "resources": {"street": street, "group": group},
    }


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def service(tmp_path: Any, server: FakeServer) -> Iterator[LocalService]:
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, types=(server,))
    yield service
    service.close()


def abandon_stack(service: LocalService) -> Json:
    path = create_stack(
        service, template=root_template("blue", 2), files={"street.yaml": SERVER_TEMPLATE}
    )
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
    return service.send("DELETE", f"{path}/abandon").json


def adopt_later(service: LocalService, document: Json) -> str:
    """Send the request to adopt a document and process nothing of it."""
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    response = service.send("POST", "/stacks", body, leave_pending=True)
    assert response.status_int == 201, response.text
    return f"/stacks/s/{response.json['stack']['id']}"


def change(service: LocalService, path: str, colour: str, count: int) -> None:
    body = {"template": root_template(colour, count), "files": {"street.yaml": SERVER_TEMPLATE}}
    assert service.send("PUT", path, body).status_int == 202
    service.run_until_idle()


def test_update_before_the_adoption_updates_existing_resources(
    service: LocalService, server: FakeServer
) -> None:
    document = abandon_stack(service)
    path = adopt_later(service, document)
    change(service, path, "red", 3)
    stack = get_body(service, path)
    assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
    server_ids = [f"server-{number}" for number in range(4)]
    assert server.servers == dict.fromkeys(server_ids, "red")
    created = [server_number for verb, server_number in server.calls if verb == "create"]
    changed = sorted(server_number for verb, server_number in server.calls if verb == "update")
    assert (created, changed) == (server_ids, server_ids[:3])
    service.send("DELETE", path)
    assert server.servers == {}


def test_deletion_before_the_adoption_deletes_all_resources(
    service: LocalService, server: FakeServer
) -> None:
    path = adopt_later(service, abandon_stack(service))
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    assert server.servers == {}


def test_abandoned_document_includes_resources_not_adopted_yet(
    service: LocalService, server: FakeServer
) -> None:
    document = abandon_stack(service)
    path = adopt_later(service, document)
    again = service.send("DELETE", f"{path}/abandon").json
    assert again["resources"] == document["resources"]
    path = adopt_stack(service, again)
    assert get_body(service, path)["stack_status"] == "ADOPT_COMPLETE"
    assert {verb for verb, _server_number in server.calls} == {"create"}


def test_rolled_back_adoption_leaves_no_nested_stacks(
    service: LocalService, server: FakeServer
) -> None:
    document = abandon_stack(service)
    document["resources"]["group"]["resources"]["1"]["resources"].clear()
    path = adopt_stack(service, document, disable_rollback=False)
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert server.servers == dict.fromkeys(["server-0", "server-1", "server-2"], "blue")
    shown = service.send("GET", "/stacks?show_nested=true").json["stacks"]
    assert [stack["stack_name"] for stack in shown] == ["s"]


@pytest.mark.parametrize("later", [False, True])
def test_document_that_names_another_stack_does_not_change_it(
    service: LocalService, server: FakeServer, later: bool
) -> None:
    document = abandon_stack(service)
    server.calls.clear()
    other = _create_other_stack(service)
    entry = {"type": "street.yaml", "resource_id": other.rsplit("/", 1)[1]}
    document["resources"] = {"street": entry}
    path = adopt_later(service, document) if later else adopt_stack(service, document)
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    assert get_body(service, other)["stack_status"] == "CREATE_COMPLETE"
    assert [verb for verb, _server_number in server.calls] == ["create"]


def _create_other_stack(service: LocalService) -> str:
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {"server": {"type": "Test::Server"}},
    }
    return create_stack(service, stack_name="victim", template=template)


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({"template": 1}, "resources.street has no template"),
        ({"template": {}}, "resources.street has no template"),
        ({"template": "x", "environment": 1}, "resources.street: environment must be a map"),
        ({"template": "x", "files": {"f": 1}}, 'resources.street: files: "f" must be a string'),
        ({"template": "x", "resources": 1}, "resources.street: resources must be a map"),
    ],
)
def test_invalid_document_of_a_nested_stack_is_refused(
    service: LocalService, nested: Json, message: str
) -> None:
    document = {"template": root_template("blue", 1), "resources": {"street": nested}}
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    assert message in assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")
    assert service.send("GET", "/stacks").json["stacks"] == []
