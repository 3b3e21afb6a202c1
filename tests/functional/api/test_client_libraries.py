"""Unmodified client libraries against a live server."""

from __future__ import annotations

import json
from typing import Any

import openstack
import pytest
from heatclient import client as heat
from heatclient import exc as heat_exc
from keystoneauth1 import access, session
from keystoneauth1.identity.access import AccessInfoPlugin

from tests.functional.conftest import PROJECT, LiveServer

TEMPLATE = """
heat_template_version: 2016-10-14
description: What clients make
parameters:
  size: {type: number, default: 4}
resources:
  secret:
    type: OS::Heat::RandomString
    properties: {length: {get_param: size}}
  kept:
    type: OS::Heat::Value
    properties: {value: {get_attr: [secret, value]}}
outputs:
  shown: {description: The string, value: {get_attr: [kept, value]}}
"""


def token_plugin(endpoint: str) -> AccessInfoPlugin:
    """Return a plugin with a project's token and catalog, as Keystone would issue them."""
    domain = {"id": "default", "name": "Default"}
    service_endpoint = {
        "id": "e",
        "interface": "public",
        "region": "here",
        "region_id": "here",
        "url": endpoint,
    }
    token = {
        "methods": ["password"],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": "2126-01-01T00:00:00.000000Z",
        "user": {"id": "u", "name": "u", "domain": domain},
        "project": {"id": PROJECT, "name": PROJECT, "domain": domain},
        "roles": [{"id": "r", "name": "member"}],
        "catalog": [
            {"id": "s", "type": "orchestration", "name": "heat", "endpoints": [service_endpoint]}
        ],
    }
    return AccessInfoPlugin(access.create(body={"token": token}, auth_token="none"))


class TestHeatclient:
    @pytest.fixture
    def client(self, live: LiveServer) -> Any:
        return heat.Client("1", endpoint=live.endpoint, token="none")

    def test_heatclient_creates_updates_and_deletes_a_stack(self, client: Any) -> None:
        created = client.stacks.create(stack_name="hc", template=TEMPLATE, parameters={"size": 5})
        stack_id = created["stack"]["id"]
        stack = client.stacks.get("hc")
        assert (stack.id, stack.stack_status) == (stack_id, "CREATE_COMPLETE")
        assert [s.stack_name for s in client.stacks.list()] == ["hc"]
        (output,) = stack.outputs
        assert len(output["output_value"]) == 5

        names = [r.resource_name for r in client.resources.list("hc")]
        assert names == ["kept", "secret"]
        assert client.resources.get("hc", "secret").resource_status == "CREATE_COMPLETE"
        assert client.resources.metadata("hc", "kept") == {}
        client.resources.mark_unhealthy("hc", "kept", True, "smokes")
        assert client.resources.get("hc", "kept").resource_status == "CHECK_FAILED"

        events = client.events.list("hc", sort_dir="asc")
        assert events[0].resource_status == "CREATE_IN_PROGRESS"
        (last,) = client.events.list("hc", limit=1)
        event = client.events.get("hc", last.resource_name, last.id)
        assert event.resource_name == "kept"

        assert client.stacks.template("hc")["description"] == "What clients make"
        assert client.stacks.environment("hc")["parameters"] == {"size": 5}
        assert client.stacks.files("hc") == {}
        listed = client.stacks.output_list("hc")
        assert [o["output_key"] for o in listed["outputs"]] == ["shown"]
        assert client.stacks.output_show("hc", "shown")["output"]["description"] == "The string"

        changes = client.stacks.preview_update("hc", existing=True, parameters={"size": 6})
        assert changes["resource_changes"]["unchanged"] == []
        client.stacks.update("hc", existing=True, parameters={"size": 6})
        stack = client.stacks.get("hc")
        assert stack.stack_status == "UPDATE_COMPLETE"
        assert len(stack.outputs[0]["output_value"]) == 6

        client.actions.suspend("hc")
        assert client.stacks.get("hc").stack_status == "SUSPEND_COMPLETE"
        client.actions.resume("hc")
        client.actions.check("hc")
        assert client.stacks.get("hc").stack_status == "CHECK_COMPLETE"
        client.stacks.delete("hc")
        with pytest.raises(heat_exc.HTTPNotFound, match="hc"):
            client.stacks.get("hc")
        assert client.stacks.get(f"hc/{stack_id}").stack_status == "DELETE_COMPLETE"

    def test_heatclient_restores_a_snapshot(self, client: Any) -> None:
        stack_id = client.stacks.create(stack_name="sn", template=TEMPLATE)["stack"]["id"]
        saved = client.stacks.snapshot("sn", name="first")
        assert client.stacks.get("sn").stack_status == "SNAPSHOT_COMPLETE"
        shown = client.stacks.snapshot_show("sn", saved["id"])["snapshot"]
        assert (shown["name"], shown["status"]) == ("first", "COMPLETE")
        assert shown["data"]["id"] == stack_id
        client.stacks.update("sn", existing=True, parameters={"size": 6})
        client.stacks.restore("sn", saved["id"])
        stack = client.stacks.get("sn")
        assert (stack.stack_status, stack.parameters["size"]) == ("RESTORE_COMPLETE", "4")
        (listed,) = client.stacks.snapshot_list("sn")["snapshots"]
        assert listed["id"] == saved["id"]
        client.stacks.snapshot_delete("sn", saved["id"])
        assert client.stacks.snapshot_list("sn")["snapshots"] == []
        client.stacks.delete("sn")

    def test_heatclient_abandons_and_adopts_a_stack(self, client: Any) -> None:
        client.stacks.create(stack_name="old", template=TEMPLATE)
        outputs = client.stacks.get("old").outputs
        exported = client.stacks.export("old")
        assert client.stacks.abandon("old") == exported
        client.stacks.create(stack_name="new", adopt_stack_data=json.dumps(exported))
        stack = client.stacks.get("new")
        assert (stack.stack_status, stack.outputs) == ("ADOPT_COMPLETE", outputs)
        client.stacks.delete("new")

    def test_heatclient_lists_stacks_in_pages(self, client: Any) -> None:
        for name in ("a1", "a2", "a3"):
            client.stacks.create(stack_name=name, template=TEMPLATE)
        names = [s.stack_name for s in client.stacks.list(limit=2, sort_keys="stack_name")]
        assert names == ["a1", "a2"]
        assert len(list(client.stacks.list(limit=1000))) == 3
        for name in ("a1", "a2", "a3"):
            client.stacks.delete(name)

    def test_heatclient_describes_the_service(self, client: Any) -> None:
        assert client.build_info.build_info()["api"] == {"revision": "unknown"}
        assert client.services.list() == []
        assert "OS::Heat::Value" in {
            t.resource_type for t in client.resource_types.list(with_description=True)
        }
        assert client.resource_types.get("OS::Heat::Value")["resource_type"] == "OS::Heat::Value"
        template = client.resource_types.generate_template("OS::Heat::Value", "hot")
        assert "Value" in template["resources"]
        assert len(client.template_versions.list()) == 13
        functions = client.template_versions.get("heat_template_version.2018-08-31")
        assert "yaql" in {f.functions for f in functions}
        assert client.stacks.validate(template=TEMPLATE)["Description"] == "What clients make"
        assert client.stacks.preview(stack_name="x", template=TEMPLATE).stack_name == "x"

    def test_heatclient_raises_errors_of_the_service(self, client: Any) -> None:
        with pytest.raises(heat_exc.HTTPBadRequest, match="could not be found"):
            client.stacks.create(
                stack_name="bad", template=TEMPLATE.replace("OS::Heat::Value", "OS::Heat::No")
            )
        with pytest.raises(heat_exc.HTTPNotFound):
            client.stacks.get("nothing")


class TestSdk:
    @pytest.fixture
    def cloud(self, live: LiveServer) -> Any:
        return openstack.connection.Connection(
            session=session.Session(token_plugin(live.endpoint)), region_name="here"
        )

    def test_sdk_creates_updates_and_deletes_a_stack(self, cloud: Any) -> None:
        heat = cloud.orchestration
        created = heat.create_stack(
            name="sdk", template=json.dumps({"heat_template_version": "2016-10-14"})
        )
        stack = heat.get_stack(created.id)
        assert (stack.name, stack.status) == ("sdk", "CREATE_COMPLETE")
        assert heat.find_stack("sdk").id == created.id
        assert [s.name for s in heat.stacks()] == ["sdk"]
        heat.update_stack(stack, template=TEMPLATE, parameters={"size": 3})
        stack = heat.wait_for_status(heat.get_stack("sdk"), status="UPDATE_COMPLETE", wait=5)
        assert [r.name for r in heat.resources(stack)] == ["kept", "secret"]
        events = list(heat.stack_events(stack, sort_dir="asc"))
        assert events[0].resource_name == "sdk"
        assert heat.get_stack_template(stack).description == "What clients make"
        heat.suspend_stack(stack)
        heat.resume_stack(stack)
        heat.check_stack(stack)
        assert heat.get_stack(created.id).status == "CHECK_COMPLETE"
        heat.delete_stack(stack)
        assert heat.find_stack("sdk") is None
