"""A resource in quarantine, of a stack that is gone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from heat_convergence.db.quarantine_repository import SqlQuarantineRepository
from heat_convergence.testing.sample_rows import quarantine_entry

_NEXT_TRY_AFTER = timedelta(days=1)


def add_quarantined(connection: Any, now: datetime, resource_id: str, *, project_id: str) -> None:
    """Quarantine a resource, which no observer tries to delete for a while.

    Args:
        connection: A connection in a transaction.
        now: The time since which it is in quarantine.
        resource_id: The id of the entry.
        project_id: The project that owns it.
    """
    entry = quarantine_entry(
        resource_id,
        stack_id="gone",
        root_id="gone",
        project_id=project_id,
        stack_name="gone",
        resource_name="a",
        resource_type="OS::Heat::TestResource",
        physical_id="p-1",
        since=now,
        next_at=now + _NEXT_TRY_AFTER,
    )
    SqlQuarantineRepository(connection).add([entry])
