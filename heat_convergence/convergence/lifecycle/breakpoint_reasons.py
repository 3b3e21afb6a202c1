"""The words that tell where a stack waits at breakpoints, its own or of stacks below.

Called by ``breakpoints`` for events and by the API for what it shows.  Decides no
state: a place is there as long as a row is HELD, and nobody has to take it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.breakpoint_location import BreakpointLocation
from heat_convergence.convergence.model.stack import Stack

_SHOWN = 5


def breakpoint_reason(action: Action, locations: Iterable[BreakpointLocation]) -> str:
    """``CREATE waits at breakpoints: n/a (pre-create)``, with the first few paths."""
    told = sorted({("/".join(place.path), place.hook) for place in locations})
    shown = ", ".join(f"{path} ({hook})" for path, hook in told[:_SHOWN])
    return f"{action} waits at breakpoints: {shown}{', ...' if len(told) > _SHOWN else ''}"


def hook_pause_reason(action: Action, hook: str) -> str:
    """What an event tells of a resource that stops at its own hook; clients match it."""
    return f"{action} paused until Hook {hook} is cleared"


def stack_status_reason(stack: Stack, locations: Sequence[BreakpointLocation]) -> str:
    """The stack's reason, or where it waits."""
    own = [place for place in locations if place.stack_id == stack.id]
    return f"Stack {breakpoint_reason(stack.action, own)}" if own else stack.status_reason


def resource_status_reason(
    stack: Stack, name: str, reason: str, locations: Sequence[BreakpointLocation]
) -> str:
    """The reason of the stack's resource ``name``, or where it waits."""
    its = [each for each in locations if each.stack_id == stack.id and each.path[0] == name]
    for place in its:
        if len(place.path) == 1:
            return hook_pause_reason(stack.action, place.hook)
    return breakpoint_reason(stack.action, its) if its else reason
