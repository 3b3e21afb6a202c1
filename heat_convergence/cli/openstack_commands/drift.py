"""The commands about drift that this package adds to the ``openstack`` command line.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from heat_convergence.cli.openstack_commands.orchestration import (
    OrchestrationLister,
    select_columns,
)

Json = Any
Table = tuple[Sequence[str], Iterator[Sequence[Json]]]
STATUSES = ("MODIFIED", "DELETED", "ERROR", "UNKNOWN", "NOT_CHECKED", "IN_SYNC")
_PAGE_SIZE = 100
_DRIFT_COLUMNS = (
    "Stack Name",
    "Resource Name",
    "Resource Type",
    "Drift Status",
    "Drift Policy",
    "Drift Since",
    "Properties",
)
_REPAIR_COLUMNS = (
    "Stack Name",
    "Resource Name",
    "Resource Type",
    "Drift Status",
    "Repair Action",
    "Repair Reason",
    "Properties",
)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        metavar="<status>",
        action="append",
        choices=STATUSES,
        help=f"Show resources with this status (repeat for several): {', '.join(STATUSES)}",
    )


class ListStackDrift(OrchestrationLister):
    """List the resources of all stacks of the project that others have changed."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        _add_status(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns and rows."""
        return _DRIFT_COLUMNS, _rows(self._entries(parsed_args.status), _DRIFT_COLUMNS)

    def _entries(self, statuses: Sequence[str] | None) -> Iterator[Json]:
        marker = None
        while True:
            found = self.get_json("/drift", status=statuses, limit=_PAGE_SIZE, marker=marker)
            yield from found["resources"]
            if not found.get("links"):
                return
            marker = found["resources"][-1]["resource_id"]


class ShowStackDrift(OrchestrationLister):
    """Show the resources of a stack that others have changed, and their properties."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        _add_status(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns and rows."""
        path = f"{self.find_stack(parsed_args.stack)}/drift"
        found = self.get_json(path, status=parsed_args.status)["drift"]["resources"]
        return _DRIFT_COLUMNS, _rows(iter(found), _DRIFT_COLUMNS)


class RepairStack(OrchestrationLister):
    """Restore what others have changed in a stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        parser.add_argument(
            "--resource",
            metavar="<resource>",
            action="append",
            help="Resource to repair (repeat for several); by default all that have drifted",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Only show what a repair would do"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Repair the stack, or show what a repair would do, and return the columns and rows.

        The rows are read before the repair starts.
        """
        path = f"{self.find_stack(parsed_args.stack)}/actions"
        named = {"resources": parsed_args.resource} if parsed_args.resource else {}
        preview = self.post_json(path, {"repair": {**named, "dry_run": True}})
        if not parsed_args.dry_run:
            self.post_json(path, {"repair": named})
        rows = _rows(iter(preview["repair"]["resources"]), _REPAIR_COLUMNS)
        return _REPAIR_COLUMNS, rows


def _rows(entries: Iterator[Json], columns: Sequence[str]) -> Iterator[Sequence[Json]]:
    """Yield the values of the columns for each entry."""
    for entry in entries:
        shown = {**entry, "properties": _format_properties(entry["properties"])}
        yield select_columns(shown, columns)


def _format_properties(properties: Sequence[Json]) -> str:
    """Return each property with the applied and the observed value, one in a line."""
    return "\n".join(
        f"{each['property']}: {json.dumps(each['applied'])} -> {json.dumps(each['observed'])}"
        for each in properties
    )
