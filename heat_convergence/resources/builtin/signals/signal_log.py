"""The signals that a handle keeps, and their count: pure functions.

Called by handles, which store signals, and by wait conditions, which count them.

Source: docs/reference/resource-groups.rst, "Signals and waiting".
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
MAX_SIGNALS = 10_000  # of one handle
MAX_SIGNALS_LENGTH = 4_000_000  # characters of all signals of a handle as JSON


@dataclass(frozen=True, slots=True)
class SignalFormat:
    """The keys of a signal's body; with ``all_required`` all of them are mandatory."""

    status_key: str
    reason_key: str
    data_key: str
    id_key: str
    all_required: bool = False

    @property
    def all_keys(self) -> frozenset[str]:
        """All keys that a signal may have."""
        return frozenset({self.status_key, self.reason_key, self.data_key, self.id_key})


NATIVE_FORMAT = SignalFormat("status", "reason", "data", "id")
CFN_FORMAT = SignalFormat("Status", "Reason", "Data", "UniqueId", all_required=True)


def add_signal(
    before: SignalLog, details: Json, signal_format: SignalFormat
) -> tuple[dict[str, Json], str]:
    """Add a signal, replacing one of the same id; return all signals and the event's reason.

    Args:
        before: Id → signal, as stored.
        details: The body of the signal.
        signal_format: The keys of the body.

    Raises:
        Invalid: The signal cannot be read.
        RequestLimitExceeded: There is no room for it.
    """
    after, reason = merge_signal(before, details, signal_format)
    check_room(after)
    return after, reason


def merge_signal(
    before: SignalLog, details: Json, signal_format: SignalFormat
) -> tuple[dict[str, Json], str]:
    """Add a signal as ``add_signal`` does, without a look at the room for it.

    Raises:
        Invalid: The signal cannot be read.
    """
    body = _read(details, signal_format)
    number = len(before) + 1
    status = body.get(signal_format.status_key, SUCCESS)
    if status not in (SUCCESS, FAILURE):
        raise Invalid(
            f'"{signal_format.status_key}" of a signal is {SUCCESS} or {FAILURE}, not {status!r}'
        )
    reason = body.get(signal_format.reason_key, f"Signal {number} received")
    key = str(body.get(signal_format.id_key, number))
    signal = {"status": status, "reason": reason, "data": body.get(signal_format.data_key)}
    return {**before, key: signal}, f"status:{status} reason:{reason}"


def _read(details: Json, signal_format: SignalFormat) -> Mapping[str, Json]:
    body: Mapping[str, Json] = details if isinstance(details, Mapping) else {}
    unknown = sorted(str(name) for name in body.keys() - signal_format.all_keys)
    if unknown:
        known = ", ".join(sorted(signal_format.all_keys))
        raise Invalid(f"a signal has no {', '.join(unknown)}; it may have {known}")
    missing = sorted(signal_format.all_keys - body.keys())
    if signal_format.all_required and missing:
        raise Invalid(f"a signal to this handle needs {', '.join(missing)}")
    return body


def check_room(signals: SignalLog) -> None:
    """Check that a handle may keep so many signals.

    Raises:
        RequestLimitExceeded: It may not.
    """
    if len(signals) > MAX_SIGNALS:
        raise RequestLimitExceeded(f"A handle keeps {MAX_SIGNALS} signals")
    if len(json.dumps(signals)) > MAX_SIGNALS_LENGTH:
        raise RequestLimitExceeded(f"A handle keeps {MAX_SIGNALS_LENGTH} characters of signals")


@dataclass(frozen=True, slots=True)
class SignalCounts:
    """The reasons of failures and successes, and the data of signals by id."""

    failures: tuple[str, ...]
    successes: tuple[str, ...]
    data: Mapping[str, Json]

    @classmethod
    def from_signals(cls, signals: SignalLog) -> SignalCounts:
        """Count stored signals."""

        def reasons(*, good: bool) -> tuple[str, ...]:
            """Return the reasons of successes or of failures."""
            found = (s for s in signals.values() if (s["status"] == SUCCESS) is good)
            return tuple(str(signal["reason"]) for signal in found)

        data = {key: signal["data"] for key, signal in signals.items()}
        return cls(reasons(good=False), reasons(good=True), data)

    def describe_progress(self, count: int) -> str:
        """Return the number of successes and their reasons, for events."""
        text = f"{len(self.successes)} of {count} received"
        return f"{text} - {';'.join(self.successes)}" if self.successes else text
