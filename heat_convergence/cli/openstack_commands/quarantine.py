"""The commands about the quarantine that this package adds to the ``openstack`` command line.

Loaded by OpenStackClient through entry points, as those about drift.
"""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from heatclient.exc import HTTPNotFound
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands.orchestration import (
    OrchestrationCommand,
    OrchestrationLister,
    select_columns,
)

Json = Any
_PAGE_SIZE = 100
_COLUMNS = (
    "ID",
    "Stack Name",
    "Resource Name",
    "Resource Type",
    "Physical Resource ID",
    "Quarantine Status",
    "Tries",
    "Next At",
    "Quarantine Reason",
)


class ListStackQuarantine(OrchestrationLister):
    """List the resources of the project that could not be deleted with their stacks."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterator[Sequence[Json]]]:
        """Return the columns and rows."""
        return _COLUMNS, (select_columns(each, _COLUMNS) for each in self._entries())

    def _entries(self) -> Iterator[Json]:
        marker = None
        while True:
            found = self.get_json("/quarantine", limit=_PAGE_SIZE, marker=marker)
            yield from found["quarantine"]
            if not found.get("links"):
                return
            marker = found["quarantine"][-1]["id"]


class _QuarantineChange(OrchestrationCommand):
    """A command that changes entries of the quarantine."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "id", metavar="<id>", nargs="+", help="ID of the resource in quarantine"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Change each of the entries.

        Raises:
            CommandError: One is not in quarantine.
        """
        for each in parsed_args.id:
            try:
                self.change(self.client.http_client, quote(each))
            except HTTPNotFound as error:
                raise CommandError(f"Quarantined resource not found: {each}") from error

    @abc.abstractmethod
    def change(self, client: Any, quarantined_id: str) -> None:
        """Send the request about one entry."""


class RetryStackQuarantine(_QuarantineChange):
    """Try to delete resources in quarantine again at once."""

    def change(self, client: Any, quarantined_id: str) -> None:
        """Send the request about one entry."""
        client.post(f"/quarantine/{quarantined_id}/retry", data={})


class DismissStackQuarantine(_QuarantineChange):
    """Remove resources from quarantine without deleting what is left of them."""

    def change(self, client: Any, quarantined_id: str) -> None:
        """Send the request about one entry."""
        client.delete(f"/quarantine/{quarantined_id}")
