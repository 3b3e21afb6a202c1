"""A signal to one resource: its type takes it, an event tells of it, who waits looks.

Called by the API, and by whatever else speaks to a resource from outside a traversal,
in a transaction of its own.  Decides in which states a signal is refused; starts no
traversal.  Locks the resource and those that wait for it, not the stack: ten thousand
servers of one stack may signal at once.  Source: heat-facts ``events_and_states.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Error, NotSupported, ResourceNotAvailable
from heat_convergence.convergence.lifecycle.completion import resource_event
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.protocol.resource_context import build_context
from heat_convergence.resources.protocol.resource_type import SignalResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.group_scaling import GroupScaler

Json = Any
SIGNAL_ACTION = "SIGNAL"
NO_DETAILS_REASON = "No signal details provided"
_ALARM = ("previous", "current", "reason")


@dataclass(frozen=True, slots=True)
class SignalDelivery:
    """What to do after the commit: the observer is told of ``woken`` (resource ids of
    the stack's ``version``) and ``outgoing_messages`` are cast; ``refused`` is raised, its event
    stays."""

    version: int
    resources_to_poll: tuple[str, ...] = ()
    rejection: Error | None = None
    messages: tuple[OutgoingMessage, ...] = ()


def deliver_signal(
    tx: Transaction,
    stack: Stack,
    resource_id: str,
    details: Json,
    *,
    registry: ResourceTypeRegistry,
    context: TraversalContext,
    scaler: GroupScaler | None = None,
) -> SignalDelivery:
    """Hands ``details`` (None: nothing was told) to the resource's type; ``scaler`` is of
    the group that its signals scale.

    Raises ``ResourceNotAvailable`` before its creation has begun, and what the type
    raises: ``ResourceActionNotSupported``, or ``Invalid`` for details it can't read.
    """
    group = None if scaler is None else scaler.lock_group(tx, stack)
    users = _waiting_for(tx, stack, resource_id)
    locked = tx.resources.lock([resource_id, *users, *([] if group is None else [group])])
    (row,) = tx.resources.get([resource_id]) or (None,)
    if row is None or row.action is Action.INIT:
        raise ResourceNotAvailable(resource_id if row is None else row.name)
    kind = registry.get(row.implementation)
    view = build_context(row, stack, row.action, context.now)
    if row.action in kind.no_signal_actions:
        said = f"Cannot signal resource during {row.action}"
        tx.events.insert([_event(row, said, context)])
        refused = NotSupported(f"Signal resource during {row.action} is not supported")
        return SignalDelivery(stack.version, rejection=refused)
    taken = kind.signal(view, details)
    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    if taken.scaling_adjustment is not None and scaler is not None:
        scaled = scaler.adjust(tx, stack, taken.scaling_adjustment, context)
        if scaled is None:
            return SignalDelivery(stack.version)
        outgoing_messages = scaled
    told = _told(details) if taken.reason is None else f"Signal: {taken.reason}"
    _keep(tx, row, taken)
    tx.events.insert([_event(row, told, context)])
    woken = [user.id for user in locked if _waits(user) and user.id != group]
    tx.resources.update(woken, observe_at=context.now)
    return SignalDelivery(stack.version, tuple(woken), messages=outgoing_messages)


def _waiting_for(tx: Transaction, stack: Stack, resource_id: str) -> list[str]:
    """Those that need the resource, by the graph: what cost follows is its degree."""
    edges = tx.graph.get_edges_at(stack.id, stack.version, [resource_id])
    users = (edge.needed_by for edge in edges if edge.resource_id == resource_id)
    return [user for user in users if user is not None]


def _waits(row: Resource) -> bool:
    """Whether the observer comes back to it; a retry's time is not to be cut short."""
    looked_at = (
        row.job_state is JobState.AWAITING_OBSERVATION and row.observed is ObservedState.BUSY
    )
    return looked_at and row.observe_at is not None


def _keep(tx: Transaction, row: Resource, taken: SignalResult) -> None:
    changed: dict[str, Mapping[str, Json]] = {}
    if taken.data is not None:
        changed["data"] = taken.data
    if taken.attributes is not None:
        changed["attributes"] = taken.attributes
    if changed:
        tx.resources.update_each({row.id: {**changed, "sensitive": row.sensitive}})


def _event(row: Resource, reason: str, means: TraversalContext) -> Event:
    """Under the action SIGNAL, with the status that the resource has anyway."""
    return resource_event(row, SIGNAL_ACTION, row.status, reason, means.now, means.ids)


def _told(details: Json) -> str:
    """What an event says of a signal whose handler says nothing."""
    if details is None:
        return NO_DETAILS_REASON
    if isinstance(details, str):
        return details
    if isinstance(details, Mapping) and all(name in details for name in _ALARM):
        previous, current, reason = (details[name] for name in _ALARM)
        return f"alarm state changed from {previous} to {current} ({reason})"
    return "Unknown"


def hook_to_unset(details: Json) -> str | None:
    """The name under ``unset_hook``, which is no signal for the resource's type."""
    if not isinstance(details, Mapping) or "unset_hook" not in details:
        return None
    return str(details["unset_hook"])
