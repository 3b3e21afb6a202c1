"""Worker processes of daemons, as the list of services shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """A worker process of a daemon; its identity is new at every start.

    Attributes:
        endpoint_states: Services that the process does not call for the moment (``open``), and
            those that answer it slowly (``slow``); None if it has not said.
    """

    id: str
    binary: str
    hostname: str
    host: str
    topic: str
    report_interval_s: int
    created_at: datetime
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    version: str | None = None
    endpoint_states: Mapping[str, Any] | None = None

    def is_up(self, now: datetime) -> bool:
        """Return whether its last heartbeat is within twice the interval."""
        reported_at = self.updated_at or self.created_at
        return now - reported_at <= timedelta(seconds=2 * self.report_interval_s)
