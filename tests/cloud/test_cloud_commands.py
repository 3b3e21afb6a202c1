"""Clients, unmodified, against the daemons and a real Keystone.

Each command logs in by itself, finds the service in the catalogue and waits as a user's
would: nothing here is settled for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstackclient import shell

from heat_convergence.testing.daemon_processes import wait_until
from tests import openstack_commands
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService
from tests.openstack_commands import TEMPLATE, OpenStackShell, TemplateDirectory

Json = Any
EXECUTED_COMMANDS: set[str] = set()


@pytest.fixture(scope="module")
def ours(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture
def run(
    ours: DeployedService,
    cloud_testbed: CloudTestbed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[OpenStackShell]:
    for name, value in cloud_testbed.environment("demo", ours.region).items():
        monkeypatch.setenv(name, value)
    run = OpenStackShell(shell.main, lambda: tuple(capsys.readouterr()))
    yield run
    EXECUTED_COMMANDS.update(run.executed_commands)


def make_idle_wait(
    ours: DeployedService, cloud_testbed: CloudTestbed, name: str
) -> Callable[[], None]:
    """Waits until nothing of the stack is under way but what a user is waited for, nor a
    snapshot of it."""
    user = cloud_testbed.session("demo")

    def rests() -> bool:
        found = ours.request(user, "GET", f"/stacks/{name}")
        if found.status_code != 200:
            return False
        stack = found.json()["stack"]
        path = f"/stacks/{name}/{stack['id']}"
        snapshots = ours.request(user, "GET", f"{path}/snapshots").json()["snapshots"]
        if any(each["status"] == "IN_PROGRESS" for each in snapshots):
            return False
        return "IN_PROGRESS" not in stack["stack_status"] or _waits(path)

    def _waits(path: str) -> bool:
        query = "nested_depth=5&sort_dir=desc"
        events = ours.request(user, "GET", f"{path}/events?{query}").json()["events"]
        for event in events:
            reason = event["resource_status_reason"]
            if reason.startswith("Hook ") or reason.endswith(" started"):
                return False
            if "paused until Hook" in reason:
                return True
        return False

    return lambda: wait_until(rests, f"{name} rests", timeout_s=120)


@pytest.mark.parametrize("which", openstack_commands.conversation_names())
def test_commands(
    run: OpenStackShell,
    ours: DeployedService,
    cloud_testbed: CloudTestbed,
    tmp_path: Path,
    which: str,
) -> None:
    openstack_commands.run_conversation(
        run,
        TemplateDirectory(tmp_path),
        which,
        make_idle_wait(ours, cloud_testbed, f"cli-{which}"),
    )


def test_event_follow(
    run: OpenStackShell, ours: DeployedService, cloud_testbed: CloudTestbed, tmp_path: Path
) -> None:
    environment = cloud_testbed.environment("demo", ours.region)
    files = TemplateDirectory(tmp_path)
    openstack_commands.follow_events(
        run, files, "followed", environment, tmp_path / "followed.log"
    )


def login_options(user: str) -> tuple[str, ...]:
    """Options of another user than the environment names."""
    return ("--os-username", user, "--os-project-name", user)


def test_service_list_requires_admin(run: OpenStackShell) -> None:
    services = ("orchestration", "service", "list")
    assert "not authorized" in run(*services, status=1)
    rows = run.json(*login_options("admin"), *services)
    assert {row["Status"] for row in rows} == {"up"}


def test_stack_hidden_from_other_projects(run: OpenStackShell, tmp_path: Path) -> None:
    files = TemplateDirectory(tmp_path)
    run("stack", "create", "--wait", "-t", files.template, "mine")
    stack_id = run.json("stack", "show", "mine")["id"]
    other = login_options("alt_demo")
    assert run.json(*other, "stack", "list") == []
    for key in ("mine", stack_id, f"mine/{stack_id}"):
        run(*other, "stack", "show", key, status=1)
        run(*other, "stack", "delete", "--yes", key, status=1)
    run("stack", "delete", "--yes", "--wait", "mine")


@pytest.mark.usefixtures("cloud_testbed")
def test_every_command_was_executed() -> None:
    """Runs last: what the tests above have seen."""
    assert openstack_commands.all_commands() - EXECUTED_COMMANDS == set()


class TestOpenstackSdk:
    """openstacksdk's orchestration proxy and cloud layer."""

    @pytest.fixture(scope="class")
    def cloud(
        self, ours: DeployedService, cloud_testbed: CloudTestbed
    ) -> openstack.connection.Connection:
        return cloud_testbed.connection("demo", ours.region)

    def test_proxy(self, cloud: Any) -> None:
        heat = cloud.orchestration
        preview = heat.create_stack(preview=True, name="sdk", template=TEMPLATE)
        assert preview.name == "sdk"
        made = heat.create_stack(name="sdk", template=TEMPLATE, tags="a,b", timeout_mins=5)
        stack = heat.wait_for_status(heat.get_stack(made.id), status="CREATE_COMPLETE",
                                     failures=["CREATE_FAILED"], wait=60)  # fmt: skip
        assert heat.find_stack("sdk").id == made.id
        assert heat.find_stack("sdk", resolve_outputs=False).outputs is None
        for query in ({"tags": "a"}, {"tags_any": "a,z"}, {"not_tags": "z"},
                      {"status": "COMPLETE"}, {"name": "sdk"}, {"limit": 1}):  # fmt: skip
            assert "sdk" in {each.name for each in heat.stacks(**query)}, query
        assert [each.name for each in heat.resources(stack)] == ["kept", "secret"]
        assert heat.get_stack_template(stack).description == "What the command line makes"
        assert heat.get_stack_environment(stack).parameters == {}
        assert heat.get_stack_files(stack) == {}
        heat.update_stack(stack, template=TEMPLATE, parameters={"size": 3})
        stack = heat.wait_for_status(heat.get_stack("sdk"), status="UPDATE_COMPLETE", wait=60)
        for act, done in ((heat.suspend_stack, "SUSPEND_COMPLETE"),
                          (heat.resume_stack, "RESUME_COMPLETE"),
                          (heat.check_stack, "CHECK_COMPLETE")):  # fmt: skip
            act(stack)
            stack = heat.wait_for_status(heat.get_stack(made.id), status=done, wait=60)
        events = list(heat.stack_events(stack, sort_dir="asc"))
        assert events[0].resource_name == "sdk"
        (one, *_) = heat.stack_events(stack, resource_name="kept", resource_action="CREATE",
                                      resource_status="COMPLETE")  # fmt: skip
        assert one.resource_name == "kept"
        exported = heat.export_stack(stack)
        assert exported["stack_name" if "stack_name" in exported else "name"] == "sdk"
        heat.delete_stack(stack)
        heat.wait_for_delete(stack, wait=60)
        assert heat.find_stack("sdk") is None

    def test_software(self, cloud: Any) -> None:
        heat = cloud.orchestration
        config = heat.create_software_config(name="c", group="script", config="echo")
        assert heat.get_software_config(config.id).config == "echo"
        made = heat.create_software_deployment(
            config_id=config.id, server_id="server-of-sdk", action="CREATE",
            status="IN_PROGRESS", input_values={},
        )  # fmt: skip
        heat.update_software_deployment(made.id, status="COMPLETE", status_reason="done")
        assert heat.get_software_deployment(made.id).status == "COMPLETE"
        assert made.id in {each.id for each in heat.software_deployments()}
        heat.delete_software_deployment(made.id)
        assert config.id in {each.id for each in heat.software_configs()}
        heat.delete_software_config(config.id)

    def test_validate(self, cloud: Any) -> None:
        heat = cloud.orchestration
        found = heat.validate_template(TEMPLATE)
        assert set(found.parameters) == {"size", "kind"}
        bad = TEMPLATE.replace("OS::Heat::Value", "OS::Heat::Nothing")
        with pytest.raises(openstack.exceptions.BadRequestException, match="Nothing"):
            heat.validate_template(bad)

    def test_cloud_layer(self, cloud: Any, tmp_path: Path) -> None:
        """Which waits by events itself."""
        files = TemplateDirectory(tmp_path)
        made = cloud.create_stack("layered", template_file=files.template, wait=True, timeout=60)
        assert made.status == "CREATE_COMPLETE"
        made = cloud.update_stack("layered", template_file=files.template, wait=True,
                                  timeout=60, size=9)  # fmt: skip
        assert json.loads(json.dumps(made.parameters))["size"] == "9"
        assert [each.name for each in cloud.search_stacks("layered")] == ["layered"]
        assert cloud.delete_stack("layered", wait=True) is True
        assert cloud.get_stack("layered") is None
