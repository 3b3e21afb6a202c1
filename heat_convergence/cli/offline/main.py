"""``heat-convergence try``: run a template in the emulated cloud, without a server."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from heatclient import exc
from heatclient.common import template_utils

from heat_convergence.cli.offline.emulated_cloud import emulation_service
from heat_convergence.cli.offline.trial import Trial, TrialStep
from heat_convergence.cli.offline.trial_check import (
    find_obstacles,
    find_waiting,
    preview_resources,
)
from heat_convergence.cli.offline.trial_cloud import (
    OBJECTS,
    RequestedFault,
    TrialCloud,
    TrialService,
    parse_faults,
)
from heat_convergence.cli.offline.trial_report import FORMATS
from heat_convergence.convergence.ports.settings import ConvergenceSettings

Json = Any
EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        Exit code: 0 if every step succeeded, 1 if one failed, 2 for wrong arguments.
    """
    parser = _parser()
    parsed = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)  # failures are shown as results
    try:
        faults = parse_faults(parsed.fail)
        body = _request(parsed, parsed.template)
        update = _request(parsed, parsed.update) if parsed.update else None
        cloud = _cloud(parsed.have)
        steps = _run(cloud, faults, body, update, parsed.lose)
    except (ValueError, OSError, exc.CommandError) as error:
        parser.error(str(error))
    print(FORMATS[parsed.format](steps))
    return EXIT_FAILED if any(step.failed for step in steps) else EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heat-convergence try",
        description="Create a stack from a template, update it and delete it in an emulated "
        "cloud, in this process: what is shown is what the service does, and no cloud is needed. "
        "The emulation has no guests: what waits for a signal of a server times out.",
        epilog="Exit code: 0 if every step succeeded, 1 if one failed, 2 for wrong arguments.",
    )
    add = parser.add_argument
    add("template", metavar="TEMPLATE")
    add("-e", "--environment", action="append", default=[], metavar="FILE", help="environment")
    add(
        "-P",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter",
    )
    add("--update", metavar="TEMPLATE", help="update the stack to this template")
    add(
        "--have",
        action="append",
        default=[],
        metavar="TYPE=NAME",
        help=f"object that the cloud has: {', '.join(sorted(OBJECTS))}",
    )
    add(
        "--fail",
        action="append",
        default=[],
        metavar="NAME=FAULT[:TIMES]",
        help="let a resource fail: error, quota, slow or never; all its tries or so many",
    )
    add(
        "--lose",
        action="append",
        default=[],
        metavar="NAME",
        help="remove a resource from the cloud, show the drift and repair it",
    )
    add("--format", choices=sorted(FORMATS), default="text", help="output format")
    return parser


def _request(parsed: argparse.Namespace, template: str) -> Json:
    """Return the body of a request as clients make it from files."""
    files, content = template_utils.get_template_contents(template)
    more, environment = template_utils.process_multiple_environments_and_files(parsed.environment)
    parameters = dict(_pair(each, "parameter", "NAME=VALUE") for each in parsed.parameter)
    environment["parameters"] = {**(environment.get("parameters") or {}), **parameters}
    texts = {
        name: text.decode() if isinstance(text, bytes) else text
        for name, text in {**files, **more}.items()
    }
    return {"template": content, "files": texts, "environment": environment}


def _cloud(objects: Sequence[str]) -> TrialCloud:
    cloud = TrialCloud()
    for each in objects:
        cloud.add_object(*_pair(each, "object", "TYPE=NAME"))
    return cloud


def _pair(text: str, subject: str, form: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise ValueError(f'the {subject} "{text}" must have the form {form}')
    return name, value


def _run(
    cloud: TrialCloud,
    faults: dict[str, RequestedFault],
    body: Json,
    update: Json | None,
    lost: Sequence[str],
) -> list[TrialStep]:
    with tempfile.TemporaryDirectory() as folder:
        service = emulation_service(cloud, Path(folder), TrialService)
        service.faults, service.emulation = faults, cloud.emulation
        service.use_settings(retry_backoff_s=ConvergenceSettings().retry_backoff_s)
        try:
            _check(service, [body] if update is None else [body, update], {*faults, *lost})
            return list(Trial(service, cloud).run(body, update, lost))
        finally:
            service.close()


def _check(service: TrialService, bodies: Sequence[Json], names: Collection[str]) -> None:
    """Say what waits for signals of servers, before anything starts.

    Raises:
        ValueError: The trial cannot be made.
    """
    resources = preview_resources(service, bodies)
    obstacles = find_obstacles(service, resources, names)
    if obstacles:
        raise ValueError("; ".join(obstacles))
    waiting = find_waiting(resources)
    if waiting:
        listed = ", ".join(waiting)
        print(f"no server sends the signals that these wait for: {listed}", file=sys.stderr)
