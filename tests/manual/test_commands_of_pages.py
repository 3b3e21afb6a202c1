"""Every command of every page runs in a test: here, or in the test of its page.

The commands that need no server run as they are printed, with fewer seeds for the simulator. Those
of ``heat-convergence-manage`` and ``openstack`` that other tests run with other arguments are
compared with the programs' parsers.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from heat_convergence.cli.manage.main import create_parser
from tests.documented_commands import DOCS, DocumentedPage

PAGES_WITH_TESTS = {
    "operate/backup.rst": "tests/integration/test_backup_page.py",
    "operate/installing.rst": "tests/cloud/installation/test_installing_on_cloud.py",
    "operate/upgrading.rst": "tests/integration/upgrade/test_rolling_upgrade.py",
    "start/tour.rst": "tests/manual/test_tour_page.py",
}
COMMANDS_WITH_TESTS = {
    "heat-convergence standalone --cloud emulated": "tests/end_to_end/test_emulated_standalone.py",
    "openstack stack adopt --adopt-file documents/PROJECT/NAME-ID.json NAME": (
        "tests/openstack_commands.py"
    ),
}
OFFLINE = ("heat-convergence ", "cat ")
ROOT = DOCS.parent
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 1}
  name: {type: string, default: web}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  disk:
    type: OS::Cinder::Volume
    properties: {size: {get_param: size}}
  server:
    type: OS::Nova::Server
    depends_on: [subnet]
    properties:
      name: {get_param: name}
      image: cirros
      flavor: m1.tiny
      networks: [{network: {get_resource: net}}]
outputs:
  volume: {value: {get_resource: disk}}
"""
ENVIRONMENT = "parameter_defaults: {size: 2}\n"


def _documented() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.rglob("*.rst")):
        name = str(path.relative_to(DOCS))
        if name not in PAGES_WITH_TESTS:
            yield from ((name, each) for each in DocumentedPage(name).commands())


DOCUMENTED = sorted(_documented())
RUN_HERE = [each for _, each in DOCUMENTED if each.startswith(OFFLINE)]
MANAGE = [each for _, each in DOCUMENTED if each.startswith("heat-convergence-manage ")]
OPENSTACK = [each for _, each in DOCUMENTED if each.startswith("openstack ")]
RABBIT = [each for _, each in DOCUMENTED if each.startswith("rabbitmqctl ")]


def _without_other_tests(commands: list[str]) -> list[str]:
    return sorted({each for each in commands if each not in COMMANDS_WITH_TESTS})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the pages name."""
    (tmp_path / "templates").mkdir()
    for name in ("stack.yaml", "templates/stack.yaml"):
        (tmp_path / name).write_text(TEMPLATE)
    (tmp_path / "next.yaml").write_text(TEMPLATE.replace("default: web", "default: www"))
    for name in ("production.yaml", "test.yaml"):
        (tmp_path / name).write_text(ENVIRONMENT)
    return tmp_path


@pytest.mark.parametrize(("page", "test"), sorted(PAGES_WITH_TESTS.items()))
def test_page_has_commands_and_a_test(page: str, test: str) -> None:
    assert list(DocumentedPage(page).commands())
    assert (ROOT / test).is_file()


@pytest.mark.parametrize(("command", "test"), sorted(COMMANDS_WITH_TESTS.items()))
def test_command_is_printed_and_has_a_test(command: str, test: str) -> None:
    assert command in {each for _, each in DOCUMENTED}
    assert (ROOT / test).is_file()


def test_every_command_is_covered() -> None:
    groups = (RUN_HERE, MANAGE, OPENSTACK, RABBIT)
    assert all(groups)
    assert sum(map(len, groups)) == len(DOCUMENTED), DOCUMENTED


@pytest.mark.parametrize("command", _without_other_tests(RUN_HERE))
def test_command_without_server_succeeds(command: str, folder: Path) -> None:
    reduced = re.sub(r"--seed \d+-\d+", "--seed 1-2", command).replace("--faults all", "--help")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", reduced],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if " > " in command:
        assert (folder / command.rpartition(" > ")[2]).stat().st_size


@pytest.mark.parametrize("command", sorted(set(MANAGE)))
def test_arguments_of_manage_are_accepted(command: str) -> None:
    assert create_parser().parse_args(shlex.split(command)[1:])


def _plugin_command(words: list[str]) -> EntryPoint:
    """Return the entry point of the longest command that words begin with."""
    commands = {each.name: each for each in entry_points(group="openstack.orchestration.v1")}
    for count in range(len(words), 0, -1):
        if found := commands.get("_".join(words[:count])):
            return found
    pytest.fail(f"no command of OpenStackClient: {' '.join(words)}")


def _usage_of(command: EntryPoint) -> tuple[set[str], int]:
    """Return the options of a command, and the number of its positional arguments."""
    application = SimpleNamespace(client_manager=None)
    parser: argparse.ArgumentParser = command.load()(application, None).get_parser("command")
    positional = [each for each in parser._actions if not each.option_strings]
    return set(parser._option_string_actions), len(positional)


@pytest.mark.parametrize("usage", _without_other_tests(OPENSTACK))
def test_usage_agrees_with_the_parser(usage: str) -> None:
    words = re.match(r"openstack ((?:[a-z]+ ?)+)", usage)
    assert words is not None
    command = _plugin_command(words.group(1).split())
    options, positional = _usage_of(command)
    printed = set(re.findall(r"(?<=[\[ ])--?[a-z][a-z-]*", usage))
    assert printed <= options
    rest = re.sub(r"--?[a-z-]+ <[^>]+>|\[?=<[^>]+>\]?", "", usage)
    names = re.findall(r"<([a-z-]+)>", rest)
    assert len(dict.fromkeys(names)) == positional


@pytest.mark.parametrize("command", RABBIT)
def test_command_of_the_broker_succeeds(command: str, rabbit_url: str) -> None:
    host = unquote(urlsplit(rabbit_url).path).lstrip("/")
    if not host or shutil.which("rabbitmqctl") is None:
        pytest.skip("rabbitmqctl is not installed: the command would change a host in use")
    program, *arguments = shlex.split(command)
    done = subprocess.run([program, "-p", host, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
