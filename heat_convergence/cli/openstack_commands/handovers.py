"""The commands that import, move and rename resources by plan.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands.plans import PlanCommand, ShownItem, item_of
from heat_convergence.cli.openstack_commands.template_arguments import (
    TemplateArguments,
    add_template_arguments,
    read_source,
)

Json = Any
_TARGET = "target_"


class _HandoverCommand(PlanCommand, command.ShowOne):
    """A command that makes a plan, and executes it on request."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        self.add_places(parser)
        add_template_arguments(parser)
        parser.add_argument(
            "--execute", action="store_true", help="Execute the plan as well, not only store it"
        )
        return parser

    @abstractmethod
    def add_places(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments that name the resources and their places."""

    @abstractmethod
    def body(self, parsed_args: argparse.Namespace) -> dict[str, Json]:
        """Return the part of the request that names the resources and their places."""

    def take_action(self, parsed_args: argparse.Namespace) -> ShownItem:
        """Make the plan, execute it on request, and return its columns.

        Raises:
            CommandError: an argument is wrong, or the plan cannot be executed.
        """
        places = self.body(parsed_args)
        path = f"{self.find_stack(parsed_args.stack)}/plans"
        body = {**self.source(parsed_args), **places}
        plan = self.client.http_client.post(path, data=body).json()["plan"]
        if parsed_args.execute:
            plan = {**plan, **self.execute_plan(plan["id"])}
        return item_of(plan)

    def source(self, parsed_args: argparse.Namespace, prefix: str = "") -> dict[str, Json]:
        """Return the fields of the goal of a stack."""
        existing = vars(parsed_args)[f"{prefix}existing"]
        arguments = TemplateArguments.from_namespace(parsed_args, prefix, existing=existing)
        return {**read_source(self.client, arguments), "existing": existing}


class ImportStackResource(_HandoverCommand):
    """Make existing objects resources of a stack; nothing is changed in the cloud."""

    def add_places(self, parser: argparse.ArgumentParser) -> None:
        """Add the pairs of a resource and an object."""
        parser.add_argument(
            "resource",
            metavar="<resource>=<physical-id>",
            nargs="+",
            help="Name of the resource in the template, and ID of the object",
        )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Json]:
        """Return the objects to import."""
        return {"action": "import", "import": _pairs(parsed_args.resource)}


class MoveStackResource(_HandoverCommand):
    """Move resources to another stack; nothing is changed in the cloud."""

    def add_places(self, parser: argparse.ArgumentParser) -> None:
        """Add the target, the resources and the goal of the target."""
        parser.add_argument("target", metavar="<target>", help="Stack to move to (name or ID)")
        parser.add_argument(
            "resource",
            metavar="<resource>[=<new-name>]",
            nargs="+",
            help="Resource to move, and its name in the target where it differs",
        )
        add_template_arguments(parser, _TARGET)

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Json]:
        """Return the resources to move, and the target with its goal."""
        pairs = [each if "=" in each else f"{each}={each}" for each in parsed_args.resource]
        target = {"stack": parsed_args.target, **self.source(parsed_args, _TARGET)}
        return {"action": "move", "move": _pairs(pairs), "target": target}


class RenameStackResource(_HandoverCommand):
    """Give resources of a stack other names; nothing is changed in the cloud."""

    def add_places(self, parser: argparse.ArgumentParser) -> None:
        """Add the pairs of names."""
        parser.add_argument(
            "resource",
            metavar="<resource>=<new-name>",
            nargs="+",
            help="Name of the resource, and its name in the new template",
        )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Json]:
        """Return the resources to rename."""
        return {"action": "rename", "rename": _pairs(parsed_args.resource)}


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    """Return the values by name.

    Raises:
        CommandError: a text has no equals sign, or two have the same name.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise CommandError(f"'{text}' must have the form <resource>=<value>")
        if name in found:
            raise CommandError(f"resource {name} is named twice")
        found[name] = value
    return found
