"""The base of the commands: the client, and the stack that a user names.

Loaded by OpenStackClient through entry points, beside the commands of python-heatclient, whose
client sends the requests.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from heatclient.exc import HTTPNotFound
from osc_lib.command import command
from osc_lib.exceptions import CommandError

Json = Any


class OrchestrationCommand(command.Command):
    """A command that sends requests to the orchestration service."""

    @property
    def client(self) -> Any:
        """The client of python-heatclient, whose plug-in has named the attribute."""
        manager: Any = self.app.client_manager
        return manager.orchestration

    def get_json(self, path: str, **query: Json) -> Json:
        """Return the body of a GET request."""
        text = urlencode({name: value for name, value in query.items() if value}, doseq=True)
        return self.client.http_client.get(f"{path}?{text}" if text else path).json()

    def post_json(self, path: str, body: Json) -> Json:
        """Return the body of the response to a POST request."""
        return self.client.http_client.post(path, data=body).json()

    def put_json(self, path: str, body: Json) -> Json:
        """Return the body of the response to a PUT request."""
        return self.client.http_client.put(path, data=body).json()

    def find_stack(self, name_or_id: str) -> str:
        """Return the path of a stack.

        Raises:
            CommandError: There is no such stack.
        """
        try:
            found = self.client.stacks.get(name_or_id)
        except HTTPNotFound as error:
            raise CommandError(f"Stack not found: {name_or_id}") from error
        return f"/stacks/{quote(found.stack_name)}/{quote(found.id)}"


class OrchestrationLister(OrchestrationCommand, command.Lister):
    """A command that prints a list that the orchestration service returns."""


class StackCommand(OrchestrationCommand):
    """A command whose first argument is a stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        return parser


def select_columns(entry: Json, columns: Sequence[str]) -> list[Json]:
    """Return the values of an entry for columns, whose titles are its keys as words."""
    return [entry[column.lower().replace(" ", "_")] for column in columns]
