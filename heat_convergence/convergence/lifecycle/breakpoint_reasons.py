"""The status reasons of resources that wait at breakpoints, or whose nested stacks do.

Called by ``breakpoints`` for events and by the API for what it shows.  Must not decide
any state: a stack waits as long as a row is AT_BREAKPOINT.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.stack import BreakpointLocation, Stack

_SHOWN = 5


def breakpoint_reason(action: Action, locations: Iterable[BreakpointLocation]) -> str:
    """Return ``CREATE waits at breakpoints: n/a (pre-create)``, with the first few paths."""
    paths = sorted({("/".join(location.path), location.hook) for location in locations})
    shown = ", ".join(f"{path} ({hook})" for path, hook in paths[:_SHOWN])
    return f"{action} waits at breakpoints: {shown}{', ...' if len(paths) > _SHOWN else ''}"


def hook_pause_reason(action: Action, hook: str) -> str:
    """Return the reason of a resource that stops at its own hook; clients match it."""
    return f"{action} paused until Hook {hook} is cleared"


def resource_status_reason(
    stack: Stack, name: str, reason: str, locations: Sequence[BreakpointLocation]
) -> str:
    """Return the status reason of the stack's resource ``name``, or where it waits."""
    own = [
        location
        for location in locations
        if location.stack_id == stack.id and location.path[0] == name
    ]
    for location in own:
        if len(location.path) == 1:
            return hook_pause_reason(stack.action, location.hook)
    return breakpoint_reason(stack.action, own) if own else reason
