"""The location of a breakpoint at which a stack waits."""

from __future__ import annotations

from dataclasses import dataclass


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
