"""Messages that wait for a busy process, which handles those together that have arrived by then.

Used by the simulated engines and observers.  A message of the bus may name any stacks of a
project, so that what has arrived is as good as one message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.testing.simulation.messaging.bus import SimulatedMessage
from heat_convergence.testing.simulation.process import SimulatedProcess


class ArrivedHints:
    """The hints that wait for one incarnation of a process, with which they are lost.

    Args:
        process: The process.
        wait_s: The longest time that messages wait; 0 for none.
        handle: Starts a task that handles hints.
    """

    def __init__(
        self,
        process: SimulatedProcess,
        wait_s: float,
        handle: Callable[[Sequence[ResourceHint]], None],
    ) -> None:
        self._process = process
        self._incarnation = process.incarnation
        self._wait_s = wait_s
        self._handle = handle
        self._hints: list[ResourceHint] = []

    def keep(self, message: SimulatedMessage) -> bool:
        """Keep what a message says until the process has time; return False if it is not to wait.

        One about a stack itself does not wait.
        """
        if not self._wait_s or not all(hint.resource_ids for hint in message.hints):
            return False
        if not self._hints:
            self._schedule()
        self._hints += message.hints
        return True

    def _schedule(self) -> None:
        simulation = self._process.simulation
        point = f"{self._process.name}/messages"
        delay_s = simulation.faults.random_between(point, 0.0, self._wait_s)
        simulation.event_queue.schedule_after(delay_s, self._handle_all)

    def _handle_all(self) -> None:
        if self._process.alive and self._process.incarnation == self._incarnation:
            hints, self._hints = self._hints, []
            self._handle(hints)


def as_messages(hints: Sequence[ResourceHint]) -> list[tuple[ResourceHint, ...]]:
    """Return hints as messages, none of which names a stack twice."""
    messages: list[dict[str, ResourceHint]] = []
    for hint in hints:
        for message in messages:
            if hint.stack_id not in message:
                message[hint.stack_id] = hint
                break
        else:
            messages.append({hint.stack_id: hint})
    return [tuple(message.values()) for message in messages]
