"""A simulated bus on which messages may be lost, duplicated, delayed or reordered.

Used by the simulated processes.  The router hands each message to any running process of its
topic, or keeps it until one runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.testing.simulation.event_queue import EventQueue
from heat_convergence.testing.simulation.fault_injector import FaultInjector


@dataclass(frozen=True, slots=True)
class SimulatedMessage:
    """A message of ``convergence.ports.bus.Bus``.

    ``method`` is ``converge`` (for engines) or ``observe`` (for observers);
    ``sequence_number`` increases in the order of sending.
    """

    method: str
    hints: tuple[ResourceHint, ...]
    sequence_number: int

    @property
    def version(self) -> int:
        """The version of the first hint, for the log."""
        return self.hints[0].version

    @property
    def topic(self) -> str:
        """The topic of the processes that handle it: ``engine`` or ``observer``."""
        return "engine" if self.method == "converge" else "observer"


class SimulatedBus:
    """``convergence.ports.bus.Bus`` for one simulated process."""

    def __init__(
        self,
        sender: str,
        event_queue: EventQueue,
        faults: FaultInjector,
        deliver: Callable[[SimulatedMessage], None],
    ) -> None:
        self._sender = sender
        self._event_queue = event_queue
        self._faults = faults
        self._deliver = deliver

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Send jobs to an engine."""
        self._send("converge", hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Ask an observer to poll resources."""
        self._send("observe", hints)

    def _send(self, method: str, hints: Sequence[ResourceHint]) -> None:
        message = SimulatedMessage(method, tuple(hints), self._event_queue.next_sequence_number())
        fault = self._faults.next_fault(self._sender, "send", method)
        if fault == "lose":
            return
        for copy in range(2 if fault == "duplicate" else 1):
            delay_s = self._faults.random_between(f"{self._sender}/travel", 0.01, 0.5)
            if fault == "late" or copy:
                delay_s += self._faults.random_between(f"{self._sender}/late", 8.0, 40.0)
            self._event_queue.schedule_after(delay_s, lambda: self._deliver(message))


class MessageReceiver(Protocol):
    """A process, as the router knows it."""

    name: str
    topic: str
    alive: bool

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that handles the message."""


class MessageRouter:
    """The delivery of messages to the running processes of their topics."""

    def __init__(
        self,
        event_queue: EventQueue,
        faults: FaultInjector,
        occurrences: Counter[str],
        log_event: Callable[[str], None],
    ) -> None:
        self.receivers: list[MessageReceiver] = []
        self._event_queue = event_queue
        self._faults = faults
        self._occurrences = occurrences
        self._log_event = log_event
        self._newest: dict[str, int] = {}  # topic → sequence number of the last delivered message

    def deliver(self, message: SimulatedMessage) -> None:
        """Hand a message to a running process of its topic, as soon as there is one."""
        newest = self._newest.get(message.topic, 0)
        if message.sequence_number < newest:
            self._occurrences["message overtaken"] += 1
        self._newest[message.topic] = max(message.sequence_number, newest)
        alive = [p for p in self.receivers if p.topic == message.topic and p.alive]
        if not alive:
            self._event_queue.schedule_after(0.5, lambda: self.deliver(message))
            return
        drawn = self._faults.random_between("world/taker", 0, len(alive) - 0.001)
        chosen = alive[int(drawn + 0.5) % len(alive)]
        self._log_event(f"{chosen.name} receives {message.method} v{message.version}")
        chosen.handle_message(message)
