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

COMMIT = {"crash-before", "crash-after", "deadlock", "unavailable"}
CALL = {
    "crash-before", "crash-after", "throttled", "conflict", "over-quota", "temporary",
    "permanent", "timeout-after", "lost-reply",
}
SEND = {"lose", "double", "late"}
CLAIM = {"skip"}
TASK = {"stall"}
LOOK = {"temporary", "throttled"}
BIRTH = {"slow", "error", "never"}
KINDS: Mapping[str, frozenset[str]] = {
    "commit": frozenset(COMMIT),
    "call": frozenset(CALL),
    "send": frozenset(SEND),
    "claim": frozenset(CLAIM),
    "task": frozenset(TASK),
    "look": frozenset(LOOK),
    "birth": frozenset(BIRTH),
}

Odds = Mapping[str, Mapping[str, float]]  # point's kind → fault → probability


def chance(seed: int, key: str) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@dataclass(slots=True)
class Order:
    """A fault that is waited for: the ``left``-th point that fits gets it."""

    process: str  # "engine", "engine-1" …
    kind: str
    fault: str
    about: str = ""  # words of what the point concerns: a resource's name, a verb
    left: int = 1
    times: int = 1
    struck: bool = False


@dataclass(slots=True)
class Faults:
    """Faults by chance, by name of the point, or by order of a scenario."""

    seed: int = 0
    odds: Odds = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    fired: dict[str, str] = field(default_factory=dict)
    on: bool = True
    _passed: Counter[str] = field(default_factory=Counter)

    def strike(self, process: str, kind: str, about: str = "") -> str | None:
        """The fault of this point, if any; each call is a new point."""
        place = f"{process}/{kind}"
        self._passed[place] += 1
        point = f"{place}/{self._passed[place]}"
        fault = self._ordered(process, kind, about)
        if fault is None and self.on:
            fault = self.given.get(point) or self._by_chance(point, kind)
        if fault is not None:
            self.fired[point] = fault
        return fault

    def points(self, kind: str) -> list[str]:
        """The points of the kind that were passed."""
        return [
            f"{place}/{number}"
            for place, count in sorted(self._passed.items())
            if place.endswith(f"/{kind}")
            for number in range(1, count + 1)
        ]

    def vary(self, what: str, low: float, high: float) -> float:
        """A number between the two, by chance; the lower without a seed."""
        if not self.seed:
            return low
        self._passed[what] += 1
        share = chance(self.seed, f"{what}/{self._passed[what]}")
        return low + (high - low) * share**2

    def _by_chance(self, point: str, kind: str) -> str | None:
        odds = self.odds.get(kind)
        if not odds:
            return None
        share = chance(self.seed, point)
        for fault, probability in odds.items():
            share -= probability
            if share < 0:
                return fault
        return None

    def _ordered(self, process: str, kind: str, about: str) -> str | None:
        for order in self.orders:
            fits = process.startswith(order.process) and order.kind == kind
            if not fits or not {*order.about.split()} <= {*about.split()}:
                continue
            order.left -= 1
            if order.left > 0:
                continue
            order.struck = True
            order.times -= 1
            if order.times <= 0:
                self.orders.remove(order)
            return order.fault
        return None
