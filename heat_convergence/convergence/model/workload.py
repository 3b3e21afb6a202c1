"""References to jobs, and how many of them are under way."""

from __future__ import annotations

from dataclasses import dataclass


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
