"""Looks at the stacks behind resources: what their owners do with what is seen.

Called by ``advance`` under the owner's lock.  Rows of types without a nested stack
are passed over by ``Means.read_nested_status``, which knows the types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.parent_notification import (
    is_observed_busy,
    propagate_to_ancestors,
)
from heat_convergence.convergence.lifecycle.retries import Observation
from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


def observe_nested_stacks(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Mapping[str, Observation],
    context: TraversalContext,
) -> Mapping[str, Observation]:
    """What the stacks behind ``rows`` have come to; rows without are left out."""
    waiting = [row for row in rows if is_observed_busy(row) and row.id not in observations]
    if context.read_nested_status is None or not waiting:
        return {}
    return context.read_nested_status(tx, waiting)


def refresh_attributes(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    """Rows at rest behind which a stack has changed: their attributes anew.  Whom to tell
    in the stack above."""
    told = [row for row in rows if row.observe_at is not None]
    if not told:
        return ()
    seen = {} if context.read_nested_status is None else context.read_nested_status(tx, told)
    for column in ("attributes", "data"):
        found = [(row, getattr(seen.get(row.id), column, None)) for row in told]
        tx.resources.update_each(
            {
                row.id: {column: new, "sensitive": row.sensitive}
                for row, new in found
                if new is not None
            }
        )
    tx.resources.update([row.id for row in told], observe_at=None)
    fallen = any(row.properties_hash is None for row in told)
    return propagate_to_ancestors(tx, stack, context.now, mark_changed=fallen)
