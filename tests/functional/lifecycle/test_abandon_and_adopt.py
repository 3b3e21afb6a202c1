"""Abandon, export and adopt through the API: nothing is made, deleted or lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from tests.functional.fake_server import (
    FAKE_SERVER_TEMPLATE,
    FakeServer,
    adopt_stack,
    assert_refused,
    create_stack,
    get_body,
    get_outputs,
)
from tests.functional.harness import LocalService

Json = Any


@pytest.fixture
def fake_server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def service(tmp_path: Any, fake_server: FakeServer) -> Iterator[LocalService]:
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, types=(fake_server,))
    yield service
    service.close()


def test_exported_document(service: LocalService) -> None:
    path = create_stack(service, parameters={"code": "secret"}, tags="a,b")
    document = service.send("GET", f"{path}/export").json
    shown = {name: document[name] for name in ("name", "action", "status", "project_id", "tags")}
    assert shown == {
        "name": "s",
        "action": "CREATE",
        "status": "COMPLETE",
        "project_id": "p",
        "tags": ["a", "b"],
    }
    assert document["id"] in path
    assert (document["template"], document["files"]) == (FAKE_SERVER_TEMPLATE, {})
    assert document["environment"]["parameters"] == {"code": "secret"}
    assert (document["stack_user_project_id"], document["in_flight"]) == (None, [])
    assert document["resources"]["server"] == {
        "name": "server",
        "resource_id": "server-0",
        "type": "Test::Server",
        "action": "CREATE",
        "status": "COMPLETE",
        "metadata": {"rack": 2},
        "resource_data": {"key": "key of server-0"},
    }
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"


def test_abandon_and_adopt_keep_all_resources(
    service: LocalService, fake_server: FakeServer
) -> None:
    path = create_stack(service, parameters={"colour": "green"})
    before = get_outputs(service, path)
    rows = get_body(service, f"{path}/resources")
    ids = {r["resource_name"]: r["physical_resource_id"] for r in rows}
    exported = service.send("GET", f"{path}/export").json
    answer = service.send("DELETE", f"{path}/abandon")
    assert (answer.status_int, answer.json) == (200, exported)
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    assert service.send("GET", "/stacks").json["stacks"] == []
    assert fake_server.servers == {"server-0": "green"}

    path = adopt_stack(service, exported)
    stack = get_body(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "ADOPT_COMPLETE",
        "Stack ADOPT completed successfully",
    )
    assert stack["parameters"]["colour"] == "green"
    rows = get_body(service, f"{path}/resources")
    assert {r["resource_name"]: r["physical_resource_id"] for r in rows} == ids
    assert {r["resource_status"] for r in rows} == {"ADOPT_COMPLETE"}
    assert get_outputs(service, path) == before
    assert fake_server.calls == [("create", "server-0")]

    # From now on it is a stack as any other.
    service.send("PATCH", path, {"parameters": {"colour": "red"}})
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert get_outputs(service, path) == {**before, "sign": "red"}
    service.send("DELETE", path)
    assert fake_server.calls[1:] == [("update", "server-0"), ("delete", "server-0")]


def test_adoption_starts_with_an_event_under_the_name_of_a_new_resource(
    service: LocalService,
) -> None:
    path = create_stack(service)
    path = adopt_stack(service, service.send("DELETE", f"{path}/abandon").json)
    events = get_body(service, f"{path}/resources/server/events?sort_dir=asc")
    first, second = ((each["resource_status"], each["physical_resource_id"]) for each in events)
    assert first[0] == "ADOPT_IN_PROGRESS"
    assert re.fullmatch("s-server-[a-z0-9]{12}", first[1])
    assert second == ("ADOPT_COMPLETE", "server-0")


def test_an_adopted_stack_has_the_time_of_its_adoption_as_its_last_change(
    service: LocalService,
) -> None:
    path = create_stack(service)
    assert get_body(service, path)["updated_time"] is None
    path = adopt_stack(service, service.send("DELETE", f"{path}/abandon").json)
    stack = get_body(service, path)
    assert stack["updated_time"] == stack["creation_time"] is not None
    (listed,) = service.send("GET", "/stacks").json["stacks"]
    assert listed["updated_time"] == stack["updated_time"]


def test_unchanged_update_after_adopt_changes_nothing(
    service: LocalService, fake_server: FakeServer
) -> None:
    path = create_stack(service)
    path = adopt_stack(service, service.send("DELETE", f"{path}/abandon").json)
    service.send("PATCH", path)
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert fake_server.calls == [("create", "server-0")]


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "SUSPEND", "status": "COMPLETE"},
        {"action": "SUSPEND", "status": "FAILED"},
        {"action": "RESUME", "status": "FAILED"},
        {"action": "CHECK", "status": "COMPLETE", "paused": True},
    ],
)
def test_adopted_suspended_resource_resumes_with_the_next_update(
    service: LocalService, fake_server: FakeServer, changes: Json
) -> None:
    path = create_stack(service)
    service.send("POST", f"{path}/actions", {"suspend": None})
    document = service.send("DELETE", f"{path}/abandon").json
    assert document["resources"]["server"]["paused"] is True
    del document["resources"]["server"]["paused"]  # as another service writes it
    document["resources"]["server"] |= changes
    path = adopt_stack(service, document)
    assert get_body(service, path)["stack_status"] == "ADOPT_COMPLETE"
    before = [("create", "server-0"), ("suspend", "server-0")]
    assert fake_server.calls == before
    again = service.send("GET", f"{path}/export").json
    assert again["resources"]["server"]["paused"] is True
    service.send("PATCH", path)
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert fake_server.calls == [*before, ("resume", "server-0")]
    service.send("PATCH", path)
    assert fake_server.calls == [*before, ("resume", "server-0")]


def test_request_overrides_the_document(service: LocalService, fake_server: FakeServer) -> None:
    path = create_stack(service, parameters={"colour": "green"})
    document = service.send("DELETE", f"{path}/abandon").json
    path = adopt_stack(
        service,
        document,
        "t",
        parameters={"code": "7"},
        environment={"parameters": {"colour": "grey"}},
        tags="x",
    )
    stack = get_body(service, path)
    assert (stack["stack_name"], stack["tags"]) == ("t", ["x"])
    assert (stack["parameters"]["colour"], stack["parameters"]["code"]) == ("grey", "******")


def test_files_and_mappings_are_exported(service: LocalService) -> None:
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {
            "a": {"type": "My::Value", "properties": {"value": {"get_file": "f"}}},
        },
    }
    environment = {"resource_registry": {"My::Value": "OS::Heat::Value"}}
    path = create_stack(service, template=template, files={"f": "text"}, environment=environment)
    document = service.send("DELETE", f"{path}/abandon").json
    path = adopt_stack(service, document)
    assert get_body(service, path)["stack_status"] == "ADOPT_COMPLETE"
    assert get_body(service, f"{path}/resources/a")["attributes"]["value"] == "text"


def test_abandon_in_progress_is_shown(service: LocalService, fake_server: FakeServer) -> None:
    """Abandoned before the engine has come to it: nothing is made afterwards."""
    answer = service.send(
        "POST",
        "/stacks",
        {"stack_name": "s", "template": FAKE_SERVER_TEMPLATE},
        leave_pending=True,
    )
    path = f"/stacks/s/{answer.json['stack']['id']}"
    document = service.send("DELETE", f"{path}/abandon").json
    assert (document["action"], document["status"]) == ("CREATE", "IN_PROGRESS")
    assert document["resources"]["server"]["resource_id"] is None
    assert fake_server.calls == []
    assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
    # The name is free for another.
    create_stack(service)


def test_adopting_a_missing_resource_fails(service: LocalService, fake_server: FakeServer) -> None:
    path = create_stack(service)
    document = service.send("DELETE", f"{path}/abandon").json
    fake_server.servers.clear()
    path = adopt_stack(service, document)
    stack = get_body(service, path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "ADOPT_FAILED",
        "Resource ADOPT failed: ResourceFailure: resources.server: "
        "there is no physical resource server-0",
    )
    # The next update makes a new one in its place.
    service.send("PATCH", path)
    assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert fake_server.calls[1:] == [("create", "server-1"), ("delete", "server-0")]


def test_adopting_without_a_physical_id_fails(
    service: LocalService, fake_server: FakeServer
) -> None:
    path = create_stack(service)
    document = service.send("DELETE", f"{path}/abandon").json
    del document["resources"]["server"]
    path = adopt_stack(service, document)
    stack = get_body(service, path)
    assert stack["stack_status"] == "ADOPT_FAILED"
    assert (
        "resources.server: adopt_stack_data names no resource_id" in (stack["stack_status_reason"])
    )


def test_failed_adoption_retains_resources_on_rollback(
    service: LocalService, fake_server: FakeServer
) -> None:
    path = create_stack(service, template={**FAKE_SERVER_TEMPLATE, "outputs": {}})
    document = service.send("DELETE", f"{path}/abandon").json
    document["template"]["resources"]["late"] = {
        "type": "Test::Server",
        "depends_on": ["server", "number"],
    }
    path = adopt_stack(service, document, disable_rollback=False)
    assert get_body(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert get_body(service, f"{path}/resources") == []
    assert fake_server.servers == {"server-0": "blue"}
    assert fake_server.calls == [("create", "server-0")]


def test_adopted_secrets_are_encrypted_at_once(service: LocalService) -> None:
    path = create_stack(service)
    document = service.send("DELETE", f"{path}/abandon").json
    answer = service.send(
        "POST",
        "/stacks",
        {"stack_name": "s", "adopt_stack_data": json.dumps(document)},
        leave_pending=True,
    )
    assert answer.status_int == 201
    with service.database.read() as conn:
        rows = conn.execute(sa.text("SELECT data FROM resource WHERE name = 'server'")).all()
    assert [row.data.startswith("sealed:") for row in rows] == [True]


@pytest.mark.parametrize(
    ("document", "error_type", "piece"),
    [
        ("{", "HTTPBadRequest", "adopt_stack_data"),
        ("[1]", "HTTPBadRequest", "not a map"),
        ("{}", "HTTPBadRequest", "no template"),
        ('{"template": [1]}', "HTTPBadRequest", "no template"),
        ('{"template": {}, "resources": {}}', "HTTPBadRequest", "no template"),
        ({"resources": []}, "HTTPBadRequest", "resources must be a map"),
        ({"resources": {"r": 1}}, "HTTPBadRequest", "resources.r must be a map"),
        ({"resources": {"r": {"resource_id": 1}}}, "HTTPBadRequest", "resources.r.resource_id"),
        ({"resources": {"r": {"resource_data": 1}}}, "HTTPBadRequest", "r.resource_data"),
        ({"environment": 1}, "HTTPBadRequest", "environment must be a map"),
        ({"environment": {"no": {}}}, "HTTPBadRequest", 'wrong section "no"'),
        ({"files": {"f": 1}}, "HTTPBadRequest", '"f" must be a string'),
    ],
)
def test_invalid_documents_are_refused(
    service: LocalService, document: Json, error_type: str, piece: str
) -> None:
    if not isinstance(document, str):
        template = {"heat_template_version": "2016-10-14"}
        document = json.dumps({"template": template, **document})
    answer = service.send("POST", "/stacks", {"stack_name": "s", "adopt_stack_data": document})
    assert piece in assert_refused(answer, 400, error_type)
    assert service.send("GET", "/stacks").json["stacks"] == []


def test_abandon_and_adopt_require_their_options(service: LocalService) -> None:
    path = create_stack(service)
    document = json.dumps(service.send("GET", f"{path}/export").json)
    service.use_application(build_app(replace(service.services, options=ApiOptions())))
    assert "Abandon" in assert_refused(
        service.send("DELETE", f"{path}/abandon"), 400, "NotSupported"
    )
    assert "Abandon" in assert_refused(service.send("GET", f"{path}/export"), 400, "NotSupported")
    body = {"stack_name": "t", "adopt_stack_data": document}
    assert "Adopt" in assert_refused(service.send("POST", "/stacks", body), 400, "NotSupported")


def test_other_projects_cannot_abandon(service: LocalService) -> None:
    path = create_stack(service)
    for method, action in (("GET", "export"), ("DELETE", "abandon")):
        assert_refused(
            service.send(method, f"{path}/{action}", project="q"), 404, "EntityNotFound"
        )
