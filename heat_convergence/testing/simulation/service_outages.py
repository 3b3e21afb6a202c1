"""Outages of simulated services: calls that hang, fail, or are answered with Retry-After.

Applied at the fault points of calls and observations, behind the real circuit breakers of
each process, which decide which calls are made. A service is a resource type.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MAX_CALLS_PER_MINUTE = 12  # of a process to a service that fails


@dataclass(slots=True)
class ServiceOutage:
    """An outage of the service of one resource type, until it is ended.

    Attributes:
        answer_s: seconds until a call fails.
        retry_after_s: the pause that the service requests.
        call_times: process → times of its calls, in seconds.
    """

    answer_s: float = 0.1
    retry_after_s: float | None = None
    call_times: dict[str, list[float]] = field(default_factory=dict)

    def find_violation(self) -> str | None:
        """Return which process has called the failing service too often, if one has."""
        for process, times in sorted(self.call_times.items()):
            most = max(Counter(int(at_s / 60) for at_s in times).values())
            if most > MAX_CALLS_PER_MINUTE:
                return f"{process} has called a failing service {most} times in a minute"
        return None


@dataclass(slots=True)
class ServiceOutages:
    """The services that are out of order now, by resource type."""

    by_type: dict[str, ServiceOutage] = field(default_factory=dict)

    def end(self, type_name: str) -> ServiceOutage:
        """End the outage of a service and return it."""
        return self.by_type.pop(type_name)
