"""Every command of the ``openstack`` command line, unmodified, against a live server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openstackclient import shell

from tests import command_line
from tests.command_line import Files, Shell
from tests.functional.conftest import Live

SEEN: set[str] = set()


@pytest.fixture
def run(
    live: Live, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    for name, value in environment(live).items():
        monkeypatch.setenv(name, value)
    run = Shell(shell.main, lambda: tuple(capsys.readouterr()))
    yield run
    SEEN.update(run.seen)


def environment(live: Live) -> dict[str, str]:
    return {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": live.endpoint}


@pytest.mark.parametrize("which", command_line.conversations())
def test_commands(run: Shell, tmp_path: Path, which: str) -> None:
    """Every request is settled before the next one is answered."""
    command_line.hold(run, Files(tmp_path), which, lambda: None)


def test_follow(run: Shell, live: Live, tmp_path: Path) -> None:
    files = Files(tmp_path)
    command_line.follow(run, files, "followed", environment(live), tmp_path / "followed.log")


def test_the_list_of_services(run: Shell) -> None:
    run("orchestration", "service", "list")


def test_mistakes(run: Shell, tmp_path: Path) -> None:
    bad = Files(tmp_path).write("bad.yaml", "heat_template_version: 2016-10-14\n"
                                            "resources: {r: {type: OS::Heat::Nothing}}\n")
    assert "Unknown resource Type" in run("stack", "create", "-t", bad, "bad", status=1)
    assert "Stack not found" in run("stack", "show", "nothing", status=1)


def test_no_command_is_left_out() -> None:
    """Runs last: what the tests above have seen."""
    if not {"software config create", "stack failures list"} <= SEEN:
        pytest.skip("not all conversations were run")
    assert command_line.all_commands() - SEEN == set()


def test_the_documentation_names_each() -> None:
    text = (Path(__file__).parents[2] / "docs" / "clients.rst").read_text()
    assert {name for name in command_line.all_commands() if f"``{name}``" not in text} == set()
