"""Random requests about one stack, from its creation on.

Used by the scenario generator.  Everything is drawn from the random generator passed in.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from heat_convergence.testing.simulation.workload import template_generator
from heat_convergence.testing.simulation.workload.template_notation import format_template
from heat_convergence.testing.simulation.workload.user_requests import (
    RESOURCE_OPERATIONS,
    UserRequest,
)

_WEIGHTS = {  # operation → relative frequency
    "update": 14, "delete": 2, "suspend": 2, "resume": 2, "check": 1, "cancel": 3,
    "cancel_without_rollback": 1, "snapshot": 3, "restore": 1, "delete_snapshot": 1, "abandon": 2,
    "signal": 1, "mark_unhealthy": 2, "mark_healthy": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request, at a time in seconds."""

    at_s: float
    request: UserRequest


def generate_requests(rng: random.Random, stack: str, horizon_s: float) -> list[TimedRequest]:
    """Draw the requests about a stack, up to ``horizon_s`` seconds."""
    history = _StackHistory(rng, stack)
    fast = rng.random() < 0.5
    history.create()
    for _ in range(rng.randint(1, 6)):
        history.pass_time(*(0.2, 8) if fast else (5, 50))
        history.add(rng.choices(tuple(_WEIGHTS), weights=tuple(_WEIGHTS.values()))[0])
    return [timed for timed in history.requests if timed.at_s <= horizon_s]


class _StackHistory:
    """The requests drawn so far, and the template and time they lead to."""

    def __init__(self, rng: random.Random, stack: str) -> None:
        self._rng = rng
        self._stack = stack
        self._template = template_generator.initial_template(rng)
        self._rollback = rng.random() < 0.4
        self._at_s = rng.uniform(0, 3)
        self.requests: list[TimedRequest] = []

    def create(self) -> None:
        """Add the creation of the stack."""
        self._append("create", template=format_template(self._template), rollback=self._rollback)
        self._signals()

    def add(self, operation: str) -> None:
        """Add a request, and the requests that belong to it."""
        if operation == "update":
            self._update()
        elif operation == "delete":
            exclude = (
                (self._rng.choice(template_generator.RESOURCE_NAMES[:4]),)
                if self._rng.random() < 0.3
                else ()
            )
            self._append(operation, exclude=exclude)
        elif operation in RESOURCE_OPERATIONS:
            self._append(
                operation, resource=self._rng.choice(template_generator.RESOURCE_NAMES[:6])
            )
        elif operation == "snapshot":
            self._snapshot()
        elif operation == "abandon":
            self._abandon()
        else:
            self._append(operation)

    def pass_time(self, low_s: float, high_s: float) -> None:
        """Advance the time of the next request."""
        self._at_s += self._rng.uniform(low_s, high_s)

    def _update(self) -> None:
        self._template = template_generator.changed_template(self._rng, self._template)
        self._append("update", template=format_template(self._template), rollback=self._rollback)
        self._signals()

    def _snapshot(self) -> None:
        """Mostly wait before the snapshot, and restore it after a while."""
        self.pass_time(0, 40)
        self._append("snapshot")
        if self._rng.random() < 0.7:
            self.pass_time(2, 20)
            self._update()
            self.pass_time(0.2, 15)
            self._append("restore")

    def _abandon(self) -> None:
        if self._rng.random() < 0.5:
            self.pass_time(10, 30)
        self._append("abandon")
        if self._rng.random() < 0.8:
            self.pass_time(0.2, 20)
            self._append("adopt", rollback=self._rollback)

    def _signals(self) -> None:
        """Signal most of the resources that wait for a signal."""
        for name, spec in sorted(self._template.items()):
            if spec.type_alias == "Signalled" and self._rng.random() < 0.75:
                later_s = self._at_s + self._rng.uniform(1, 30)
                request = UserRequest("signal", self._stack, resource=name)
                self.requests.append(TimedRequest(round(later_s, 3), request))

    def _append(self, operation: str, **values: object) -> None:
        request = replace(UserRequest(operation, self._stack), **values)  # type: ignore[arg-type]
        self.requests.append(TimedRequest(round(self._at_s, 3), request))
