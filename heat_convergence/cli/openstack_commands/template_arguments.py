"""The arguments that name a template and its environment, and the fields of a request from them.

Used by the commands that make plans.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heatclient.common import http, template_utils
from heatclient.common import utils as heat_utils
from osc_lib.exceptions import CommandError

Json = Any
_REPEATED = {
    "environment": "Path to an environment (repeat for several)",
    "parameter": "Value of a parameter as key=value (repeat for several)",
}


@dataclass(frozen=True, slots=True)
class TemplateArguments:
    """The template of a goal, with environments and parameters.

    Attributes:
        existing: what is not named stays as it is.
    """

    template: str | None
    environments: Sequence[str]
    parameters: Sequence[str]
    existing: bool = False

    @classmethod
    def from_namespace(
        cls, arguments: argparse.Namespace, prefix: str = "", *, existing: bool = False
    ) -> TemplateArguments:
        """Return the values of the arguments that ``add_template_arguments`` has added."""
        found = vars(arguments)
        return cls(
            found[f"{prefix}template"],
            found[f"{prefix}environment"] or (),
            found[f"{prefix}parameter"] or (),
            existing,
        )


def add_template_arguments(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Add the arguments, with a prefix for those of a second stack, such as ``target_``."""
    option = f"--{prefix.replace('_', '-')}"
    short = [] if prefix else ["-t"]
    parser.add_argument(
        *short, f"{option}template", metavar="<template>", help="Path or URL of the template"
    )
    for name, text in _REPEATED.items():
        names = ["-e"] if name == "environment" and not prefix else []
        parser.add_argument(
            *names, f"{option}{name}", action="append", metavar=f"<{name}>", help=text
        )
    parser.add_argument(
        f"{option}existing",
        action="store_true",
        help="Keep the template and values of the stack that are not named",
    )


def read_source(client: Any, arguments: TemplateArguments) -> dict[str, Json]:
    """Return the fields of a request for the goal.

    Args:
        client: the client of python-heatclient.
        arguments: the values of the arguments.

    Raises:
        CommandError: there is no template, and the existing one is not to be kept.
    """
    if arguments.template is None and not arguments.existing:
        raise CommandError("--template is required without --existing")
    files, template = template_utils.process_template_path(
        arguments.template,
        object_request=http.authenticated_fetcher(client),
        existing=arguments.existing,
    )
    names: list[str] = []
    environment_files, environment = template_utils.process_multiple_environments_and_files(
        env_paths=list(arguments.environments), env_list_tracker=names
    )
    fields: Mapping[str, Json] = {
        "template": template,
        "files": {**files, **environment_files},
        "environment": environment,
        "parameters": heat_utils.format_parameters(list(arguments.parameters)),
    }
    return {**fields, **({"environment_files": names} if names else {})}
