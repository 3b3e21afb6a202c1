"""Stacks, with the state of their newest traversal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack and the state of its newest traversal.

    Attributes:
        stabilization_s: the longest stabilization window of the traversal's resources.
        stabilizing: all is ready, and the resources are read until they have been healthy.
        stable_since: since when all of them are healthy; None until they are.
    """

    id: str
    name: str
    project_id: str
    version: int
    action: Action
    status: Status
    status_reason: str
    goal_id: str
    created_at: datetime
    username: str | None = None
    complete_goal_id: str | None = None  # the one that a rollback returns to; None: nothing
    disable_rollback: bool = True
    timeout_mins: int | None = None
    deadline_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    owner_id: str | None = None  # the parent stack
    owner_resource_id: str | None = None  # the parent's resource whose nested stack this is
    root_id: str | None = None
    depth: int = 0
    parent_resource: str | None = None
    tags: tuple[str, ...] = ()
    started_at: datetime | None = None  # start of the newest traversal
    first_failure_reason: str | None = None  # set while other jobs still run
    quarantines: bool = False  # its deletion quarantines what it cannot delete
    stabilization_s: int | None = None
    stabilizing: bool = False
    stable_since: datetime | None = None

    @property
    def in_progress(self) -> bool:
        """True while a traversal is under way."""
        return self.status is Status.IN_PROGRESS

    @property
    def goal_reached(self) -> bool:
        """True if the current goal was reached, whatever other action came later."""
        return self.complete_goal_id == self.goal_id

    @property
    def tree_id(self) -> str:
        """Id of the root of the tree that the stack belongs to."""
        return self.root_id or self.id


@dataclass(frozen=True, slots=True)
class BreakpointLocation:
    """A location at which a stack waits at a breakpoint.

    Attributes:
        stack_id: the stack that waits.
        path: names of resources, from the stack's own to the nested one that waits.
        hook: the hook at which that resource waits.
    """

    stack_id: str
    path: tuple[str, ...]
    hook: str
