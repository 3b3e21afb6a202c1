"""Worker processes of daemons, as the list of services shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """A worker process of a daemon; its identity is new at every start."""

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
