"""The stack of the demo as the API shows it: progress, dependencies, incarnations.

Reads through python-heatclient and decides which symbol a resource has; changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heatclient import exc
from heatclient.client import Client

from heat_convergence.cli.demo.display import DemoDisplay, ProgressRow, ProgressState

POLL_S = 0.2
_UNREQUESTED_TIMEOUT_S = 60
_DRIFTED = frozenset({"MODIFIED", "DELETED", "ERROR"})


class StackProgress:
    """The view of one stack.

    Args:
        heat: The client.
        display: The output.
        name: The stack.
    """

    def __init__(self, heat: Client, display: DemoDisplay, name: str) -> None:
        self._heat = heat
        self._display = display
        self._name = name

    def watch(
        self, action: str, *, identifier: str = "", kept: Mapping[str, Any] | None = None
    ) -> bool:
        """Show progress until the action ends, and return whether it succeeded.

        Args:
            action: CREATE, UPDATE or DELETE.
            identifier: Id of the stack; its name if empty.
            kept: States of the resources before the action; resources that keep them are
                shown as unchanged.
        """
        identifier, names = identifier or self._name, dict[str, str]()
        while True:
            stack = self.find_stack(identifier)
            rows = self.rows(identifier, action, names, kept or {})
            status = f"{action}_COMPLETE" if stack is None else stack.stack_status
            self._display.show_progress(rows, status)
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(POLL_S)  # the API has no blocking call
        self._display.print_line(f"  Stack {self._name} is {status}.")
        if not status.endswith("_COMPLETE"):
            self._display.print_line(f"  {stack.stack_status_reason if stack else ''}")
        return status == f"{action}_COMPLETE"

    def watch_until(
        self, is_done: Callable[[], bool], action: str, *, kept: Mapping[str, Any]
    ) -> bool:
        """Show progress of what nobody has requested, and return whether it has succeeded.

        Args:
            is_done: Function that returns whether the goal is reached, by a complete stack.
            action: The action that the service is expected to start.
            kept: As for ``watch``.
        """
        deadline = time.monotonic() + _UNREQUESTED_TIMEOUT_S
        names: dict[str, str] = {}
        while time.monotonic() < deadline:
            status = self.find_stack(self._name).stack_status
            self._display.show_progress(self.rows(self._name, action, names, kept), status)
            if status == f"{action}_COMPLETE" and is_done():
                self._display.print_note("Repaired, without a request.")
                return True
            time.sleep(POLL_S)  # the API has no blocking call
        self._display.print_line(f"  Not repaired after {_UNREQUESTED_TIMEOUT_S} s.")
        return False

    def find_stack(self, identifier: str) -> Any:
        """Return the stack, or None once it is deleted."""
        try:
            return self._heat.stacks.get(identifier, resolve_outputs=False)
        except exc.HTTPNotFound:
            return None

    def rows(
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
            _unchanged_row(found[name])
            if name in kept and name in found and _state(found[name]) == kept[name]
            else _row(name, resource_type, found.get(name), action)
            for name, resource_type in sorted(names.items())
        ]

    def states(self) -> Mapping[str, tuple[str, str]]:
        """Return the present states of the resources, for ``kept``."""
        return {each.resource_name: _state(each) for each in self._heat.resources.list(self._name)}

    def requirements(self) -> dict[str, list[str]]:
        """Return the required resources by resource."""
        resources = self._heat.resources.list(self._name)
        required: dict[str, list[str]] = {each.resource_name: [] for each in resources}
        for resource in resources:
            for needed_by in resource.required_by:
                required[needed_by].append(resource.resource_name)
        return required

    def incarnations(self) -> Mapping[str, tuple[str, str]]:
        """Return the physical id and the last event of each resource."""
        last = {event.resource_name: event.id for event in self._events()}
        return {
            resource.resource_name: (
                resource.physical_resource_id,
                last.get(resource.resource_name, ""),
            )
            for resource in self._heat.resources.list(self._name)
        }

    def _events(self) -> Sequence[Any]:
        """Return the events, oldest first, so that the newest of several counts."""
        return list(self._heat.events.list(self._name, sort_dir="asc"))


def _state(resource: Any) -> tuple[str, str]:
    return resource.physical_resource_id, resource.resource_status


def _unchanged_row(resource: Any) -> ProgressRow:
    """Return the row of a resource that the action leaves alone, or that others have changed."""
    drift = getattr(resource, "drift_status", "")
    state, status = (
        (ProgressState.FAILED, f"{drift} by others")
        if drift in _DRIFTED
        else (ProgressState.UNCHANGED, "unchanged")
    )
    return ProgressRow(resource.resource_name, resource.resource_type, state, status)


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
