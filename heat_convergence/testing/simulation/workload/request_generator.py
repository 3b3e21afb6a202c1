"""What becomes of a stack: the requests of its users from its create on, by chance.

Used by ``testing.generate_string``.  Everything is drawn from the given generator.
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

_WISHES = {  # what users ask for, and how often
    "update": 14, "delete": 2, "suspend": 2, "resume": 2, "check": 1, "cancel": 3, "stop": 1,
    "snapshot": 3, "restore": 1, "discard": 1, "abandon": 2, "signal": 1, "unhealthy": 2,
    "healthy": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request, at a time in seconds."""

    at_s: float
    request: UserRequest


def generate_requests(rng: random.Random, stack: str, horizon_s: float) -> list[TimedRequest]:
    """The stack's requests, until ``horizon_s`` at the latest."""
    told = _Life(rng, stack)
    hurried = rng.random() < 0.5
    told.create()
    for _ in range(rng.randint(1, 6)):
        told.pass_time(*(0.2, 8) if hurried else (5, 50))
        told.ask(rng.choices(tuple(_WISHES), weights=tuple(_WISHES.values()))[0])
    return [timed for timed in told.acts if timed.at_s <= horizon_s]


class _Life:
    def __init__(self, rng: random.Random, stack: str) -> None:
        self._rng = rng
        self._stack = stack
        self._template = template_generator.initial_template(rng)
        self._rollback = rng.random() < 0.4
        self._at_s = rng.uniform(0, 3)
        self.acts: list[TimedRequest] = []

    def create(self) -> None:
        self._say("create", template=format_template(self._template), rollback=self._rollback)
        self._signals()

    def ask(self, verb: str) -> None:
        """The request, and what goes with it."""
        if verb == "update":
            self._update()
        elif verb == "delete":
            skip = (
                (self._rng.choice(template_generator.RESOURCE_NAMES[:4]),)
                if self._rng.random() < 0.3
                else ()
            )
            self._say(verb, skip=skip)
        elif verb in RESOURCE_OPERATIONS:
            self._say(verb, resource=self._rng.choice(template_generator.RESOURCE_NAMES[:6]))
        elif verb == "snapshot":
            self._snapshot()
        elif verb == "abandon":
            self._abandon()
        else:
            self._say(verb)

    def pass_time(self, low_s: float, high_s: float) -> None:
        self._at_s += self._rng.uniform(low_s, high_s)

    def _update(self) -> None:
        self._template = template_generator.changed_template(self._rng, self._template)
        self._say("update", template=format_template(self._template), rollback=self._rollback)
        self._signals()

    def _snapshot(self) -> None:
        """Mostly of a stack at rest, and gone back to after a while."""
        self.pass_time(0, 40)
        self._say("snapshot")
        if self._rng.random() < 0.7:
            self.pass_time(2, 20)
            self._update()
            self.pass_time(0.2, 15)
            self._say("restore")

    def _abandon(self) -> None:
        if self._rng.random() < 0.5:
            self.pass_time(10, 30)
        self._say("abandon")
        if self._rng.random() < 0.8:
            self.pass_time(0.2, 20)
            self._say("adopt", rollback=self._rollback)

    def _signals(self) -> None:
        """For what waits for a signal, mostly."""
        for name, spec in sorted(self._template.items()):
            if spec.type_alias == "Bell" and self._rng.random() < 0.75:
                later_s = self._at_s + self._rng.uniform(1, 30)
                act = UserRequest("signal", self._stack, resource=name)
                self.acts.append(TimedRequest(round(later_s, 3), act))

    def _say(self, verb: str, **more: object) -> None:
        act = replace(UserRequest(verb, self._stack), **more)  # type: ignore[arg-type]
        self.acts.append(TimedRequest(round(self._at_s, 3), act))
