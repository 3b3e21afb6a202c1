"""Every command of the ``openstack`` command line, unmodified, against a live server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openstackclient import shell

from tests import openstack_commands
from tests.functional.conftest import PROJECT, LiveServer
from tests.openstack_shell import OpenStackShell, TemplateDirectory, all_commands
from tests.quarantined_resource import add_quarantined

RUN_COMMANDS: set[str] = set()


@pytest.fixture
def run(
    live: LiveServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenStackShell]:
    for name, value in environment(live).items():
        monkeypatch.setenv(name, value)
    run = OpenStackShell(shell.main, lambda: tuple(capsys.readouterr()))
    yield run
    RUN_COMMANDS.update(run.executed_commands)


def environment(live: LiveServer) -> dict[str, str]:
    return {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": live.endpoint}


@pytest.mark.parametrize("conversation", openstack_commands.conversation_names())
def test_openstack_commands_succeed(
    run: OpenStackShell, tmp_path: Path, conversation: str
) -> None:
    """Every request is completed before the next one is handled."""
    openstack_commands.run_conversation(
        run, TemplateDirectory(tmp_path), conversation, lambda: None
    )


def test_stack_events_are_followed(run: OpenStackShell, live: LiveServer, tmp_path: Path) -> None:
    files = TemplateDirectory(tmp_path)
    openstack_commands.follow_events(
        run, files, "followed", environment(live), tmp_path / "followed.log"
    )


def test_resource_in_quarantine_is_retried_and_dismissed(
    run: OpenStackShell, live: LiveServer
) -> None:
    with live.service.database.write() as connection:
        add_quarantined(connection, live.service.clock(), "quarantined", project_id=PROJECT)
    (row,) = run.json("stack", "quarantine", "list")
    assert (row["ID"], row["Quarantine Reason"]) == ("quarantined", "it is in use")
    run("stack", "quarantine", "retry", "quarantined")
    (row,) = run.json("stack", "quarantine", "list")
    assert row["Quarantine Status"] == "RETRYING"
    run("stack", "quarantine", "dismiss", "quarantined")
    assert run.json("stack", "quarantine", "list") == []


def test_services_are_listed(run: OpenStackShell) -> None:
    run("orchestration", "service", "list")


def test_errors_of_the_service_are_printed(run: OpenStackShell, tmp_path: Path) -> None:
    bad = TemplateDirectory(tmp_path).write(
        "bad.yaml",
        "heat_template_version: 2016-10-14\nresources: {r: {type: OS::Heat::Nothing}}\n",
    )
    assert "The Resource Type (OS::Heat::No" in run("stack", "create", "-t", bad, "bad", status=1)
    assert "Stack not found" in run("stack", "show", "nothing", status=1)


def test_every_command_is_run() -> None:
    """This test runs last: it checks the commands that the tests above ran."""
    if not {"software config create", "stack failures list"} <= RUN_COMMANDS:
        pytest.skip("not all conversations were run")
    assert all_commands() - RUN_COMMANDS == set()


def test_documentation_lists_every_command() -> None:
    text = (Path(__file__).parents[3] / "docs" / "use" / "clients.rst").read_text()
    assert {name for name in all_commands() if f"``{name}``" not in text} == set()
