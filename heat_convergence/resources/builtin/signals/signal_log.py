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
SignalLog = Mapping[str, Mapping[str, Json]]
SIGNALS = "signals"  # among a handle's data: id → status, reason, data
SUCCESS, FAILURE = "SUCCESS", "FAILURE"
MAX_SIGNALS = 10_000  # that one handle keeps
MAX_SIGNALS_LENGTH = 4_000_000  # characters of all of them as JSON


@dataclass(frozen=True, slots=True)
class SignalFormat:
    """What the parts of a signal are called; ``all_required``: all must be given."""

    status_key: str
    reason_key: str
    data_key: str
    id_key: str
    all_required: bool = False

    @property
    def all_keys(self) -> frozenset[str]:
        return frozenset({self.status_key, self.reason_key, self.data_key, self.id_key})


NATIVE_FORMAT = SignalFormat("status", "reason", "data", "id")
CFN_FORMAT = SignalFormat("Status", "Reason", "Data", "UniqueId", all_required=True)


def add_signal(
    before: SignalLog, details: Json, words: SignalFormat
) -> tuple[dict[str, Json], str]:
    """All signals with this one, and what to tell of it; one of the same id goes.

    Raises ``Invalid`` for a signal that can't be read, ``RequestLimitExceeded`` when
    there is no more room.
    """
    given = _read(details, words)
    number = len(before) + 1
    status = given.get(words.status_key, SUCCESS)
    if status not in (SUCCESS, FAILURE):
        raise Invalid(
            f'"{words.status_key}" of a signal is {SUCCESS} or {FAILURE}, not {status!r}'
        )
    reason = given.get(words.reason_key, f"Signal {number} received")
    key = str(given.get(words.id_key, number))
    signal = {"status": status, "reason": reason, "data": given.get(words.data_key)}
    after = {**before, key: signal}
    _check_room(after)
    return after, f"status:{status} reason:{reason}"


def _read(details: Json, words: SignalFormat) -> Mapping[str, Json]:
    given: Mapping[str, Json] = details if isinstance(details, Mapping) else {}
    unknown = sorted(str(name) for name in given.keys() - words.all_keys)
    if unknown:
        known = ", ".join(sorted(words.all_keys))
        raise Invalid(f"a signal has no {', '.join(unknown)}; it may have {known}")
    missing = sorted(words.all_keys - given.keys())
    if words.all_required and missing:
        raise Invalid(f"a signal to this handle needs {', '.join(missing)}")
    return given


def _check_room(signals: SignalLog) -> None:
    if len(signals) > MAX_SIGNALS:
        raise RequestLimitExceeded(f"A handle keeps {MAX_SIGNALS} signals")
    if len(json.dumps(signals)) > MAX_SIGNALS_LENGTH:
        raise RequestLimitExceeded(f"A handle keeps {MAX_SIGNALS_LENGTH} characters of signals")


@dataclass(frozen=True, slots=True)
class SignalCounts:
    """What signals come to."""

    failures: tuple[str, ...]
    successes: tuple[str, ...]  # their reasons, like those of failures
    data: Mapping[str, Json]

    @classmethod
    def from_signals(cls, signals: SignalLog) -> SignalCounts:
        def reasons(*, good: bool) -> tuple[str, ...]:
            found = (s for s in signals.values() if (s["status"] == SUCCESS) is good)
            return tuple(str(signal["reason"]) for signal in found)

        data = {key: signal["data"] for key, signal in signals.items()}
        return cls(reasons(good=False), reasons(good=True), data)

    def describe_progress(self, count: int) -> str:
        """How many of how many, as events tell it."""
        told = f"{len(self.successes)} of {count} received"
        return f"{told} - {';'.join(self.successes)}" if self.successes else told
