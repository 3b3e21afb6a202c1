"""What snapshots of servers and volumes left in their services, found by its name.

Used by types that save: an answer that was lost leaves a copy behind whose id nobody
knows.  A copy's name is that of one snapshot of one resource (``View.copy_name``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.plugin import View

Json = Any


def copy_of(view: View, calls: Calls) -> dict[str, Json] | None:
    """The body of what an earlier try of this snapshot has made."""
    found = calls.named(view.copy_name) if view.copy_name else []
    return found[0] if found else None


def delete_copies(view: View, calls: Calls, key: str) -> None:
    """Deletes the copy whose id the data have under ``key``; where they have none, all
    that the snapshot can have made."""
    known = view.data.get(key)
    for copy_id in [known] if known else _unseen(view, calls):
        calls.delete(copy_id)


def _unseen(view: View, calls: Calls) -> Sequence[str]:
    found = calls.named(view.copy_name) if view.copy_name else []
    return [str(body[calls.thing.id_key]) for body in found]
