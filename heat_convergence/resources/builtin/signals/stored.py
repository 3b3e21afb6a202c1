"""Signals as a handle keeps them, and what they come to: pure.

Called by handles, which store them, and by wait conditions, which count them.
Source: heat-facts ``resource_groups.md``, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Invalid, RequestLimitExceeded

Json = Any
Signals = Mapping[str, Mapping[str, Json]]
SIGNALS = "signals"  # among a handle's data: id → status, reason, data
SUCCESS, FAILURE = "SUCCESS", "FAILURE"
MOST = 10_000  # that one handle keeps
LONGEST = 4_000_000  # characters of all of them as JSON


@dataclass(frozen=True, slots=True)
class Words:
    """What the parts of a signal are called; ``required``: all must be given."""

    status: str
    reason: str
    data: str
    id: str
    required: bool = False

    @property
    def all(self) -> frozenset[str]:
        return frozenset({self.status, self.reason, self.data, self.id})


NATIVE = Words("status", "reason", "data", "id")
CFN = Words("Status", "Reason", "Data", "UniqueId", required=True)


def added(before: Signals, details: Json, words: Words) -> tuple[dict[str, Json], str]:
    """All signals with this one, and what to tell of it; one of the same id goes.

    Raises ``Invalid`` for a signal that can't be read, ``RequestLimitExceeded`` when
    there is no more room.
    """
    given = _read(details, words)
    number = len(before) + 1
    status = given.get(words.status, SUCCESS)
    if status not in (SUCCESS, FAILURE):
        raise Invalid(f'"{words.status}" of a signal is {SUCCESS} or {FAILURE}, not {status!r}')
    reason = given.get(words.reason, f"Signal {number} received")
    key = str(given.get(words.id, number))
    signal = {"status": status, "reason": reason, "data": given.get(words.data)}
    after = {**before, key: signal}
    _check_room(after)
    return after, f"status:{status} reason:{reason}"


def _read(details: Json, words: Words) -> Mapping[str, Json]:
    given: Mapping[str, Json] = details if isinstance(details, Mapping) else {}
    unknown = sorted(str(name) for name in given.keys() - words.all)
    if unknown:
        known = ", ".join(sorted(words.all))
        raise Invalid(f"a signal has no {', '.join(unknown)}; it may have {known}")
    missing = sorted(words.all - given.keys())
    if words.required and missing:
        raise Invalid(f"a signal to this handle needs {', '.join(missing)}")
    return given


def _check_room(signals: Signals) -> None:
    if len(signals) > MOST:
        raise RequestLimitExceeded(f"A handle keeps {MOST} signals")
    if len(json.dumps(signals)) > LONGEST:
        raise RequestLimitExceeded(f"A handle keeps {LONGEST} characters of signals")


@dataclass(frozen=True, slots=True)
class Tally:
    """What signals come to."""

    failures: tuple[str, ...]
    successes: tuple[str, ...]  # their reasons, like those of failures
    data: Mapping[str, Json]

    @classmethod
    def of(cls, signals: Signals) -> Tally:
        def reasons(*, good: bool) -> tuple[str, ...]:
            found = (s for s in signals.values() if (s["status"] == SUCCESS) is good)
            return tuple(str(signal["reason"]) for signal in found)

        data = {key: signal["data"] for key, signal in signals.items()}
        return cls(reasons(good=False), reasons(good=True), data)

    def progress(self, count: int) -> str:
        """How many of how many, as events tell it."""
        told = f"{len(self.successes)} of {count} received"
        return f"{told} - {';'.join(self.successes)}" if self.successes else told
