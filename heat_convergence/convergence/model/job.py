"""What a traversal asks of a resource, and how far its job has come."""

from __future__ import annotations

from enum import StrEnum


class DesiredState(StrEnum):
    """What the current goal wants of one incarnation of a resource."""

    PRESENT = "PRESENT"
    ABSENT = "ABSENT"


class Verb(StrEnum):
    """What a traversal asks of a resource.

    CONVERGE makes reality as desired: create, update, replace or delete, found
    out from the row when the job starts.  The others are the stack action's own.
    """

    CONVERGE = "CONVERGE"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    CHECK = "CHECK"
    SNAPSHOT = "SNAPSHOT"
    ADOPT = "ADOPT"


class JobState(StrEnum):
    """Where a job stands between the plan and being observed ready."""

    BLOCKED = "blocked"  # something it needs is not ready
    AT_BREAKPOINT = "held"  # nothing stands before it but a breakpoint
    QUEUED = "queued"  # a leaf, waiting for room among its stack's jobs in flight
    SCHEDULABLE = "due"  # has that room; waits for its project's turn on the bus
    POSTED = "posted"  # on the bus; no worker has it yet
    RUNNING = "begun"  # in a worker's hands
    AWAITING_OBSERVATION = "watched"  # recorded by a worker; the observer says what becomes of it
    RETRY = "retry"  # failed for now; posted again when its time comes
    REPLACE = "replace"  # only a new incarnation will do; the observer makes it
    CANCELLED = "halted"  # its stack stopped before it was done


IN_FLIGHT = frozenset(
    {
        JobState.POSTED,
        JobState.RUNNING,
        JobState.AWAITING_OBSERVATION,
        JobState.RETRY,
        JobState.REPLACE,
    }
)


COUNTED_IN_FLIGHT = IN_FLIGHT | {
    JobState.SCHEDULABLE
}  # what counts against a stack's jobs in flight


class ObservedState(StrEnum):
    """What reality looked like at the last look."""

    READY = "READY"
    BUSY = "BUSY"  # exists, on its way
    FAILED = "FAILED"
    ABSENT = "ABSENT"
    SKIPPED = "SPARED"  # not looked at, nor touched: the user restricts what was to be done
