"""The commands about repairs that the service starts by itself: their policy, window and ends.

Loaded by OpenStackClient through entry points, as those about drift.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from heatclient.exc import HTTPNotFound
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands.orchestration import (
    OrchestrationCommand,
    OrchestrationLister,
    StackCommand,
    select_columns,
)

Json = Any
Table = tuple[Sequence[str], Iterator[Sequence[Json]]]
POLICIES = ("ignore", "report", "repair", "observe-only")
_BREAKERS = "/drift/breakers"
_REPAIR_COLUMNS = (
    "Stack Name",
    "Resource Name",
    "Repair Status",
    "Repair Outcome",
    "Tries",
    "Started At",
    "Ended At",
    "Next At",
    "Repair Reason",
)
_BREAKER_COLUMNS = ("ID", "Resource Type", "Region", "Lost", "Total", "Since", "Confirmed")
_POLICY_KEYS = ("stack_id", "policy", "paused", "repair_window")


class _PolicyCommand(StackCommand, command.ShowOne):
    """A command that prints what users have set for the drift of a stack."""

    def policy_path(self, stack: str) -> str:
        """Return the path of the drift policy of a stack."""
        return f"{self.find_stack(stack)}/drift/policy"

    def format_policy(self, document: Json) -> tuple[Sequence[str], Sequence[Json]]:
        """Return the names and the values to print."""
        found = document["drift_policy"]
        return _POLICY_KEYS, [found[key] for key in _POLICY_KEYS]


class ShowDriftPolicy(_PolicyCommand):
    """Show the drift policy of a stack, its repair window and whether its repairs are paused."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Json]]:
        """Return the names and the values to print."""
        return self.format_policy(self.get_json(self.policy_path(parsed_args.stack)))


class SetDriftPolicy(_PolicyCommand):
    """Set the drift policy of a stack and its repair window, or pause and resume its repairs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        _add_policy(parser)
        _add_window(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Json]]:
        """Set what the options name, and return the names and the values to print.

        Raises:
            CommandError: The options set nothing, or a part of a window without its times.
        """
        body = _control_of(parsed_args)
        if not body:
            raise CommandError("Nothing to set: name at least one option")
        return self.format_policy(self.put_json(self.policy_path(parsed_args.stack), body))


def _add_policy(parser: argparse.ArgumentParser) -> None:
    policy = parser.add_mutually_exclusive_group()
    policy.add_argument(
        "--policy",
        metavar="<policy>",
        choices=POLICIES,
        help=f"Drift policy of the stack: {', '.join(POLICIES)}",
    )
    policy.add_argument("--no-policy", action="store_true", help="Remove the policy of the stack")
    paused = parser.add_mutually_exclusive_group()
    paused.add_argument(
        "--pause", action="store_true", help="Start no repair until repairs are resumed"
    )
    paused.add_argument("--resume", action="store_true", help="Let paused repairs go on")


def _add_window(parser: argparse.ArgumentParser) -> None:
    window = parser.add_mutually_exclusive_group()
    window.add_argument(
        "--repair-window",
        metavar="<cron>",
        help="Times at which repairs may start, as a cron expression of five fields",
    )
    window.add_argument(
        "--no-repair-window", action="store_true", help="Remove the repair window of the stack"
    )
    parser.add_argument(
        "--window-duration",
        metavar="<seconds>",
        type=int,
        help="Seconds that the repair window stays open (3600)",
    )
    parser.add_argument(
        "--window-timezone", metavar="<timezone>", help="Time zone of the repair window (UTC)"
    )


def _control_of(parsed_args: argparse.Namespace) -> dict[str, Json]:
    """Return the body of the request."""
    body: dict[str, Json] = {}
    if parsed_args.policy or parsed_args.no_policy:
        body["policy"] = parsed_args.policy
    if parsed_args.pause or parsed_args.resume:
        body["paused"] = parsed_args.pause
    details = {
        "duration": parsed_args.window_duration,
        "timezone": parsed_args.window_timezone,
    }
    details = {name: value for name, value in details.items() if value is not None}
    if details and not parsed_args.repair_window:
        raise CommandError("--window-duration and --window-timezone need --repair-window")
    if parsed_args.repair_window:
        body["repair_window"] = {"cron": parsed_args.repair_window, **details}
    elif parsed_args.no_repair_window:
        body["repair_window"] = None
    return body


class ListDriftRepairs(StackCommand, command.Lister):
    """List the repairs that the service has started in a stack, and how they have ended."""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns and rows."""
        path = f"{self.find_stack(parsed_args.stack)}/drift/repairs"
        found = self.get_json(path)["repairs"]
        return _REPAIR_COLUMNS, (select_columns(each, _REPAIR_COLUMNS) for each in found)


class ResumeDriftRepairs(StackCommand):
    """Forget the tries of a stack's repairs, so that suspended ones go on."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Send the request."""
        path = f"{self.find_stack(parsed_args.stack)}/drift/repairs"
        self.client.http_client.delete(path)


class ListDriftBreakers(OrchestrationLister):
    """List the suspected mass losses of the project."""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns and rows."""
        found = self.get_json(_BREAKERS)["breakers"]
        return _BREAKER_COLUMNS, (select_columns(each, _BREAKER_COLUMNS) for each in found)


class ConfirmDriftBreakers(OrchestrationCommand):
    """Confirm that resources are lost, so that their drift policies apply to them."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("id", metavar="<id>", nargs="+", help="ID of the mass loss")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Send the request.

        Raises:
            CommandError: One of them is not suspected.
        """
        try:
            self.put_json(_BREAKERS, {"confirmed": parsed_args.id})
        except HTTPNotFound as error:
            raise CommandError(f"Mass loss not found: {', '.join(parsed_args.id)}") from error
