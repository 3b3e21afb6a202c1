"""Means of the durations of calls to services, by service and region, of the last minutes.

Called by ``clients.circuit_breaker`` around every request, and by its report. Must not call
anything. Users name regions, so that the number of endpoints is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

WINDOW_S = 60.0
SLOW_CALL_S = 2.0  # of the mean: clients of a service that is well wait for tenths of a second
MAX_ENDPOINTS = 1_000  # the oldest is dropped
EndpointKey = tuple[str, str]  # service, region


@dataclass(slots=True)
class _Window:
    """The calls that ended within a minute."""

    number: int
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SlowEndpoint:
    """A service whose calls take long.

    Attributes:
        calls: Calls of the last one to two minutes.
        mean_s: Their mean.
    """

    service: str
    region: str
    calls: int
    mean_s: float


class CallTimes:
    """The calls of the present minute and the one before, by service and region."""

    def __init__(self) -> None:
        self._windows: dict[EndpointKey, tuple[_Window, _Window]] = {}

    def record(self, key: EndpointKey, seconds: float, now_s: float) -> None:
        """Record a call that has ended."""
        before, present = self._windows.pop(key, (_Window(-2), _Window(-2)))
        number = int(now_s // WINDOW_S)
        if present.number != number:
            before, present = present, _Window(number)
        present.calls += 1
        present.seconds += seconds
        self._windows[key] = (before, present)
        if len(self._windows) > MAX_ENDPOINTS:
            del self._windows[next(iter(self._windows))]

    def find_slow(self, now_s: float) -> Iterator[SlowEndpoint]:
        """Yield the endpoints whose mean is long."""
        number = int(now_s // WINDOW_S)
        for (service, region), windows in sorted(self._windows.items()):
            recent = [each for each in windows if each.number >= number - 1]
            calls = sum(each.calls for each in recent)
            mean_s = sum(each.seconds for each in recent) / max(calls, 1)
            if mean_s >= SLOW_CALL_S:
                yield SlowEndpoint(service, region, calls, round(mean_s, 1))
