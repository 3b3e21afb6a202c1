"""``heat-convergence demo``: a stack is made, changed and deleted before your eyes.

A client like any other: it speaks REST through python-heatclient to a service in
another process.  Decides the story; ``demo_view`` decides how it looks.
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
    parser = argparse.ArgumentParser(
        prog="heat-convergence demo",
        description="Start the standalone service, make the stack of an example template, "
        "change it, delete it. Nothing is left behind.",
    )
    parser.add_argument(
        "--template", default=str(example_path("shop.yaml")), help=argparse.SUPPRESS
    )
    parsed = parser.parse_args(arguments)
    view = DemoDisplay()
    try:
        view.print_line(
            "Starting the service: SQLite, in-process transport, this machine alone ..."
        )
        with run_standalone_service() as endpoint:
            view.print_line(f"It answers at {endpoint}")
            return Demo(endpoint, view, Path(parsed.template)).run()
    except ServiceStartError as error:
        print(f"The service did not start:\n{error}", file=sys.stderr)
    except KeyboardInterrupt:
        view.print_line("\nInterrupted; the service is gone and so is the stack.")
    return 1


def example_path(name: str) -> Path:
    """An example's path: inside the package once installed, else in the checkout."""
    installed = _PACKAGE / "examples" / name
    return installed if installed.is_file() else _PACKAGE.parent / "examples" / name


class Demo:
    """The story, against one endpoint."""

    def __init__(self, endpoint: str, view: DemoDisplay, template: Path) -> None:
        self._heat = Client("1", session=Session(auth=NoAuth(endpoint=endpoint)))
        self._view = view
        self._files, self._template = template_utils.get_template_contents(str(template))

    def run(self) -> int:
        """The exit code: 0 when everything ended as it should."""
        steps: tuple[Callable[[], bool], ...] = (self._create, self._update, self._delete)
        return 0 if all(step() for step in steps) else 1

    def _create(self) -> bool:
        count = len(self._template["resources"])
        self._view.print_heading(
            f"Create: {count} resources, each as soon as what it needs is ready"
        )
        self._heat.stacks.create(
            stack_name=STACK_NAME, template=self._template, files=self._files, parameters={}
        )
        if not self._watch("CREATE"):
            return False
        self._view.print_heading("The graph: what each resource needs")
        self._view.print_graph(self._needs())
        self._show_outputs()
        return True

    def _update(self) -> bool:
        before, kept = self._incarnations(), self._states()
        self._view.print_heading("Update: the parameter release becomes 1.1")
        self._heat.stacks.update(STACK_NAME, existing=True, parameters={"release": "1.1"})
        if not self._watch("UPDATE", kept=kept):
            return False
        after = self._incarnations()
        replaced = sorted(n for n in after if after[n][0] != before[n][0])
        updated = sorted(n for n in after if after[n] != before[n] and n not in replaced)
        untouched = sorted(set(after) - set(updated) - set(replaced))
        self._view.print_heading("What that touched")
        self._view.print_pairs(
            {
                f"{len(updated)} updated": ", ".join(updated),
                f"{len(replaced)} replaced": ", ".join(replaced),
                f"{len(untouched)} untouched": ", ".join(untouched),
            }
        )
        self._show_outputs()
        return True

    def _delete(self) -> bool:
        self._view.print_heading("Delete: each resource once nothing needs it any more")
        identifier = self._heat.stacks.get(STACK_NAME).id
        self._heat.stacks.delete(STACK_NAME)
        if not self._watch("DELETE", identifier=identifier):
            return False
        left = [stack.stack_name for stack in self._heat.stacks.list()]
        self._view.print_line(f"  Stacks left: {', '.join(left) or 'none'}")
        return not left

    def _watch(
        self, action: str, *, identifier: str = STACK_NAME, kept: Mapping[str, Any] | None = None
    ) -> bool:
        """Show progress until the action ends; whether it ended well.

        ``kept`` is how the resources were before: what stays so is shown as kept.
        """
        names: dict[str, str] = {}
        while True:
            stack = self._stack(identifier)
            rows = self._rows(identifier, action, names, kept or {})
            status = f"{action}_COMPLETE" if stack is None else stack.stack_status
            self._view.show_progress(rows, status)
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(POLL_S)  # the API has no call that waits
        self._view.print_line(f"  Stack {STACK_NAME} is {status}.")
        if not status.endswith("_COMPLETE"):
            self._view.print_line(f"  {stack.stack_status_reason if stack else ''}")
        return status == f"{action}_COMPLETE"

    def _stack(self, identifier: str) -> Any:
        """None once it is gone."""
        try:
            return self._heat.stacks.get(identifier, resolve_outputs=False)
        except exc.HTTPNotFound:
            return None

    def _rows(
        self, identifier: str, action: str, names: dict[str, str], kept: Mapping[str, Any]
    ) -> list[ProgressRow]:
        """``names`` remembers the resources that have been seen, with their types."""
        try:
            listed = self._heat.resources.list(identifier)
        except exc.HTTPNotFound:
            listed = []
        found = {resource.resource_name: resource for resource in listed}
        names |= {name: resource.resource_type for name, resource in found.items()}
        return [
            ProgressRow(name, kind, ProgressState.UNCHANGED, "as it was")
            if name in kept and name in found and _state(found[name]) == kept[name]
            else _row(name, kind, found.get(name), action)
            for name, kind in sorted(names.items())
        ]

    def _states(self) -> Mapping[str, tuple[str, str]]:
        """How the resources are now, for ``kept``."""
        return {each.resource_name: _state(each) for each in self._heat.resources.list(STACK_NAME)}

    def _needs(self) -> dict[str, list[str]]:
        resources = self._heat.resources.list(STACK_NAME)
        needs: dict[str, list[str]] = {each.resource_name: [] for each in resources}
        for resource in resources:
            for needed_by in resource.required_by:
                needs[needed_by].append(resource.resource_name)
        return needs

    def _incarnations(self) -> Mapping[str, tuple[str, str]]:
        """Resource → its physical id and when it was last touched by an event."""
        last = {event.resource_name: event.id for event in self._events()}
        return {
            resource.resource_name: (
                resource.physical_resource_id,
                last.get(resource.resource_name, ""),
            )
            for resource in self._heat.resources.list(STACK_NAME)
        }

    def _events(self) -> Sequence[Any]:
        """Oldest first, so that of several the newest counts."""
        return list(self._heat.events.list(STACK_NAME, sort_dir="asc"))

    def _show_outputs(self) -> None:
        self._view.print_heading("Outputs")
        outputs = self._heat.stacks.get(STACK_NAME).outputs
        self._view.print_pairs({item["output_key"]: item["output_value"] for item in outputs})


def _state(resource: Any) -> tuple[str, str]:
    return resource.physical_resource_id, resource.resource_status


def _row(name: str, kind: str, resource: Any, action: str) -> ProgressRow:
    if resource is None or resource.resource_status == "DELETE_COMPLETE":
        state, status = (
            (ProgressState.READY, "deleted")
            if action == "DELETE"
            else (ProgressState.NOT_LISTED, "")
        )
        return ProgressRow(name, kind, state, status)
    status = resource.resource_status
    if status.endswith("_FAILED"):
        return ProgressRow(name, kind, ProgressState.FAILED, status)
    if status.endswith("_IN_PROGRESS"):
        return ProgressRow(name, kind, ProgressState.IN_PROGRESS, status)
    done = status.endswith("_COMPLETE") and not status.startswith("INIT")
    if action == "DELETE":
        return ProgressRow(name, kind, ProgressState.WAITING, "still needed or not begun")
    return ProgressRow(
        name,
        kind,
        ProgressState.READY if done else ProgressState.WAITING,
        status if done else "waits",
    )
