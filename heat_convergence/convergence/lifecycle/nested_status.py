"""The status of nested stacks, as their parents' resources show it.

Called by ``progress`` under the parent's lock.  ``TraversalContext.read_nested_status``
knows the types and passes over rows without a nested stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested.parent_notification import (
    is_observed_busy,
    propagate_to_ancestors,
)
from heat_convergence.convergence.lifecycle.observations import Observations
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def observe_nested_stacks(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> Observations:
    """Observe the nested stacks that rows wait for; other rows are left out."""
    waiting = [row for row in rows if is_observed_busy(row) and row.id not in observations]
    if context.read_nested_status is None or not waiting:
        return {}
    return context.read_nested_status(tx, waiting)


def refresh_attributes(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Read the attributes of rows at rest again whose nested stacks have changed.

    Returns:
        Messages about the next ancestor, which may show them, too.
    """
    due = [row for row in rows if row.observation.observe_at is not None]
    if not due:
        return ()
    read = context.read_nested_status
    save_values(tx, due, {} if read is None else read(tx, due))
    tx.jobs.apply([row.id for row in due], job_transitions.end_observation())
    changed = any(row.physical.properties_hash is None for row in due)
    return propagate_to_ancestors(tx, stack, context.now, mark_changed=changed)


def save_values(tx: Transaction, rows: Sequence[Resource], observations: Observations) -> None:
    """Save the attributes and the data that observations have read."""
    for column in ("attributes", "data"):
        values = ((row, getattr(observations.get(row.id), column, None)) for row in rows)
        tx.resources.update_each(
            {
                row.id: {column: new, "sensitive": row.desired.sensitive}
                for row, new in values
                if new is not None
            }
        )
