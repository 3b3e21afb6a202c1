"""The ``openstack`` command line in a test, and the templates that its commands take.

``OpenStackShell`` notes which commands have run, so that none of the plug-in's is left out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from osc_lib.clientmanager import ClientCache, ClientManager

Json = Any
_GROUP = "openstack.orchestration.v1"

TEMPLATE = """
heat_template_version: 2018-08-31
description: What the command line makes
parameters:
  size: {type: number, default: 4}
  kind: {type: string, default: plain}
resources:
  secret:
    type: OS::Heat::RandomString
    properties: {length: {get_param: size}}
  kept:
    type: OS::Heat::Value
    properties: {value: {get_attr: [secret, value]}}
    metadata: {told: {get_param: kind}}
outputs:
  shown: {description: The string, value: {get_attr: [kept, value]}}
"""
ENVIRONMENT = "parameters: {kind: from-a-file}\nparameter_defaults: {size: 5}\n"
CHILD = """
heat_template_version: 2018-08-31
parameters:
  fail: {type: boolean, default: false}
resources:
  a:
    type: OS::Heat::TestResource
    properties: {value: {get_param: fail}, fail: {get_param: fail}}
"""
ROOT = """
heat_template_version: 2018-08-31
parameters:
  fail: {type: boolean, default: false}
resources:
  n:
    type: child.yaml
    properties: {fail: {get_param: fail}}
"""


def all_commands() -> frozenset[str]:
    """Return the commands of the plug-in as a user types them."""
    return frozenset(each.name.replace("_", " ") for each in entry_points(group=_GROUP))


class OpenStackShell:
    """A shell around the ``main`` of openstackclient, which returns the exit status."""

    def __init__(self, main: Callable[[list[str]], int], read: Callable[[], tuple[str, str]]):
        self._main = main
        self._read = read
        self.executed_commands: set[str] = set()

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run a command and return its output; ``status`` is the expected exit status."""
        self._read()
        ended = self._run([*arguments])
        out, err = self._read()
        assert ended == status, f"{' '.join(arguments)}: {ended}\n{out}\n{err}"
        self.executed_commands |= {name for name in all_commands() if _begins(arguments, name)}
        return out if status == 0 else out + err

    def _run(self, arguments: list[str]) -> int:
        """Run a command as in a new process.

        Forgets the clients of earlier users, and the handlers added to the root logger.
        """
        root = logging.getLogger()
        before = list(root.handlers)
        for cached in vars(ClientManager).values():
            if isinstance(cached, ClientCache):
                cached._handle = None
        try:
            return self._main(arguments)
        finally:
            root.handlers[:] = before

    def json(self, *arguments: str) -> Json:
        return json.loads(self(*arguments, "-f", "json"))


def _begins(arguments: tuple[str, ...], command: str) -> bool:
    words = command.split()
    return list(arguments[: len(words)]) == words


class TemplateDirectory:
    """Templates and environments in a folder; values are paths."""

    def __init__(self, folder: Path) -> None:
        self.directory = folder
        self.template = self.write("template.yaml", TEMPLATE)
        self.environment = self.write("environment.yaml", ENVIRONMENT)
        self.write("child.yaml", CHILD)
        self.root = self.write("root.yaml", ROOT)

    def write(self, name: str, text: str) -> str:
        path = self.directory / name
        path.write_text(text)
        return str(path)
