"""The clients that users have, unmodified, against a live server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack
import pytest
from heatclient import client as heat
from heatclient import exc as heat_exc
from keystoneauth1 import access, session
from keystoneauth1.identity.access import AccessInfoPlugin
from openstackclient import shell

from tests.functional.conftest import PROJECT, Live

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

CHILD = """
heat_template_version: 2016-10-14
parameters:
  fail: {type: boolean, default: false}
resources:
  a:
    type: OS::Heat::TestResource
    properties: {value: {get_param: fail}, fail: {get_param: fail}}
"""
ROOT = """
heat_template_version: 2016-10-14
parameters:
  fail: {type: boolean, default: false}
resources:
  n:
    type: child.yaml
    properties: {fail: {get_param: fail}}
"""


def identity(endpoint: str) -> AccessInfoPlugin:
    """What Keystone would have answered: a project's token with a catalogue."""
    domain = {"id": "default", "name": "Default"}
    there = {"id": "e", "interface": "public", "region": "here", "region_id": "here",
             "url": endpoint}
    token = {
        "methods": ["password"],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": "2126-01-01T00:00:00.000000Z",
        "user": {"id": "u", "name": "u", "domain": domain},
        "project": {"id": PROJECT, "name": PROJECT, "domain": domain},
        "roles": [{"id": "r", "name": "member"}],
        "catalog": [{"id": "s", "type": "orchestration", "name": "heat", "endpoints": [there]}],
    }
    return AccessInfoPlugin(access.create(body={"token": token}, auth_token="none"))


class TestHeatclient:
    @pytest.fixture
    def client(self, live: Live) -> Any:
        return heat.Client("1", endpoint=live.endpoint, token="none")

    def test_a_life(self, client: Any) -> None:
        made = client.stacks.create(stack_name="hc", template=TEMPLATE, parameters={"size": 5})
        stack_id = made["stack"]["id"]
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

    def test_snapshots(self, client: Any) -> None:
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

    def test_handover(self, client: Any) -> None:
        client.stacks.create(stack_name="old", template=TEMPLATE)
        outputs = client.stacks.get("old").outputs
        exported = client.stacks.export("old")
        assert client.stacks.abandon("old") == exported
        client.stacks.create(stack_name="new", adopt_stack_data=json.dumps(exported))
        stack = client.stacks.get("new")
        assert (stack.stack_status, stack.outputs) == ("ADOPT_COMPLETE", outputs)
        client.stacks.delete("new")

    def test_paging(self, client: Any) -> None:
        for name in ("a1", "a2", "a3"):
            client.stacks.create(stack_name=name, template=TEMPLATE)
        names = [s.stack_name for s in client.stacks.list(limit=2, sort_keys="stack_name")]
        assert names == ["a1", "a2"]
        assert len(list(client.stacks.list(limit=1000))) == 3
        for name in ("a1", "a2", "a3"):
            client.stacks.delete(name)

    def test_the_service(self, client: Any) -> None:
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

    def test_mistakes(self, client: Any) -> None:
        with pytest.raises(heat_exc.HTTPBadRequest, match="Unknown resource Type"):
            client.stacks.create(
                stack_name="bad", template=TEMPLATE.replace("OS::Heat::Value", "OS::Heat::No")
            )
        with pytest.raises(heat_exc.HTTPNotFound):
            client.stacks.get("nothing")


class TestSdk:
    @pytest.fixture
    def cloud(self, live: Live) -> Any:
        return openstack.connection.Connection(
            session=session.Session(identity(live.endpoint)), region_name="here"
        )

    def test_a_life(self, cloud: Any) -> None:
        heat = cloud.orchestration
        made = heat.create_stack(name="sdk", template=json.dumps({"heat_template_version":
                                                                  "2016-10-14"}))
        stack = heat.get_stack(made.id)
        assert (stack.name, stack.status) == ("sdk", "CREATE_COMPLETE")
        assert heat.find_stack("sdk").id == made.id
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
        assert heat.get_stack(made.id).status == "CHECK_COMPLETE"
        heat.delete_stack(stack)
        assert heat.find_stack("sdk") is None


class TestCommandLine:
    @pytest.fixture
    def run(
        self, live: Live, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., str]:
        monkeypatch.setenv("OS_AUTH_TYPE", "none")
        monkeypatch.setenv("OS_ENDPOINT", live.endpoint)

        def run(*arguments: str, status: int = 0) -> str:
            capsys.readouterr()
            assert shell.main([*arguments]) == status, capsys.readouterr().err
            return capsys.readouterr().out

        return run

    def test_a_life(self, run: Callable[..., str], tmp_path: Path) -> None:
        template = tmp_path / "t.yaml"
        template.write_text(TEMPLATE)
        tell = ("-f", "json")
        preview = json.loads(
            run("stack", "create", "--dry-run", "-t", str(template), "cli", *tell)
        )
        assert preview["stack_name"] == "cli"
        made = run("stack", "create", "--wait", "--poll", "1", "-t", str(template),
                   "--parameter", "size=7", "--tags", "x,y", "cli", *tell)
        assert '"stack_status": "CREATE_COMPLETE"' in made
        shown = json.loads(run("stack", "show", "cli", *tell))
        assert shown["parameters"]["size"] == "7"
        assert shown["tags"] == ["x", "y"]
        listed = json.loads(run("stack", "list", *tell))
        assert [row["Stack Name"] for row in listed] == ["cli"]
        rows = json.loads(run("stack", "resource", "list", "cli", *tell))
        assert {row["resource_name"] for row in rows} == {"kept", "secret"}
        assert "CREATE_COMPLETE" in run("stack", "resource", "show", "cli", "kept")
        log = run("stack", "event", "list", "cli")
        assert "Stack CREATE completed successfully" in log
        assert len(json.loads(run("stack", "event", "list", "cli", *tell))) == 6
        outputs = json.loads(run("stack", "output", "show", "--all", "cli", *tell))
        assert len(outputs["shown"]["output_value"]) == 7
        assert "What clients make" in run("stack", "template", "show", "cli")
        dry = json.loads(run("stack", "update", "--dry-run", "--existing", "--parameter",
                             "size=8", "cli", *tell))
        assert dry["unchanged"] == []
        run("stack", "update", "--wait", "--existing", "--parameter", "size=8", "cli")
        assert json.loads(run("stack", "show", "cli", *tell))["stack_status"] == "UPDATE_COMPLETE"
        run("stack", "check", "--wait", "cli")
        run("stack", "suspend", "--wait", "cli")
        run("stack", "resume", "--wait", "cli")
        assert run("stack", "failures", "list", "cli").strip() == ""
        run("stack", "delete", "--yes", "--wait", "cli")
        assert json.loads(run("stack", "list", *tell)) == []

    def test_snapshots(self, run: Callable[..., str], tmp_path: Path) -> None:
        template = tmp_path / "t.yaml"
        template.write_text(TEMPLATE)
        tell = ("-f", "json")
        run("stack", "create", "-t", str(template), "cli-sn")
        saved = json.loads(run("stack", "snapshot", "create", "--name", "n", "cli-sn", *tell))
        shown = json.loads(run("stack", "snapshot", "show", "cli-sn", saved["ID"], *tell))
        shown = shown["snapshot"]
        assert (shown["name"], shown["status"]) == ("n", "COMPLETE")
        run("stack", "update", "--existing", "--parameter", "size=8", "cli-sn")
        run("stack", "snapshot", "restore", "cli-sn", saved["ID"])
        stack = json.loads(run("stack", "show", "cli-sn", *tell))
        assert (stack["stack_status"], stack["parameters"]["size"]) == ("RESTORE_COMPLETE", "4")
        (row,) = json.loads(run("stack", "snapshot", "list", "cli-sn", *tell))
        assert (row["name"], row["action"]) == ("n", "CREATE")
        run("stack", "snapshot", "delete", "--yes", "cli-sn", saved["ID"])
        assert json.loads(run("stack", "snapshot", "list", "cli-sn", *tell)) == []
        document = tmp_path / "document.json"
        run("stack", "export", "cli-sn", "--output-file", str(document))
        run("stack", "abandon", "cli-sn", "--output-file", str(document))
        run("stack", "adopt", "--adopt-file", str(document), "--wait", "cli-sn")
        stack = json.loads(run("stack", "show", "cli-sn", *tell))
        assert stack["stack_status"] == "ADOPT_COMPLETE"
        run("stack", "resource", "signal", "cli-sn", "kept", status=1)  # it takes none
        run("stack", "delete", "--yes", "cli-sn")

    def test_a_tree_with_breakpoints(self, run: Callable[..., str], tmp_path: Path) -> None:
        (tmp_path / "child.yaml").write_text(CHILD)
        (tmp_path / "root.yaml").write_text(ROOT)
        root = str(tmp_path / "root.yaml")
        run("stack", "create", "-t", root, "--pre-create", "n/a*", "-f", "json", "tree")
        (found,) = json.loads(
            run("stack", "hook", "poll", "tree", "--nested-depth", "5", "-f", "json")
        )
        assert found["Resource Status"] == "INIT_COMPLETE", found
        rows = json.loads(run("stack", "resource", "list", "-n", "5", "-f", "json", "tree"))
        assert {row["resource_name"] for row in rows} == {"n", "a"}
        run("stack", "hook", "clear", "tree", "n/a")
        assert "CREATE_COMPLETE" in run("stack", "show", "-f", "json", "tree")
        assert run("stack", "failures", "list", "tree").strip() == ""
        run("stack", "update", "-t", root, "--parameter", "fail=true", "-f", "json", "tree")
        assert "tree.n.a:" in run("stack", "failures", "list", "tree")
        events = run("stack", "event", "list", "--nested-depth", "3", "tree")
        assert "Hook pre-create is cleared" in events
        run("stack", "delete", "--yes", "--wait", "tree")

    def test_the_service(self, run: Callable[..., str]) -> None:
        assert "OS::Heat::Value" in run("orchestration", "resource", "type", "list")
        assert "properties" in run("orchestration", "resource", "type", "show", "OS::Heat::Value")
        assert "2018-08-31" in run("orchestration", "template", "version", "list")
        assert "get_attr" in run("orchestration", "template", "function", "list",
                                 "heat_template_version.2018-08-31")
        assert "revision" in run("orchestration", "build", "info")
        run("orchestration", "service", "list")

    def test_mistakes(self, run: Callable[..., str], tmp_path: Path) -> None:
        template = tmp_path / "bad.yaml"
        template.write_text(TEMPLATE.replace("OS::Heat::Value", "OS::Heat::Nothing"))
        run("stack", "create", "-t", str(template), "bad", status=1)
        run("stack", "show", "nothing", status=1)
