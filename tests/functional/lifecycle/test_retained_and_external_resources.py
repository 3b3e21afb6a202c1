"""Tests of exported nested stacks, external resources and resources that a delete skips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
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


class TestTree:
    """Nested stacks stand in the document in the place of their resources."""

    CHILD = json.dumps(
        {
            "heat_template_version": "2016-10-14",
            "parameters": {"colour": {"type": "string"}},
            "resources": {
                "server": {
                    "type": "Test::Server",
                    "properties": {"colour": {"get_param": "colour"}},
                }
            },
        }
    )
    PARENT: Json = {  # noqa: RUF012
        "heat_template_version": "2016-10-14",
        "resources": {
            "block": {"type": "block.yaml", "properties": {"colour": "red"}},
            "own": {"type": "Test::Server"},
        },
    }

    @pytest.fixture
    def path(self, service: LocalService) -> str:
        return create_stack(service, template=self.PARENT, files={"block.yaml": self.CHILD})

    def test_whole_tree_is_exported_and_abandoned(
        self, service: LocalService, fake_server: FakeServer, path: str
    ) -> None:
        nested_id = get_body(service, f"{path}/resources/block")["physical_resource_id"]
        exported = service.send("GET", f"{path}/export").json
        block = exported["resources"]["block"]
        assert (block["id"], block["status"]) == (nested_id, "COMPLETE")
        assert block["resources"]["server"]["resource_id"] in fake_server.servers
        assert service.send("DELETE", f"{path}/abandon").json == exported
        everything = service.send("GET", "/stacks?show_nested=true").json["stacks"]
        assert everything == []
        assert sorted(fake_server.servers.values()) == ["red", "white"]
        assert {verb for verb, _server_properties in fake_server.calls} == {"create"}
        service.clock.advance(60.0)
        service.run_until_idle()
        service.observer.tick()
        assert sorted(fake_server.servers.values()) == ["red", "white"]

    def test_tree_is_adopted(
        self, service: LocalService, fake_server: FakeServer, path: str
    ) -> None:
        document = service.send("DELETE", f"{path}/abandon").json
        path = adopt_stack(service, document)
        assert get_body(service, path)["stack_status"] == "ADOPT_COMPLETE"
        rows = get_body(service, f"{path}/resources?nested_depth=1")
        assert {r["resource_name"]: r["resource_status"] for r in rows} == dict.fromkeys(
            ("block", "server", "own"), "ADOPT_COMPLETE"
        )
        ids = {r["resource_name"]: r["physical_resource_id"] for r in rows}
        assert {ids["server"], ids["own"]} == set(fake_server.servers)
        service.send("PATCH", path)
        assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
        assert {verb for verb, _server_properties in fake_server.calls} == {"create"}
        service.send("DELETE", path)
        assert fake_server.servers == {}

    def test_nested_stack_is_not_adopted_by_id(
        self, service: LocalService, fake_server: FakeServer, path: str
    ) -> None:
        """The nested stack might belong to another parent."""
        nested_id = get_body(service, f"{path}/resources/block")["physical_resource_id"]
        document = service.send("GET", f"{path}/export").json
        document["resources"]["block"] = {"name": "block", "resource_id": nested_id}
        stolen = adopt_stack(service, document, "t")
        stack = get_body(service, stolen)
        assert stack["stack_status"] == "ADOPT_FAILED"
        assert "resources.block: adopt_stack_data has no document" in stack["stack_status_reason"]

    def test_invalid_documents_of_nested_stacks_are_refused(
        self, service: LocalService, path: str
    ) -> None:
        document = service.send("GET", f"{path}/export").json
        document["resources"]["block"]["resources"]["server"]["resource_id"] = 1
        body = {"stack_name": "t", "adopt_stack_data": json.dumps(document)}
        message = assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")
        assert "resources.block: resources.server.resource_id must be a string" in message

    def test_nested_stack_cannot_be_abandoned_alone(
        self, service: LocalService, path: str
    ) -> None:
        (block,) = [
            stack
            for stack in service.send("GET", "/stacks?show_nested=true").json["stacks"]
            if stack["parent"] is not None
        ]
        there = f"/stacks/{block['stack_name']}/{block['id']}"
        message = assert_refused(service.send("DELETE", f"{there}/abandon"), 400, "NotSupported")
        assert "nested" in message
        alone = service.send("GET", f"{there}/export").json
        assert list(alone["resources"]) == ["server"]
        assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"


class TestSkip:
    """A way out when a service does not let go of a resource."""

    def test_delete_skips_a_resource(self, service: LocalService, fake_server: FakeServer) -> None:
        def delete(view: ResourceContext) -> VerbResult:
            raise ResourceFailure("the server is in use")

        fake_server.delete = delete  # type: ignore[method-assign]
        path = create_stack(service)
        service.send("DELETE", path)
        stack = get_body(service, path)
        assert (stack["stack_status"], stack["stack_status_reason"]) == (
            "DELETE_FAILED",
            "Resource DELETE failed: ResourceFailure: resources.server: the server is in use",
        )
        service.send("DELETE", f"{path}?skip=server")
        assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
        assert fake_server.servers == {"server-0": "blue"}

    def test_retained_resource_is_skipped(
        self, service: LocalService, fake_server: FakeServer
    ) -> None:
        template = json.loads(json.dumps(FAKE_SERVER_TEMPLATE))
        template["resources"]["server"]["deletion_policy"] = "retain"
        path = create_stack(service, template=template)
        service.send("DELETE", path)
        assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
        assert fake_server.calls == [("create", "server-0")]

    def test_stack_that_cannot_be_deleted_is_abandoned(
        self, service: LocalService, fake_server: FakeServer
    ) -> None:
        def delete(view: ResourceContext) -> VerbResult:
            raise ResourceFailure("the server is in use")

        fake_server.delete = delete  # type: ignore[method-assign]
        path = create_stack(service)
        service.send("DELETE", path)
        document = service.send("DELETE", f"{path}/abandon").json
        assert (document["action"], document["status"]) == ("DELETE", "FAILED")
        (loose,) = document["in_flight"]
        assert (loose["name"], loose["resource_id"], loose["wanted"]) == (
            "server",
            "server-0",
            False,
        )
        assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"

    def test_unknown_name_to_skip_changes_nothing(self, service: LocalService) -> None:
        path = create_stack(service)
        assert_refused(service.send("DELETE", f"{path}?skip=nobody"), 404, "ResourceNotFound")
        assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"


class TestExternal:
    """``external_id``: under the stack, and never made, changed or deleted by it."""

    TEMPLATE: Json = {  # noqa: RUF012
        "heat_template_version": "2018-08-31",
        "resources": {
            "server": {"type": "Test::Server", "external_id": "mine"},
            "sign": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"get_attr": ["server", "colour"]}},
            },
        },
        "outputs": {"sign": {"value": {"get_attr": ["sign", "value"]}}},
    }

    @pytest.fixture
    def path(self, service: LocalService, fake_server: FakeServer) -> str:
        fake_server.servers["mine"] = "brown"
        return create_stack(service, template=self.TEMPLATE)

    def test_external_resource_is_only_observed(
        self, service: LocalService, fake_server: FakeServer, path: str
    ) -> None:
        assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
        row = get_body(service, f"{path}/resources/server")
        assert (row["physical_resource_id"], row["resource_status"]) == ("mine", "CHECK_COMPLETE")
        assert get_outputs(service, path) == {"sign": "brown"}
        events = get_body(service, f"{path}/resources/server/events?sort_dir=asc")
        assert [event["resource_status"] for event in events] == [
            "ADOPT_IN_PROGRESS",
            "ADOPT_COMPLETE",
            "CHECK_IN_PROGRESS",
            "CHECK_COMPLETE",
        ]
        started, *others = (event["physical_resource_id"] for event in events)
        assert started.startswith("s-server-")
        assert set(others) == {"mine"}
        for action in ("suspend", "resume", "check"):
            service.send("POST", f"{path}/actions", {action: None})
            assert get_body(service, path)["stack_status"] == f"{action.upper()}_COMPLETE"
        service.send("POST", f"{path}/snapshots", {})
        service.send("PATCH", path)
        service.send("DELETE", path)
        assert get_body(service, path)["stack_status"] == "DELETE_COMPLETE"
        assert (fake_server.calls, fake_server.servers) == ([], {"mine": "brown"})

    def test_missing_external_resource_fails(
        self, service: LocalService, fake_server: FakeServer
    ) -> None:
        path = create_stack(service, template=self.TEMPLATE)
        stack = get_body(service, path)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert (
            "resources.server: there is no physical resource mine"
            in (stack["stack_status_reason"])
        )
        fake_server.servers["mine"] = "pink"
        service.send("PATCH", path)
        assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"
        assert fake_server.calls == []

    @pytest.mark.parametrize("external_id", ["yours", None])
    def test_changed_external_id_fails_the_update(
        self,
        service: LocalService,
        fake_server: FakeServer,
        path: str,
        external_id: str | None,
    ) -> None:
        fake_server.servers["yours"] = "black"
        template = json.loads(json.dumps(self.TEMPLATE))
        template["resources"]["server"]["external_id"] = external_id
        service.send("PUT", path, {"template": template})
        stack = get_body(service, path)
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert stack["stack_status_reason"] == (
            "Resource UPDATE failed: NotSupported: resources.server: Update to property"
            " external_id of server (Test::Server) is not supported."
        )
        assert get_outputs(service, path) == {"sign": "brown"}
        assert fake_server.calls == []
        service.send("PUT", path, {"template": self.TEMPLATE})
        assert get_body(service, path)["stack_status"] == "UPDATE_COMPLETE"

    def test_own_resource_does_not_become_external(
        self, service: LocalService, fake_server: FakeServer
    ) -> None:
        ours = json.loads(json.dumps(self.TEMPLATE))
        del ours["resources"]["server"]["external_id"]
        path = create_stack(service, template=ours)
        service.send("PUT", path, {"template": self.TEMPLATE})
        assert get_body(service, path)["stack_status"] == "UPDATE_FAILED"
        assert fake_server.calls == [("create", "server-0")]
