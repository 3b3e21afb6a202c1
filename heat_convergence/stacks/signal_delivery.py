"""Delivery of a signal to one resource: its type, an event, and the resources that wait.

Called by the API in a transaction of its own.  Decides in which states a signal is
refused; starts no traversal but the scaling of a group.  Locks the resource and those
that wait for it, not the stack: ten thousand servers of one stack may signal at once.
Source: docs/reference/events-and-states.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Error, NotSupported, ResourceNotAvailable
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.job_transitions import request_observation
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.protocol.resource_context import build_context
from heat_convergence.resources.protocol.verb_values import SignalResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.group_scaling import GroupScaler

Json = Any
SIGNAL_ACTION = "SIGNAL"
NO_DETAILS_REASON = "No signal details provided"
_ALARM_KEYS = ("previous", "current", "reason")


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal to a resource; ``details`` None where it came without any."""

    resource_id: str
    details: Json = None


@dataclass(frozen=True, slots=True)
class SignalDelivery:
    """The work that remains after the commit.

    Attributes:
        version: the stack's.
        resources_to_poll: ids that the observer is to be notified of.
        rejection: an error to raise; the event of the signal stays.
        messages: to be sent.
    """

    version: int
    resources_to_poll: tuple[str, ...] = ()
    rejection: Error | None = None
    messages: tuple[OutgoingMessage, ...] = ()


def deliver_signal(
    tx: Transaction,
    stack: Stack,
    signal: Signal,
    *,
    registry: ResourceTypeRegistry,
    context: TraversalContext,
    scaler: GroupScaler | None = None,
) -> SignalDelivery:
    """Hand a signal to the resource's type and record what comes of it.

    Args:
        tx: the transaction.
        stack: the resource's.
        signal: the signal.
        registry: the resource types.
        context: time and ids, as for a traversal.
        scaler: scales the group that the resource's signals are about.

    Raises:
        ResourceNotAvailable: the resource's creation has not started.
        ResourceActionNotSupported: its type takes no signals.
        Invalid: its type cannot read the details.
    """
    group = None if scaler is None else scaler.lock_group(tx, stack)
    dependents = _dependents(tx, stack.id, signal.resource_id)
    locked = tx.resources.lock(
        [signal.resource_id, *dependents, *([] if group is None else [group])]
    )
    (row,) = tx.resources.get([signal.resource_id]) or (None,)
    if row is not None and row.job.version > stack.version:
        # An update of it has started since the stack was read; none does while the row is locked.
        newer = _dependents(tx, stack.id, row.id)
        locked = [*locked, *tx.resources.lock([each for each in newer if each not in dependents])]
    if row is None or row.state.action is Action.INIT:
        raise ResourceNotAvailable(signal.resource_id if row is None else row.name)
    resource_type = registry.get(row.desired.implementation)
    if row.state.action in resource_type.no_signal_actions:
        return _rejected(tx, stack, row, context)
    view = build_context(row, stack, row.state.action, context.now)
    result = resource_type.signal(view, signal.details)
    messages: tuple[OutgoingMessage, ...] = ()
    if result.scaling_adjustment is not None and scaler is not None:
        scaling_messages = scaler.adjust(tx, stack, result.scaling_adjustment, context)
        if scaling_messages is None:
            return SignalDelivery(stack.version)
        messages = scaling_messages
    default_reason = _event_reason(signal.details)
    reason = default_reason if result.reason is None else f"Signal: {result.reason}"
    _save(tx, row, result)
    tx.events.insert([_event(row, reason, context)])
    waiting = [each.id for each in locked if _awaits_poll(each) and each.id != group]
    tx.jobs.apply(waiting, request_observation(context.now))
    return SignalDelivery(stack.version, tuple(waiting), messages=messages)


def _rejected(
    tx: Transaction, stack: Stack, row: Resource, context: TraversalContext
) -> SignalDelivery:
    reason = f"Cannot signal resource during {row.state.action}"
    event = context.resource_event(row, row.state.action, row.state.status, reason)
    tx.events.insert([event])
    rejection = NotSupported(f"Signal resource during {row.state.action} is not supported.")
    return SignalDelivery(stack.version, rejection=rejection)


def _dependents(tx: Transaction, stack_id: str, resource_id: str) -> list[str]:
    """Return the ids that need the resource, by the graph: cost follows its degree."""
    edges = tx.graph.get_edges_at(stack_id, [resource_id])
    dependents = (edge.needed_by for edge in edges if edge.resource_id == resource_id)
    return [each for each in dependents if each is not None]


def _awaits_poll(row: Resource) -> bool:
    """Return whether the observer polls the resource; a retry's time must not be cut short."""
    polled = (
        row.job.state is JobState.AWAITING_OBSERVATION
        and row.observation.state is ObservedState.BUSY
    )
    return polled and row.observation.observe_at is not None


def _save(tx: Transaction, row: Resource, result: SignalResult) -> None:
    changed: dict[str, Mapping[str, Json]] = {}
    if result.data is not None:
        changed["data"] = result.data
    if changed:
        tx.resources.update_each({row.id: {**changed, "sensitive": row.desired.sensitive}})


def _event(row: Resource, reason: str, context: TraversalContext) -> Event:
    """Return an event under the action SIGNAL, with the status that the resource has."""
    return context.resource_event(row, SIGNAL_ACTION, row.state.status, reason)


def _event_reason(details: Json) -> str:
    """Return an event's reason for a signal whose type gives none."""
    if details is None:
        return NO_DETAILS_REASON
    if isinstance(details, str):
        return details
    if isinstance(details, Mapping) and all(name in details for name in _ALARM_KEYS):
        previous, current, reason = (details[name] for name in _ALARM_KEYS)
        return f"alarm state changed from {previous} to {current} ({reason})"
    return "Unknown"


def hook_to_unset(details: Json) -> str | None:
    """Return the hook under ``unset_hook``, which is no signal for the resource's type."""
    if not isinstance(details, Mapping) or "unset_hook" not in details:
        return None
    return str(details["unset_hook"])
