"""The result of a step on a stack.

Returned by ``progress``, ``sweeps``, ``rollback`` and ``stack_actions`` to those who run them in
a transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, own_job_ids
from heat_convergence.convergence.lifecycle.stabilization.window import WindowResult
from heat_convergence.convergence.model.stack import Stack


@dataclass(frozen=True, slots=True)
class ProgressResult:
    """The result of a step: messages to send after the commit, and what follows.

    Attributes:
        stack: the stack, None if there is none any more.
        next_poll_at: when the first of the rows that were passed over is due again.
        rollback_reason: why a rollback has to start in the same transaction.
        waits_for_bus: whether none of its leaves was posted because the bus had no room, and no
            other job of the stack is under way.
    """

    stack: Stack | None
    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    next_poll_at: datetime | None = None
    rollback_reason: str | None = None
    waits_for_bus: bool = False

    @property
    def own_job_ids(self) -> tuple[str, ...]:
        """The stack's own jobs among those of the messages."""
        return () if self.stack is None else own_job_ids(self.outgoing_messages, self.stack)

    def with_messages_first(self, messages: tuple[OutgoingMessage, ...]) -> ProgressResult:
        """Return the result with messages that are sent before its own."""
        return replace(self, outgoing_messages=(*messages, *self.outgoing_messages))

    def with_end(self, end: WindowResult) -> ProgressResult:
        """Return the result with the messages of a traversal's end, or its window's start."""
        times = [at for at in (self.next_poll_at, end.next_read_at) if at is not None]
        return replace(
            self,
            outgoing_messages=(*self.outgoing_messages, *end.outgoing_messages),
            next_poll_at=min(times, default=None),
        )
