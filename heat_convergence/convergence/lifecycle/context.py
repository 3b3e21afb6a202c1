"""The context of a step: time, ids and settings, and the events made with them.

Made by api, engine and observer for each transaction; passed to every function of
``lifecycle``.  Must not hold anything that outlives the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.common.ids import IdFactory
from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.lifecycle.observations import Observations
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline import marks

STACK_TYPE = "OS::Heat::Stack"
RESOURCE_CHANGES = {
    Status.IN_PROGRESS: "resource action started",
    Status.COMPLETE: "resource action completed",
    Status.FAILED: "resource action failed",
}
_STACK_CHANGES = {
    Status.IN_PROGRESS: "stack action started",
    Status.COMPLETE: "stack action completed",
    Status.FAILED: "stack action failed",
}

NestedStatusReader = Callable[[Transaction, Sequence[Resource]], Observations]
"""Rows → observations of those that have nested stacks."""

Reporter = Callable[["Report"], None]
"""Receives what operators may want to know; a daemon logs it after the commit."""


@dataclass(frozen=True, slots=True)
class Report:
    """A change that operators may want to know of.

    Attributes:
        subject: the stack or the resource.
        change: what has happened, in constant words: "resource retried".
        action: the action that the subject shows.
        reason: the reason, without secrets.
        is_routine: it happens to every resource; logged at DEBUG.
    """

    subject: Stack | Resource
    change: str
    action: Action | str
    reason: str
    is_routine: bool = False


def ignore_report(report: Report) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class TraversalContext:
    """The time, the ids and the settings of one transaction.

    Attributes:
        read_nested_status: the observer's reader; others have none.
        report: receives the changes that operators may want to know of.
    """

    now: datetime
    ids: IdFactory
    settings: ConvergenceSettings
    read_nested_status: NestedStatusReader | None = None
    report: Reporter = ignore_report

    def resource_event(
        self,
        row: Resource,
        action: Action | str,
        status: Status,
        reason: str,
        properties: Mapping[str, Json] | None = None,
    ) -> Event:
        """Return the event of a resource's new state.

        Args:
            row: the resource.
            action: the action that the event shows.
            status: the status that it shows.
            reason: the status reason.
            properties: set when the action starts; they hold for later events, too.
        """
        change = RESOURCE_CHANGES[status]
        routine = status is not Status.FAILED
        ended = status is not Status.IN_PROGRESS
        timeline = marks.for_event(row.id, row.job.timeline) if ended else None
        self.report(Report(row, change, action, reason, is_routine=routine))
        return Event(
            id=self.ids(),
            stack_id=row.stack_id,
            resource_name=row.name,
            resource_type=row.identity.type,
            physical_id=_shown_physical_id(row, action, status),
            action=action,
            status=status,
            reason=reason,
            created_at=self.now,
            properties=properties,
            sensitive=_has_sensitive_properties(row),
            version=row.job.version,
            timeline=timeline,
        )

    def stack_event(self, stack: Stack, status: Status, reason: str) -> Event:
        """Return the event of a stack's new state, under the stack's own name."""
        self.report(Report(stack, _stack_change(stack, status, reason), stack.action, reason))
        return Event(
            id=self.ids(),
            stack_id=stack.id,
            resource_name=stack.name,
            resource_type=STACK_TYPE,
            physical_id=stack.id,
            action=stack.action,
            status=status,
            reason=reason,
            created_at=self.now,
            version=stack.version,
        )


def _shown_physical_id(row: Resource, action: Action | str, status: Status) -> str | None:
    """Return the physical id in an event; the name of the resource while it has none.

    A resource that starts to be adopted has the id of its physical resource already, which it
    shows as soon as that has been found.
    """
    name = row.identity.physical_name or None
    starts_adoption = action is Action.ADOPT and status is Status.IN_PROGRESS
    return name if starts_adoption else row.physical.id or name


def _has_sensitive_properties(row: Resource) -> bool:
    """Return whether properties may have secrets; all may where the definition is not loaded.

    A row may be sensitive for its attributes or its nested stack alone.
    """
    definition = row.desired.definition
    if not is_readable(definition):
        return True  # its failure has an event, too
    return bool(definition.get("sensitive")) if definition else row.desired.sensitive


def _stack_change(stack: Stack, status: Status, reason: str) -> str:
    if status is Status.FAILED and reason == f"Stack {stack.action} cancelled":
        return "stack action cancelled"
    if status is Status.COMPLETE and stack.action is Action.ROLLBACK:
        return "stack rolled back"
    return _STACK_CHANGES[status]
