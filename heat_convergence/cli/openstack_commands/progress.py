"""The command that explains what a stack waits for.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from heat_convergence.cli.openstack_commands.orchestration import OrchestrationLister

Json = Any
_COLUMNS = ("Resource", "Resource Type", "Job State", "Reason")


class ExplainStack(OrchestrationLister):
    """Explain what the resources of a stack wait for, or why the stack has failed."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        parser.add_argument(
            "--limit",
            metavar="<limit>",
            type=int,
            help="Number of resources that are explained (100 by default, at most 1000)",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterator[Sequence[Json]]]:
        """Return the first failure, if there is one, and what each resource waits for."""
        path = f"{self.find_stack(parsed_args.stack)}/progress"
        return _COLUMNS, _rows(self.get_json(path, limit=parsed_args.limit)["progress"])


def _rows(progress: Json) -> Iterator[Sequence[Json]]:
    failure = progress["first_failure"]
    if failure is not None:
        yield failure["path"], "", "FAILED", f"{failure['reason']}\n{failure['remedy']}"
    if progress.get("stabilization") is not None:
        yield progress["stack_name"], "", "STABILIZING", progress["stack_status_reason"]
    for each in progress["resources"]:
        waiting = each["waiting"]
        reason = waiting["message"] + _worker_text(waiting.get("worker"))
        yield each["path"], each["resource_type"], waiting["state"], reason


def _worker_text(worker: Json | None) -> str:
    """Return the worker that has the resource, which administrators of the cloud are shown."""
    if worker is None:
        return ""
    return f" (worker {worker['id']} on {worker['host'] or 'a host that it has left'})"
