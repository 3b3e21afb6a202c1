"""The choice of faults: which fault occurs, where and when.

A *point* is a place where a fault can occur: ``engine-1.2/commit/17`` is the
seventeenth commit of the second incarnation of ``engine-1``.  A random choice is a
function of the seed and the point alone, so leaving out one fault changes no other
choice; the shrinker relies on that.  What a fault does is decided in ``fault_points``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

COMMIT_FAULTS = {"crash-before", "crash-after", "deadlock", "unavailable"}
READ_FAULTS = {"crash-after", "slow", "unavailable"}
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
SEND_FAULTS = {"lose", "duplicate", "late"}
CLAIM_FAULTS = {"skip"}
TASK_FAULTS = {"stall"}
OBSERVE_FAULTS = {"temporary", "throttled"}
ANSWER_FAULTS = {"late"}
PROVISION_FAULTS = {"slow", "error", "never"}
FAULTS_BY_POINT_TYPE: Mapping[str, frozenset[str]] = {
    "commit": frozenset(COMMIT_FAULTS),
    "read": frozenset(READ_FAULTS),
    "call": frozenset(CALL_FAULTS),
    "send": frozenset(SEND_FAULTS),
    "claim": frozenset(CLAIM_FAULTS),
    "task": frozenset(TASK_FAULTS),
    "observe": frozenset(OBSERVE_FAULTS),
    "answer": frozenset(ANSWER_FAULTS),
    "provision": frozenset(PROVISION_FAULTS),
}

FaultProbabilities = Mapping[str, Mapping[str, float]]  # point type → fault → probability


def seeded_fraction(seed: int, key: str) -> float:
    """Return a number in [0, 1) that depends on the arguments alone."""
    digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@dataclass(slots=True)
class PlannedFault:
    """A fault that a scenario requests at the next matching points.

    Attributes:
        process_prefix: the start of the process's name, such as ``engine``.
        context: words that the point must have: a resource's name, an action.
        matches_left: the fault occurs at the n-th matching point, counted down.
        repeat_count: how many matching points in a row get the fault.
    """

    process_prefix: str
    point_type: str
    fault: str
    context: str = ""
    matches_left: int = 1
    repeat_count: int = 1
    triggered: bool = False


@dataclass(slots=True)
class FaultInjector:
    """Faults drawn at random, fixed by their points, or planned by a scenario.

    ``enabled`` False stops random and fixed faults; planned ones still occur.
    """

    seed: int = 0
    probabilities: FaultProbabilities = field(default_factory=dict)
    faults_by_point: Mapping[str, str] = field(default_factory=dict)
    planned_faults: list[PlannedFault] = field(default_factory=list)
    injected: dict[str, str] = field(default_factory=dict)
    enabled: bool = True
    passed_contexts: dict[str, set[str]] = field(default_factory=dict)
    _passed: Counter[str] = field(default_factory=Counter)

    def next_fault(self, process: str, point_type: str, context: str = "") -> str | None:
        """Return the fault at the next point of the process, if any.

        Each call is a new point, so the caller must call it exactly once per point.
        """
        prefix = f"{process}/{point_type}"
        number = self._passed[prefix] = self._passed.get(prefix, 0) + 1
        self.passed_contexts.setdefault(point_type, set()).add(context)
        if not self._may_occur(point_type):
            return None
        point = f"{prefix}/{number}"
        fault = self._planned_fault(process, point_type, context)
        if fault is None and self.enabled:
            fault = self.faults_by_point.get(point) or self._random_fault(point, point_type)
        if fault is not None:
            self.injected[point] = fault
        return fault

    def _may_occur(self, point_type: str) -> bool:
        """Return whether any fault may occur at points of a type; most points have none."""
        if self.planned_faults:
            return True
        return self.enabled and bool(self.faults_by_point or self.probabilities.get(point_type))

    def passed_points(self, point_type: str) -> list[str]:
        """Return the points of a type that were passed so far."""
        return [
            f"{prefix}/{number}"
            for prefix, count in sorted(self._passed.items())
            if prefix.endswith(f"/{point_type}")
            for number in range(1, count + 1)
        ]

    def random_between(self, name: str, low: float, high: float) -> float:
        """Draw a number for a named purpose; the lower bound if the seed is 0.

        Small numbers are more likely than large ones.
        """
        if not self.seed:
            return low
        self._passed[name] += 1
        fraction = seeded_fraction(self.seed, f"{name}/{self._passed[name]}")
        return low + (high - low) * fraction**2

    def _random_fault(self, point: str, point_type: str) -> str | None:
        probabilities = self.probabilities.get(point_type)
        if not probabilities:
            return None
        fraction = seeded_fraction(self.seed, point)
        for fault, probability in probabilities.items():
            fraction -= probability
            if fraction < 0:
                return fault
        return None

    def _planned_fault(self, process: str, point_type: str, context: str) -> str | None:
        if not self.planned_faults:
            return None
        words = {*context.split()}
        for planned in self.planned_faults:
            matches = process.startswith(planned.process_prefix)
            matches = matches and planned.point_type == point_type
            if not matches or not {*planned.context.split()} <= words:
                continue
            planned.matches_left -= 1
            if planned.matches_left > 0:
                continue
            planned.triggered = True
            planned.repeat_count -= 1
            if planned.repeat_count <= 0:
                self.planned_faults.remove(planned)
            return planned.fault
        return None
