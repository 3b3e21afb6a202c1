"""The simulated bus: every message may be lost, doubled, late or out of order.

Used by the simulator's processes; delivers to the world.  A message is handed to
any living process of its kind, or waits for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heat_convergence.testing.simulation.event_queue import EventQueue
from heat_convergence.testing.simulation.fault_injector import FaultInjector


@dataclass(frozen=True, slots=True)
class SimulatedMessage:
    """``verb`` is ``converge``, for engines, or ``observe``, for observers; ``number``
    says in which order they were sent."""

    method: str
    stack_id: str
    version: int
    resource_ids: tuple[str, ...]
    sequence_number: int

    @property
    def topic(self) -> str:
        return "engine" if self.method == "converge" else "observer"


class SimulatedBus:
    """``convergence.ports.Bus`` as one process sees it."""

    def __init__(
        self,
        sender: str,
        agenda: EventQueue,
        faults: FaultInjector,
        deliver: Callable[[SimulatedMessage], None],
    ) -> None:
        self._sender = sender
        self._agenda = agenda
        self._faults = faults
        self._deliver = deliver

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self._send("converge", stack_id, version, resource_ids)

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self._send("observe", stack_id, version, resource_ids)

    def _send(self, verb: str, stack_id: str, version: int, ids: Sequence[str]) -> None:
        message = SimulatedMessage(
            verb, stack_id, version, tuple(ids), self._agenda.next_sequence_number()
        )
        fault = self._faults.next_fault(self._sender, "send", verb)
        if fault == "lose":
            return
        for copy in range(2 if fault == "double" else 1):
            delay_s = self._faults.random_between(f"{self._sender}/travel", 0.01, 0.5)
            if fault == "late" or copy:
                delay_s += self._faults.random_between(f"{self._sender}/late", 8.0, 40.0)
            self._agenda.schedule_after(delay_s, lambda: self._deliver(message))
