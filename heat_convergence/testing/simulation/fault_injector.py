"""Which faults strike, where and when.

A *point* is a place where something can go wrong: ``engine-1.2/commit/17`` is the
seventeenth commit of the second life of engine 1.  Chance is a function of seed
and point alone, so that leaving one fault out changes no other, which is what
makes shrinking work.  Decides nothing about what a fault does.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

COMMIT_FAULTS = {"crash-before", "crash-after", "deadlock", "unavailable"}
CALL_FAULTS = {
    "crash-before",
    "crash-after",
    "throttled",
    "conflict",
    "over-quota",
    "temporary",
    "permanent",
    "timeout-after",
    "lost-reply",
}
SEND_FAULTS = {"lose", "double", "late"}
CLAIM_FAULTS = {"skip"}
TASK_FAULTS = {"stall"}
OBSERVE_FAULTS = {"temporary", "throttled"}
PROVISION_FAULTS = {"slow", "error", "never"}
FAULTS_BY_POINT_TYPE: Mapping[str, frozenset[str]] = {
    "commit": frozenset(COMMIT_FAULTS),
    "call": frozenset(CALL_FAULTS),
    "send": frozenset(SEND_FAULTS),
    "claim": frozenset(CLAIM_FAULTS),
    "task": frozenset(TASK_FAULTS),
    "look": frozenset(OBSERVE_FAULTS),
    "birth": frozenset(PROVISION_FAULTS),
}

FaultProbabilities = Mapping[str, Mapping[str, float]]  # point's kind → fault → probability


def seeded_fraction(seed: int, key: str) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@dataclass(slots=True)
class PlannedFault:
    """A fault that is waited for: the ``left``-th point that fits gets it."""

    process_prefix: str  # "engine", "engine-1" …
    point_type: str
    fault: str
    context: str = ""  # words of what the point concerns: a resource's name, a verb
    matches_left: int = 1
    repeat_count: int = 1
    triggered: bool = False


@dataclass(slots=True)
class FaultInjector:
    """Faults by chance, by name of the point, or by order of a scenario."""

    seed: int = 0
    probabilities: FaultProbabilities = field(default_factory=dict)
    faults_by_point: Mapping[str, str] = field(default_factory=dict)
    planned_faults: list[PlannedFault] = field(default_factory=list)
    injected: dict[str, str] = field(default_factory=dict)
    enabled: bool = True
    _passed: Counter[str] = field(default_factory=Counter)

    def next_fault(self, process: str, kind: str, about: str = "") -> str | None:
        """The fault of this point, if any; each call is a new point."""
        place = f"{process}/{kind}"
        self._passed[place] += 1
        point = f"{place}/{self._passed[place]}"
        fault = self._ordered(process, kind, about)
        if fault is None and self.enabled:
            fault = self.faults_by_point.get(point) or self._by_chance(point, kind)
        if fault is not None:
            self.injected[point] = fault
        return fault

    def passed_points(self, kind: str) -> list[str]:
        """The points of the kind that were passed."""
        return [
            f"{place}/{number}"
            for place, count in sorted(self._passed.items())
            if place.endswith(f"/{kind}")
            for number in range(1, count + 1)
        ]

    def random_between(self, what: str, low: float, high: float) -> float:
        """A number between the two, by chance; the lower without a seed."""
        if not self.seed:
            return low
        self._passed[what] += 1
        share = seeded_fraction(self.seed, f"{what}/{self._passed[what]}")
        return low + (high - low) * share**2

    def _by_chance(self, point: str, kind: str) -> str | None:
        odds = self.probabilities.get(kind)
        if not odds:
            return None
        share = seeded_fraction(self.seed, point)
        for fault, probability in odds.items():
            share -= probability
            if share < 0:
                return fault
        return None

    def _ordered(self, process: str, kind: str, about: str) -> str | None:
        for order in self.planned_faults:
            fits = process.startswith(order.process_prefix) and order.point_type == kind
            if not fits or not {*order.context.split()} <= {*about.split()}:
                continue
            order.matches_left -= 1
            if order.matches_left > 0:
                continue
            order.triggered = True
            order.repeat_count -= 1
            if order.repeat_count <= 0:
                self.planned_faults.remove(order)
            return order.fault
        return None
