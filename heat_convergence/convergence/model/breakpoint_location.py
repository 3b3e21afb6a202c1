"""The place of a breakpoint that a stack waits at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakpointLocation:
    """Where a stack waits at a breakpoint: ``path`` are names of resources from the
    stack down to what is HELD at ``hook``."""

    stack_id: str
    path: tuple[str, ...]
    hook: str
