"""``heat-convergence demo``: create, update and delete an example stack.

An ordinary client: it uses the REST API through python-heatclient, of a service in another
process. Decides the steps; ``display`` decides how they are shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heatclient import exc
from heatclient.client import Client
from heatclient.common import template_utils
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from heat_convergence.cli.demo.display import DemoDisplay, ProgressRow, ProgressState
from heat_convergence.cli.demo.service_process import ServiceStartError, run_standalone_service

STACK_NAME = "demo"
POLL_S = 0.2
_PACKAGE = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run the demo, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="heat-convergence demo",
        description="Start the standalone service, create a stack from an example template, "
        "update it and delete it. Nothing is left behind.",
    )
    parser.add_argument(
        "--template", default=str(example_path("shop.yaml")), help=argparse.SUPPRESS
    )
    parsed = parser.parse_args(arguments)
    display = DemoDisplay()
    try:
        display.print_line(
            "Starting the service: SQLite, in-process transport, this machine only ..."
        )
        with run_standalone_service() as endpoint:
            display.print_line(f"Endpoint: {endpoint}")
            return Demo(endpoint, display, Path(parsed.template)).run()
    except ServiceStartError as error:
        print(f"The service did not start:\n{error}", file=sys.stderr)
    except KeyboardInterrupt:
        display.print_line("\nInterrupted. The service and the stack have been removed.")
    return 1


def example_path(name: str) -> Path:
    """Return the path of an example: in the installed package, else in the checkout."""
    installed = _PACKAGE / "examples" / name
    return installed if installed.is_file() else _PACKAGE.parent / "examples" / name


class Demo:
    """The steps of the demo against one endpoint."""

    def __init__(self, endpoint: str, display: DemoDisplay, template: Path) -> None:
        self._heat = Client("1", session=Session(auth=NoAuth(endpoint=endpoint)))
        self._display = display
        self._files, self._template = template_utils.get_template_contents(str(template))

    def run(self) -> int:
        """Run all steps, and return the exit code: 0 when every one succeeded."""
        steps: tuple[Callable[[], bool], ...] = (self._create, self._update, self._delete)
        return 0 if all(step() for step in steps) else 1

    def _create(self) -> bool:
        count = len(self._template["resources"])
        self._display.print_heading(
            f"Create: {count} resources, each as soon as its dependencies are ready"
        )
        self._heat.stacks.create(
            stack_name=STACK_NAME, template=self._template, files=self._files, parameters={}
        )
        if not self._watch("CREATE"):
            return False
        self._display.print_heading("Dependency graph")
        self._display.print_graph(self._requirements())
        self._show_outputs()
        return True

    def _update(self) -> bool:
        before, kept = self._incarnations(), self._states()
        self._display.print_heading("Update: the parameter release becomes 1.1")
        self._heat.stacks.update(STACK_NAME, existing=True, parameters={"release": "1.1"})
        if not self._watch("UPDATE", kept=kept):
            return False
        after = self._incarnations()
        replaced = sorted(n for n in after if after[n][0] != before[n][0])
        updated = sorted(n for n in after if after[n] != before[n] and n not in replaced)
        untouched = sorted(set(after) - set(updated) - set(replaced))
        self._display.print_heading("Changed resources")
        self._display.print_pairs(
            {
                f"{len(updated)} updated": ", ".join(updated),
                f"{len(replaced)} replaced": ", ".join(replaced),
                f"{len(untouched)} untouched": ", ".join(untouched),
            }
        )
        self._show_outputs()
        return True

    def _delete(self) -> bool:
        self._display.print_heading("Delete: each resource as soon as no other requires it")
        identifier = self._heat.stacks.get(STACK_NAME).id
        self._heat.stacks.delete(STACK_NAME)
        if not self._watch("DELETE", identifier=identifier):
            return False
        left = [stack.stack_name for stack in self._heat.stacks.list()]
        self._display.print_line(f"  Stacks left: {', '.join(left) or 'none'}")
        return not left

    def _watch(
        self, action: str, *, identifier: str = STACK_NAME, kept: Mapping[str, Any] | None = None
    ) -> bool:
        """Show progress until the action ends, and return whether it succeeded.

        Args:
            action: CREATE, UPDATE or DELETE.
            identifier: Name or id of the stack.
            kept: States of the resources before the action; resources that keep them are
                shown as unchanged.
        """
        names: dict[str, str] = {}
        while True:
            stack = self._stack(identifier)
            rows = self._rows(identifier, action, names, kept or {})
            status = f"{action}_COMPLETE" if stack is None else stack.stack_status
            self._display.show_progress(rows, status)
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(POLL_S)  # the API has no blocking call
        self._display.print_line(f"  Stack {STACK_NAME} is {status}.")
        if not status.endswith("_COMPLETE"):
            self._display.print_line(f"  {stack.stack_status_reason if stack else ''}")
        return status == f"{action}_COMPLETE"

    def _stack(self, identifier: str) -> Any:
        """Return the stack, or None once it is deleted."""
        try:
            return self._heat.stacks.get(identifier, resolve_outputs=False)
        except exc.HTTPNotFound:
            return None

    def _rows(
        self, identifier: str, action: str, names: dict[str, str], kept: Mapping[str, Any]
    ) -> list[ProgressRow]:
        """Return the rows of the table; ``names`` collects the resources with their types."""
        try:
            listed = self._heat.resources.list(identifier)
        except exc.HTTPNotFound:
            listed = []
        found = {resource.resource_name: resource for resource in listed}
        names |= {name: resource.resource_type for name, resource in found.items()}
        return [
            ProgressRow(name, resource_type, ProgressState.UNCHANGED, "unchanged")
            if name in kept and name in found and _state(found[name]) == kept[name]
            else _row(name, resource_type, found.get(name), action)
            for name, resource_type in sorted(names.items())
        ]

    def _states(self) -> Mapping[str, tuple[str, str]]:
        """Return the present states of the resources, for ``kept``."""
        return {each.resource_name: _state(each) for each in self._heat.resources.list(STACK_NAME)}

    def _requirements(self) -> dict[str, list[str]]:
        resources = self._heat.resources.list(STACK_NAME)
        required: dict[str, list[str]] = {each.resource_name: [] for each in resources}
        for resource in resources:
            for needed_by in resource.required_by:
                required[needed_by].append(resource.resource_name)
        return required

    def _incarnations(self) -> Mapping[str, tuple[str, str]]:
        """Return the physical id and the last event of each resource."""
        last = {event.resource_name: event.id for event in self._events()}
        return {
            resource.resource_name: (
                resource.physical_resource_id,
                last.get(resource.resource_name, ""),
            )
            for resource in self._heat.resources.list(STACK_NAME)
        }

    def _events(self) -> Sequence[Any]:
        """Return the events, oldest first, so that the newest of several counts."""
        return list(self._heat.events.list(STACK_NAME, sort_dir="asc"))

    def _show_outputs(self) -> None:
        self._display.print_heading("Outputs")
        outputs = self._heat.stacks.get(STACK_NAME).outputs
        self._display.print_pairs({item["output_key"]: item["output_value"] for item in outputs})


def _state(resource: Any) -> tuple[str, str]:
    return resource.physical_resource_id, resource.resource_status


def _row(name: str, resource_type: str, resource: Any, action: str) -> ProgressRow:
    if resource is None or resource.resource_status == "DELETE_COMPLETE":
        state, status = (
            (ProgressState.READY, "deleted")
            if action == "DELETE"
            else (ProgressState.NOT_LISTED, "")
        )
        return ProgressRow(name, resource_type, state, status)
    status = resource.resource_status
    if status.endswith("_FAILED"):
        return ProgressRow(name, resource_type, ProgressState.FAILED, status)
    if status.endswith("_IN_PROGRESS"):
        return ProgressRow(name, resource_type, ProgressState.IN_PROGRESS, status)
    done = status.endswith("_COMPLETE") and not status.startswith("INIT")
    if action == "DELETE":
        return ProgressRow(
            name, resource_type, ProgressState.WAITING, "required by others, or not started"
        )
    return ProgressRow(
        name,
        resource_type,
        ProgressState.READY if done else ProgressState.WAITING,
        status if done else "waiting",
    )
