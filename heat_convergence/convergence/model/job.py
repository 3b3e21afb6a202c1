"""The job of a resource: desired state, verb, state and last observation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DesiredState(StrEnum):
    """The state that the current goal desires of one incarnation of a resource."""

    PRESENT = "PRESENT"
    ABSENT = "ABSENT"


class Verb(StrEnum):
    """The verb of a job.

    CONVERGE creates, updates, replaces or deletes, as the row says when the job
    starts.  The others are the action of the stack.
    """

    CONVERGE = "CONVERGE"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    CHECK = "CHECK"
    SNAPSHOT = "SNAPSHOT"
    ADOPT = "ADOPT"


class JobState(StrEnum):
    """The state of a job between its plan and the observation that it is done."""

    BLOCKED = "blocked"  # a resource that it needs is not ready
    AT_BREAKPOINT = "held"  # it waits for the user to clear a hook
    QUEUED = "queued"  # a leaf that waits for room among its stack's jobs in flight
    SCHEDULABLE = "due"  # it has that room and waits for its project's turn on the bus
    POSTED = "posted"  # it is on the bus; no worker has claimed it
    RUNNING = "begun"  # a worker has claimed it
    AWAITING_OBSERVATION = "watched"  # its outcome is recorded; the observer decides
    RETRY = "retry"  # it is posted again when its time comes
    REPLACE = "replace"  # the observer makes a new incarnation
    CANCELLED = "halted"  # its traversal ended before it was done


IN_FLIGHT = frozenset(
    {
        JobState.POSTED,
        JobState.RUNNING,
        JobState.AWAITING_OBSERVATION,
        JobState.RETRY,
        JobState.REPLACE,
    }
)
"""States of jobs that the bus, a worker or the observer will come back to."""

COUNTED_IN_FLIGHT = IN_FLIGHT | {JobState.SCHEDULABLE}
"""States that count against the limit of a stack's jobs in flight."""


class ObservedState(StrEnum):
    """The state of the physical resource at its last observation."""

    READY = "READY"
    BUSY = "BUSY"  # it exists and its action is under way
    FAILED = "FAILED"
    ABSENT = "ABSENT"
    SKIPPED = "SPARED"  # neither observed nor changed: the action is restricted


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job that may be posted to the bus."""

    stack_id: str
    version: int
    resource_id: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs under way.

    Waiting jobs may be very many, so that only their existence is known.
    """

    posted: int = 0  # of the project: on the bus
    running: int = 0  # of the project: claimed by workers
    has_schedulable: bool = False  # whether a job of the project waits for its turn
    in_flight: int = 0  # of the stack: those in a state that ``COUNTED_IN_FLIGHT``
    has_queued: bool = False  # whether a job of the stack waits for room

    @property
    def is_stack_busy(self) -> bool:
        """True while a job of the stack is under way or waits for room."""
        return self.in_flight > 0 or self.has_queued
