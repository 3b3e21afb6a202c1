"""Trees that are handed over, and another goal that comes before anybody has looked."""

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

STREET = json.dumps(
    {
        "heat_template_version": "2016-10-14",
        "parameters": {"colour": {"type": "string"}},
        "resources": {
            "house": {"type": "Test::House", "properties": {"colour": {"get_param": "colour"}}}
        },
    }
)


def town(colour: str, count: int) -> Json:
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


def given_up(service: LocalService) -> Json:
    path = create_stack(service, template=town("blue", 2), files={"street.yaml": STREET})
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
    return service.send("DELETE", f"{path}/abandon").json


def adopt_later(service: LocalService, document: Json) -> str:
    """Nobody has looked at what is adopted when this returns."""
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    answer = service.send("POST", "/stacks", body, leave_pending=True)
    assert answer.status_int == 201, answer.text
    return f"/stacks/s/{answer.json['stack']['id']}"


def change(service: LocalService, path: str, colour: str, count: int) -> None:
    body = {"template": town(colour, count), "files": {"street.yaml": STREET}}
    assert service.send("PUT", path, body).status_int == 202
    service.run_until_idle()


def test_an_update_that_comes_first_changes_what_is_there(
    service: LocalService, server: FakeServer
) -> None:
    document = given_up(service)
    path = adopt_later(service, document)
    change(service, path, "red", 3)
    stack = get_body(service, path)
    assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
    plots = [f"plot-{number}" for number in range(4)]
    assert server.servers == dict.fromkeys(plots, "red")
    made = [server_number for verb, server_number in server.calls if verb == "create"]
    changed = sorted(server_number for verb, server_number in server.calls if verb == "update")
    assert (made, changed) == (plots, plots[:3])
    service.send("DELETE", path)
    assert server.servers == {}


def test_a_deletion_that_comes_first_deletes_all(
    service: LocalService, server: FakeServer
) -> None:
    path = adopt_later(service, given_up(service))
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    assert server.servers == {}


def test_abandoning_keeps_resources_that_were_not_adopted_yet(
    service: LocalService, server: FakeServer
) -> None:
    document = given_up(service)
    path = adopt_later(service, document)
    again = service.send("DELETE", f"{path}/abandon").json
    assert again["resources"] == document["resources"]
    path = adopt_stack(service, again)
    assert get_body(service, path)["stack_status"] == "ADOPT_COMPLETE"
    assert {verb for verb, _server_number in server.calls} == {"create"}


def test_an_adoption_that_goes_back_leaves_no_stack_of_the_tree(
    service: LocalService, server: FakeServer
) -> None:
    document = given_up(service)
    document["resources"]["group"]["resources"]["1"]["resources"].clear()
    path = adopt_stack(service, document, disable_rollback=False)
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert server.servers == dict.fromkeys(["plot-0", "plot-1", "plot-2"], "blue")
    shown = service.send("GET", "/stacks?show_nested=true").json["stacks"]
    assert [stack["stack_name"] for stack in shown] == ["s"]


@pytest.mark.parametrize("later", [False, True])
def test_a_stack_that_somebody_wrote_down_is_not_touched(
    service: LocalService, server: FakeServer, later: bool
) -> None:
    document = given_up(service)
    server.calls.clear()
    other = _victim(service)
    entry = {"type": "street.yaml", "resource_id": other.rsplit("/", 1)[1]}
    document["resources"] = {"street": entry}
    path = adopt_later(service, document) if later else adopt_stack(service, document)
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    assert get_body(service, other)["stack_status"] == "CREATE_COMPLETE"
    assert [verb for verb, _server_number in server.calls] == ["create"]


def _victim(service: LocalService) -> str:
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {"house": {"type": "Test::House"}},
    }
    return create_stack(service, stack_name="victim", template=template)


@pytest.mark.parametrize(
    ("nested", "piece"),
    [
        ({"template": 1}, "resources.street has no template"),
        ({"template": {}}, "resources.street has no template"),
        ({"template": "x", "environment": 1}, "resources.street: environment must be a map"),
        ({"template": "x", "files": {"f": 1}}, 'resources.street: files: "f" must be a string'),
        ({"template": "x", "resources": 1}, "resources.street: resources must be a map"),
    ],
)
def test_bad_documents_of_nested_stacks(service: LocalService, nested: Json, piece: str) -> None:
    document = {"template": town("blue", 1), "resources": {"street": nested}}
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    assert piece in assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")
    assert service.send("GET", "/stacks").json["stacks"] == []
