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

from heat_convergence.cli.demo_service import ServiceDidNotStart, standalone_service
from heat_convergence.cli.demo_view import Row, State, View

STACK = "demo"
POLL_S = 0.2
_PACKAGE = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heat-convergence demo",
        description="Start the standalone service, make the stack of an example template, "
        "change it, delete it. Nothing is left behind.",
    )
    parser.add_argument("--template", default=str(example("shop.yaml")), help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    view = View()
    try:
        view.line("Starting the service: SQLite, in-process transport, this machine alone ...")
        with standalone_service() as endpoint:
            view.line(f"It answers at {endpoint}")
            return Demo(endpoint, view, Path(parsed.template)).play()
    except ServiceDidNotStart as error:
        print(f"The service did not start:\n{error}", file=sys.stderr)
    except KeyboardInterrupt:
        view.line("\nInterrupted; the service is gone and so is the stack.")
    return 1


def example(name: str) -> Path:
    """An example's path: inside the package once installed, else in the checkout."""
    installed = _PACKAGE / "examples" / name
    return installed if installed.is_file() else _PACKAGE.parent / "examples" / name


class Demo:
    """The story, against one endpoint."""

    def __init__(self, endpoint: str, view: View, template: Path) -> None:
        self._heat = Client("1", session=Session(auth=NoAuth(endpoint=endpoint)))
        self._view = view
        self._files, self._template = template_utils.get_template_contents(str(template))

    def play(self) -> int:
        """The exit code: 0 when everything ended as it should."""
        steps: tuple[Callable[[], bool], ...] = (self._create, self._update, self._delete)
        return 0 if all(step() for step in steps) else 1

    def _create(self) -> bool:
        count = len(self._template["resources"])
        self._view.heading(f"Create: {count} resources, each as soon as what it needs is ready")
        self._heat.stacks.create(
            stack_name=STACK, template=self._template, files=self._files, parameters={}
        )
        if not self._watch("CREATE"):
            return False
        self._view.heading("The graph: what each resource needs")
        self._view.graph(self._needs())
        self._show_outputs()
        return True

    def _update(self) -> bool:
        before, kept = self._incarnations(), self._states()
        self._view.heading("Update: the parameter release becomes 1.1")
        self._heat.stacks.update(STACK, existing=True, parameters={"release": "1.1"})
        if not self._watch("UPDATE", kept=kept):
            return False
        after = self._incarnations()
        replaced = sorted(n for n in after if after[n][0] != before[n][0])
        updated = sorted(n for n in after if after[n] != before[n] and n not in replaced)
        untouched = sorted(set(after) - set(updated) - set(replaced))
        self._view.heading("What that touched")
        self._view.pairs(
            {
                f"{len(updated)} updated": ", ".join(updated),
                f"{len(replaced)} replaced": ", ".join(replaced),
                f"{len(untouched)} untouched": ", ".join(untouched),
            }
        )
        self._show_outputs()
        return True

    def _delete(self) -> bool:
        self._view.heading("Delete: each resource once nothing needs it any more")
        identifier = self._heat.stacks.get(STACK).id
        self._heat.stacks.delete(STACK)
        if not self._watch("DELETE", identifier=identifier):
            return False
        left = [stack.stack_name for stack in self._heat.stacks.list()]
        self._view.line(f"  Stacks left: {', '.join(left) or 'none'}")
        return not left

    def _watch(
        self, action: str, *, identifier: str = STACK, kept: Mapping[str, Any] | None = None
    ) -> bool:
        """Show progress until the action ends; whether it ended well.

        ``kept`` is how the resources were before: what stays so is shown as kept.
        """
        names: dict[str, str] = {}
        while True:
            stack = self._stack(identifier)
            rows = self._rows(identifier, action, names, kept or {})
            status = f"{action}_COMPLETE" if stack is None else stack.stack_status
            self._view.progress(rows, status)
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(POLL_S)  # the API has no call that waits
        self._view.line(f"  Stack {STACK} is {status}.")
        if not status.endswith("_COMPLETE"):
            self._view.line(f"  {stack.stack_status_reason if stack else ''}")
        return status == f"{action}_COMPLETE"

    def _stack(self, identifier: str) -> Any:
        """None once it is gone."""
        try:
            return self._heat.stacks.get(identifier, resolve_outputs=False)
        except exc.HTTPNotFound:
            return None

    def _rows(
        self, identifier: str, action: str, names: dict[str, str], kept: Mapping[str, Any]
    ) -> list[Row]:
        """``names`` remembers the resources that have been seen, with their types."""
        try:
            listed = self._heat.resources.list(identifier)
        except exc.HTTPNotFound:
            listed = []
        found = {resource.resource_name: resource for resource in listed}
        names |= {name: resource.resource_type for name, resource in found.items()}
        return [
            Row(name, kind, State.KEPT, "as it was")
            if name in kept and name in found and _state(found[name]) == kept[name]
            else _row(name, kind, found.get(name), action)
            for name, kind in sorted(names.items())
        ]

    def _states(self) -> Mapping[str, tuple[str, str]]:
        """How the resources are now, for ``kept``."""
        return {each.resource_name: _state(each) for each in self._heat.resources.list(STACK)}

    def _needs(self) -> dict[str, list[str]]:
        resources = self._heat.resources.list(STACK)
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
            for resource in self._heat.resources.list(STACK)
        }

    def _events(self) -> Sequence[Any]:
        """Oldest first, so that of several the newest counts."""
        return list(self._heat.events.list(STACK, sort_dir="asc"))

    def _show_outputs(self) -> None:
        self._view.heading("Outputs")
        outputs = self._heat.stacks.get(STACK).outputs
        self._view.pairs({item["output_key"]: item["output_value"] for item in outputs})


def _state(resource: Any) -> tuple[str, str]:
    return resource.physical_resource_id, resource.resource_status


def _row(name: str, kind: str, resource: Any, action: str) -> Row:
    if resource is None or resource.resource_status == "DELETE_COMPLETE":
        state, status = (State.READY, "deleted") if action == "DELETE" else (State.GONE, "")
        return Row(name, kind, state, status)
    status = resource.resource_status
    if status.endswith("_FAILED"):
        return Row(name, kind, State.FAILED, status)
    if status.endswith("_IN_PROGRESS"):
        return Row(name, kind, State.RUNS, status)
    done = status.endswith("_COMPLETE") and not status.startswith("INIT")
    if action == "DELETE":
        return Row(name, kind, State.WAITS, "still needed or not begun")
    return Row(name, kind, State.READY if done else State.WAITS, status if done else "waits")
