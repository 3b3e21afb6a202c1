"""The end of a repair that was granted: it has an outcome, was not started, or may be tried again.

Called by the stores. Decides from the state of the stack alone, which outlasts every process, so
that the end of a repair is found whoever started it. Must read nothing but its arguments, and
change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from heat_convergence.convergence.drift.repair_budget import (
    RepairLimits,
    RepairOutcome,
    RepairStatus,
    ResourceRepair,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack

NEVER_STARTED = "the observer has ended before it started the update"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalState:
    """The state of a stack, as far as the end of a repair follows from it.

    Attributes:
        is_repair: Whether the newest traversal repairs the resource.
    """

    version: int
    action: Action
    status: Status
    reason: str = ""
    is_repair: bool = True


@dataclass(frozen=True, slots=True)
class RepairEnd:
    """A repair that has ended, and how.

    Attributes:
        repair: The row of the repair while it went on.
        reason: Why it has failed; else empty.
    """

    repair: ResourceRepair
    outcome: RepairOutcome
    reason: str = ""

    def as_row(self, now: datetime) -> ResourceRepair:
        """Return the row that records the end."""
        return replace(self.repair, ended_at=now, outcome=self.outcome, reason=self.reason)

    def is_of(self, row: ResourceRepair | None) -> bool:
        """Return whether a row is still that of the repair, whose end is not recorded."""
        return row is not None and row.is_running and row.version == self.repair.version


def is_at_rest(stack: Stack) -> bool:
    """Return whether repairs of a stack, or of those below it, may start."""
    return (
        stack.deleted_at is None
        and stack.status is Status.COMPLETE
        and stack.action not in (Action.DELETE, Action.SUSPEND)
    )


def find_end(
    repair: ResourceRepair, stack: TraversalState | None, now: datetime
) -> RepairEnd | None:
    """Return the end of a repair; None while it goes on.

    Args:
        repair: The row of a repair whose end is not recorded.
        stack: The state of its stack; None if that is deleted.
        now: The time.
    """
    version = repair.version or 0
    if stack is None:
        return RepairEnd(repair, RepairOutcome.SUPERSEDED)
    if stack.version < version:
        # The process that was granted it may be about to start it, until another try may follow.
        is_lost = repair.next_at <= now
        return RepairEnd(repair, RepairOutcome.FAILED, NEVER_STARTED) if is_lost else None
    if stack.version == version + 1 and stack.action is Action.ROLLBACK:
        return RepairEnd(repair, RepairOutcome.FAILED, "the update has failed and is rolled back")
    if stack.version > version or not stack.is_repair:
        return RepairEnd(repair, RepairOutcome.SUPERSEDED)
    if stack.status is Status.COMPLETE:
        return RepairEnd(repair, RepairOutcome.REPAIRED)
    if stack.status is Status.FAILED:
        return RepairEnd(repair, RepairOutcome.FAILED, stack.reason)
    return None


def undo_repair(row: ResourceRepair, now: datetime, limits: RepairLimits) -> ResourceRepair:
    """Return the row of a repair that was granted and could not be started.

    It counts no try, and is granted again after the first pause at the earliest.
    """
    destructive_at = tuple(time for time in row.destructive_at if time != row.started_at)
    return replace(
        row,
        tries=max(0, row.tries - 1),
        next_at=now + timedelta(seconds=limits.backoff_s),
        destructive_at=destructive_at,
        version=None,
    )


def resume_repair(row: ResourceRepair, now: datetime) -> ResourceRepair:
    """Return the row without its tries, so that the next repair may start; the budget stays."""
    resumed = replace(row, tries=0, next_at=now)
    if row.is_running:
        return resumed  # its end is still to be recorded
    return replace(resumed, status=RepairStatus.STARTED, reason="", version=None)
