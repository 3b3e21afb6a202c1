"""The command that lists what a project has beside its stacks.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from heat_convergence.cli.openstack_commands.orchestration import OrchestrationLister

Json = Any
_COLUMNS = ("Resource Type", "Physical Resource ID", "Name", "Status", "Created At")


class ListStackInventory(OrchestrationLister):
    """List the objects of the project's services that no stack owns."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--type",
            metavar="<type>",
            action="append",
            help="Resource type, such as OS::Nova::Server (repeat for several)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterator[Sequence[Json]]]:
        """Return the columns and rows; warn of types that could not be listed."""
        found = self.get_json("/inventory", type=parsed_args.type)
        for each in found["unread"]:
            self.app.LOG.warning("%s not listed: %s", each["resource_type"], each["reason"])
        keys = [column.lower().replace(" ", "_") for column in _COLUMNS]
        return _COLUMNS, ([each[key] for key in keys] for each in found["inventory"])
