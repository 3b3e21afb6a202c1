"""The commands about stored plans that this package adds to the ``openstack`` command line.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from cliff.columns import FormattableColumn
from heatclient.common import event_utils
from heatclient.exc import HTTPConflict, HTTPNotFound
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands.orchestration import OrchestrationCommand
from heat_convergence.cli.openstack_commands.template_arguments import (
    TemplateArguments,
    add_template_arguments,
    read_source,
)

Json = Any
ShownItem = tuple[Sequence[str], Sequence[Json]]
ACTIONS = ("update", "create", "delete", "repair")
_SIGNS = {"unchanged": " ", "add": "+", "update": "~", "replace": "-/+", "delete": "-"}
_SIGNS |= {"import": "<", "move": ">", "rename": "="}
_LIST_COLUMNS = (
    "ID",
    "Stack Name",
    "Action",
    "Plan Status",
    "Creation Time",
    "Expires At",
    "Destructive Count",
)
_SUMMARY = (
    "has_changes",
    "resource_counts",
    "destructive_count",
    "failing_count",
    "drifted_count",
    "quota_status",
    "estimated_duration_s",
)
_REPEATED = {
    ("--skip",): "Resource that a deletion leaves alone (repeat for several)",
    ("--resource",): "Resource to repair (repeat for several); by default all that have drifted",
}
_HEADER = ("id", "stack_name", "stack_id", "action", "plan_status", "expires_at", "executed_at")


class ChangesColumn(FormattableColumn[Json]):
    """The resources of a plan: text for people, JSON for programs."""

    def human_readable(self) -> str:
        """Return the resources that change, their reasons and properties, a line each."""
        return "\n".join(line for each in self._value for line in format_change(each))

    def machine_readable(self) -> Json:
        """Return the resources as the service shows them."""
        return self._value


class CountsColumn(FormattableColumn[Json]):
    """The numbers of resources by change."""

    def human_readable(self) -> str:
        """Return the numbers that are not 0."""
        return ", ".join(f"{count} {name}" for name, count in self._value.items() if count)

    def machine_readable(self) -> Json:
        """Return the numbers by change."""
        return self._value


class QuotasColumn(FormattableColumn[Json]):
    """The quotas that a plan concerns."""

    def human_readable(self) -> str:
        """Return each quota in a line."""
        return "\n".join(map(_format_quota, self._value))

    def machine_readable(self) -> Json:
        """Return the quotas as the service shows them."""
        return self._value


class PlanCommand(OrchestrationCommand):
    """Requests about plans; a part of every command."""

    def get_plan(self, plan_id: str, query: str = "") -> Json:
        """Return a plan.

        Raises:
            CommandError: There is no such plan.
        """
        return self._request("get", f"/plans/{quote(plan_id)}{query}", plan_id).json()["plan"]

    def execute_plan(self, plan_id: str) -> Json:
        """Execute a plan and return it without its resources.

        Raises:
            CommandError: There is no such plan, or it cannot be executed.
        """
        path = f"/plans/{quote(plan_id)}/execute"
        return self._request("post", path, plan_id).json()["plan"]

    def delete_plan(self, plan_id: str) -> None:
        """Delete a plan.

        Raises:
            CommandError: There is no such plan.
        """
        self._request("delete", f"/plans/{quote(plan_id)}", plan_id)

    def _request(self, method: str, path: str, plan_id: str) -> Any:
        try:
            return getattr(self.client.http_client, method)(path)
        except HTTPNotFound as error:
            raise CommandError(f"Plan not found: {plan_id}") from error
        except HTTPConflict as error:
            raise CommandError("\n".join(_conflict_lines(error))) from error


class CreateStackPlan(PlanCommand, command.ShowOne):
    """Store a plan of what an action on a stack would do, and show it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID); a new name")
        parser.add_argument(
            "--action",
            metavar="<action>",
            choices=ACTIONS,
            default="update",
            help=f"Action to plan: {', '.join(ACTIONS)}; update by default",
        )
        add_template_arguments(parser)
        for names, text in _REPEATED.items():
            metavar = f"<{names[-1].lstrip('-')}>"
            parser.add_argument(*names, action="append", metavar=metavar, help=text)
        parser.add_argument(
            "--converge", action="store_true", help="Observe the resources and restore drift"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> ShownItem:
        """Make the plan and return its columns."""
        path = "/plans"
        if parsed_args.action != "create":
            path = f"{self.find_stack(parsed_args.stack)}/plans"
        answer = self.client.http_client.post(path, data=self._body(parsed_args))
        return item_of(answer.json()["plan"])

    def _body(self, arguments: argparse.Namespace) -> dict[str, Json]:
        if arguments.action == "delete":
            return {"action": "delete", **_named("skip", arguments.skip)}
        if arguments.action == "repair":
            return {"action": "repair", **_named("resources", arguments.resource)}
        body = read_source(
            self.client, TemplateArguments.from_namespace(arguments, existing=arguments.existing)
        )
        if arguments.action == "create":
            return {**body, "stack_name": arguments.stack}
        action = "patch" if arguments.existing else "update"
        return {**body, "action": action, "converge": arguments.converge}


class ShowStackPlan(PlanCommand, command.ShowOne):
    """Show a stored plan: what changes, why, and whether the quotas suffice."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="<plan>", help="ID of the plan")
        parser.add_argument(
            "--summary", action="store_true", help="Only show counts and verdicts, for gates"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> ShownItem:
        """Return the columns of the plan."""
        query = "?detail=summary" if parsed_args.summary else ""
        return item_of(self.get_plan(parsed_args.plan, query))


class ExecuteStackPlan(PlanCommand, command.ShowOne):
    """Do what a stored plan says, or nothing if the stack has changed since."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="<plan>", help="ID of the plan")
        parser.add_argument(
            "--wait", action="store_true", help="Print events until the action has ended"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> ShownItem:
        """Execute the plan and return its columns.

        Raises:
            CommandError: The plan cannot be executed, or the awaited action has failed.
        """
        marker = None
        if parsed_args.wait:
            marker = self._last_event(self.get_plan(parsed_args.plan, "?detail=summary"))
        plan = self.execute_plan(parsed_args.plan)
        if parsed_args.wait:
            self._wait(plan, marker)
        return item_of(plan)

    def _last_event(self, plan: Json) -> str | None:
        """Return the id of the stack's last event; None if there is none."""
        if plan["action"] == "create":
            return None
        events = event_utils.get_events(
            self.client, stack_id=plan["stack_id"], event_args={"sort_dir": "desc"}, limit=1
        )
        return str(events[0].id) if events else None

    def _wait(self, plan: Json, marker: str | None) -> None:
        action = {"create": "CREATE", "delete": "DELETE"}.get(plan["action"], "UPDATE")
        status, message = event_utils.poll_for_events(
            self.client, plan["stack_id"], action=action, marker=marker
        )
        if status == f"{action}_FAILED":
            raise CommandError(message)


class DeleteStackPlan(PlanCommand):
    """Delete stored plans; nothing else changes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="<plan>", nargs="+", help="ID of the plan")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete the plans."""
        for plan_id in parsed_args.plan:
            self.delete_plan(plan_id)


class ListStackPlans(PlanCommand, command.Lister):
    """List the stored plans of a stack or of the project."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", nargs="?", help="Stack (name or ID)")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterator[Json]]:
        """Return the columns and rows."""
        prefix = self.find_stack(parsed_args.stack) if parsed_args.stack else ""
        plans = self.client.http_client.get(f"{prefix}/plans").json()["plans"]
        return _LIST_COLUMNS, map(_list_row, plans)


def format_change(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield the lines about a resource; none for one that does not change."""
    if entry["change"] == "unchanged" and not entry["reason"]:
        return
    reason = f": {entry['reason']}" if entry["reason"] else ""
    yield f"{_SIGNS[entry['change']]} {entry['path']} ({entry['resource_type']}){reason}"
    if entry["change"] != "add":
        yield from map(_format_property, entry["properties"])


def _format_property(entry: Mapping[str, Json]) -> str:
    applied = json.dumps(entry["applied"])
    desired = json.dumps(entry["desired"]) if entry["known"] else "(known later)"
    observed = entry.get("observed", entry["applied"])
    shown = f", observed {json.dumps(observed)}" if observed != entry["applied"] else ""
    forces = ", forces replacement" if entry["forces_replacement"] else ""
    return f"    {entry['property']}: {applied} -> {desired}{shown}{forces}"


def _format_quota(entry: Mapping[str, Json]) -> str:
    known = entry["limit"] is not None
    limit = "no limit" if entry["limit"] == -1 else entry["limit"]
    use = f"{entry['used']} of {limit} used" if known else entry["reason"]
    return f"{entry['quota']}: {entry['status']} (needs {entry['needed']}; {use})"


def item_of(plan: Mapping[str, Json]) -> ShownItem:
    """Return the names and values of a plan's columns."""
    summary = plan["summary"]
    found = {name: plan[name] for name in _HEADER} | {name: summary[name] for name in _SUMMARY}
    found["resource_counts"] = CountsColumn(summary["resource_counts"])
    if "resources" in plan:
        found["quotas"] = QuotasColumn(plan["quotas"])
        found["changes"] = ChangesColumn(plan["resources"])
    return tuple(found), tuple(found.values())


def _list_row(plan: Mapping[str, Json]) -> Sequence[Json]:
    shown = {**plan, **plan["summary"]}
    return [shown[column.lower().replace(" ", "_")] for column in _LIST_COLUMNS]


def _conflict_lines(error: Any) -> Iterator[str]:
    """Yield the message of a conflict and what has changed since the plan was made."""
    found = (getattr(error, "error", None) or {}).get("error", {})
    yield found.get("message") or str(error)
    for each in found.get("differences", ()):
        place = "/".join(filter(None, (each["stack_name"], each["resource_name"])))
        yield f"  {place}: {each['reason']}"


def _named(key: str, values: Iterable[str] | None) -> dict[str, Json]:
    return {key: list(values)} if values else {}
