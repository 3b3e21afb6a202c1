"""Looks at the stacks behind resources: what their owners do with what is seen.

Called by ``advance`` under the owner's lock.  Rows of types without a nested stack
are passed over by ``Means.insight``, which knows the types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heat_convergence.convergence.dispatch import Posting
from heat_convergence.convergence.failing import Sighting
from heat_convergence.convergence.model import Resource, Stack
from heat_convergence.convergence.owners import tell_on, waits
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Means


def look_inside(
    tx: Transaction,
    rows: Sequence[Resource],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> Mapping[str, Sighting]:
    """What the stacks behind ``rows`` have come to; rows without are left out."""
    waiting = [row for row in rows if waits(row) and row.id not in sightings]
    if means.insight is None or not waiting:
        return {}
    return means.insight(tx, waiting)


def refresh(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], means: Means
) -> tuple[Posting, ...]:
    """Rows at rest behind which a stack has changed: their attributes anew.  Whom to tell
    in the stack above."""
    told = [row for row in rows if row.observe_at is not None]
    if not told:
        return ()
    seen = {} if means.insight is None else means.insight(tx, told)
    for column in ("attributes", "data"):
        found = [(row, getattr(seen.get(row.id), column, None)) for row in told]
        tx.save_resources(
            {
                row.id: {column: new, "sensitive": row.sensitive}
                for row, new in found
                if new is not None
            }
        )
    tx.update_resources([row.id for row in told], observe_at=None)
    fallen = any(row.properties_hash is None for row in told)
    return tell_on(tx, stack, means.now, fallen=fallen)
