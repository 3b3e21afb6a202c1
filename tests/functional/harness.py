"""The service in one process, as functional tests use it."""

from __future__ import annotations

from heat_convergence.cli.offline.local_service import HOLD_HEADER, LocalService, ManualClock

__all__ = ["HOLD_HEADER", "LocalService", "ManualClock"]
