"""Circuit breakers: which services this process does not call for the moment.

Called by ``rest_client`` around every request. After a number of failures in a row the circuit
of an endpoint opens, and calls are refused. When the pause is over, one call is let through as
a probe: its success closes the circuit, its failure doubles the pause. A pause that the service
asks for (Retry-After) opens the circuit at once.

Failures that one project may cause by itself (its rate limit, a request that the service cannot
process) open the circuit of that project alone; the others open it for everybody. Must not
wait, call anything, or tell one project about the requests of another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from heat_convergence.common import metrics
from heat_convergence.common.failures import CallRefused, TemporaryFailure
from heat_convergence.common.telemetry.call_times import CallTimes

LOG = logging.getLogger(__name__)
PROBE_WAIT_S = 2.0  # pause of a call that is refused because a probe is on its way
PROBE_LIMIT_S = 300.0  # a probe that has not ended by then does not keep others from probing
MAX_CIRCUITS = 10_000  # with failures; the oldest is dropped
MAX_REPORTED = 50  # of each list of a report


class FailureScope(Enum):
    """The calls that are likely to fail as one call did."""

    ENDPOINT = "endpoint"
    PROJECT = "project"


# Statuses that are failures of the service rather than answers to the request.
FAILURE_SCOPES = {
    429: FailureScope.PROJECT,
    500: FailureScope.PROJECT,
    502: FailureScope.ENDPOINT,
    503: FailureScope.ENDPOINT,
    504: FailureScope.ENDPOINT,
}


@dataclass(frozen=True, slots=True)
class CircuitSettings:
    """Limits that decide when circuits open, and for how long.

    Attributes:
        failures: Failures in a row that open a circuit.
        pause_s: Seconds until the first probe; doubled when a probe fails.
        max_pause_s: Longest pause between two probes, unless the service asks for a longer one.
    """

    failures: int = 5
    pause_s: float = 5.0
    max_pause_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service in a region, as one project calls it; empty texts where there is none."""

    service: str
    region: str = ""
    project_id: str = ""

    def in_scope(self, scope: FailureScope) -> Endpoint:
        """Return the endpoint for one project or, without a project, for all."""
        return self if scope is FailureScope.PROJECT else Endpoint(self.service, self.region)

    @property
    def in_all_scopes(self) -> tuple[Endpoint, Endpoint]:
        """The endpoint for all projects, and for this one."""
        return Endpoint(self.service, self.region), self


@dataclass(slots=True)
class _Circuit:
    """The failures of an endpoint since its last success; open if ``open_until_s`` is set."""

    failures: int = 0
    pause_s: float = 0.0
    opened_at_s: float = 0.0
    open_until_s: float | None = None
    probe_started_s: float | None = None


class Attempt:
    """One call that was let through; says nothing until ``succeed`` or ``fail`` is called."""

    def __init__(
        self, breakers: CircuitBreakers, endpoint: Endpoint, probed: frozenset[Endpoint]
    ) -> None:
        self._breakers = breakers
        self._endpoint = endpoint
        self._probed = probed

    def succeed(self) -> None:
        """Record that the service has answered."""
        for endpoint in self._endpoint.in_all_scopes:
            self._breakers.record_success(endpoint)

    def fail(self, scope: FailureScope, error: TemporaryFailure) -> None:
        """Record a failure; if it is the project's, the endpoint itself has answered."""
        if scope is FailureScope.PROJECT:
            self._breakers.record_success(self._endpoint.in_scope(FailureScope.ENDPOINT))
        failed = self._endpoint.in_scope(scope)
        self._breakers.record_failure(failed, error, is_probe=failed in self._probed)


class CircuitBreakers:
    """The circuits of one process. Thread-safe.

    Args:
        settings: When circuits open.
        now_s: Clock in seconds that never goes back.
    """

    def __init__(
        self,
        settings: CircuitSettings | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings or CircuitSettings()
        self._now_s = now_s
        self._circuits: dict[Endpoint, _Circuit] = {}
        self._times = CallTimes()
        self._lock = threading.Lock()

    def check(self, endpoint: Endpoint) -> None:
        """Raise ``CallRefused`` if a call would be refused now."""
        with self._lock:
            self._check(endpoint)

    @contextmanager
    def attempt(self, endpoint: Endpoint) -> Iterator[Attempt]:
        """Let one call through.

        Raises:
            CallRefused: A circuit is open, or half-open with a probe on its way.
        """
        with self._lock:
            self._check(endpoint)
            probed = self._start_probes(endpoint)
        started_s = self._now_s()
        try:
            yield Attempt(self, endpoint, frozenset(probed))
        finally:
            now_s, key = self._now_s(), (endpoint.service, endpoint.region)
            with self._lock:  # where nothing was recorded, the next call is the probe
                self._times.record(key, now_s - started_s, now_s)
                for circuit in probed.values():
                    circuit.probe_started_s = None

    def is_open(self, endpoint: Endpoint) -> bool:
        """Return whether the circuit of exactly this endpoint is open or half-open."""
        with self._lock:
            circuit = self._circuits.get(endpoint)
            return circuit is not None and circuit.open_until_s is not None

    def report(self) -> dict[str, list[dict[str, Any]]]:
        """Return the open circuits and the slow services, as the list of workers keeps them.

        Returns:
            ``open`` and ``slow``: objects with service, region and project, empty for all.
        """
        with self._lock:
            now_s = self._now_s()
            opened = [
                {
                    "service": each.service,
                    "region": each.region,
                    "project_id": each.project_id,
                    "failures": circuit.failures,
                    "open_s": round(now_s - circuit.opened_at_s),
                }
                for each, circuit in self._circuits.items()
                if circuit.open_until_s is not None
            ]
            slow = [{**asdict(each), "project_id": ""} for each in self._times.find_slow(now_s)]
        return {"open": opened[:MAX_REPORTED], "slow": slow[:MAX_REPORTED]}

    def _check(self, endpoint: Endpoint) -> None:
        if not self._circuits:
            return
        now_s = self._now_s()
        for scoped in endpoint.in_all_scopes:
            circuit = self._circuits.get(scoped)
            if circuit is None or circuit.open_until_s is None:
                continue
            wait_s = circuit.open_until_s - now_s
            if wait_s <= 0 and _is_probed(circuit, now_s):
                wait_s = PROBE_WAIT_S
            if wait_s > 0:
                raise CallRefused(
                    f"{endpoint.service} is not called, as earlier calls have failed",
                    retry_after_s=wait_s,
                )

    def _start_probes(self, endpoint: Endpoint) -> dict[Endpoint, _Circuit]:
        half_open = {}
        for scoped in endpoint.in_all_scopes if self._circuits else ():
            circuit = self._circuits.get(scoped)
            if circuit is not None and circuit.open_until_s is not None:
                circuit.probe_started_s = self._now_s()
                half_open[scoped] = circuit
        return half_open

    def record_success(self, endpoint: Endpoint) -> None:
        """Close the circuit of an endpoint that has answered."""
        with self._lock:
            circuit = self._circuits.pop(endpoint, None)
        if circuit is not None and circuit.open_until_s is not None:
            metrics.OPEN_CIRCUITS.labels(endpoint.service, endpoint.region).dec()
            open_s = round(self._now_s() - circuit.opened_at_s, 1)
            LOG.info(
                "circuit closed: service=%(service)s region=%(region)s project=%(project)s"
                " open_s=%(open_s)s",
                {**_log_fields(endpoint), "open_s": open_s},
            )

    def record_failure(
        self, endpoint: Endpoint, error: TemporaryFailure, *, is_probe: bool = False
    ) -> None:
        """Count a failure, which may open the circuit or prolong its pause."""
        now_s = self._now_s()
        with self._lock:
            circuit = self._circuits.setdefault(endpoint, _Circuit())
            while len(self._circuits) > MAX_CIRCUITS:
                self._drop_oldest()
            was_open = circuit.open_until_s is not None
            if was_open and is_probe:
                circuit.pause_s = min(circuit.pause_s * 2, self._settings.max_pause_s)
            self._count(circuit, now_s, error.retry_after_s or 0.0, is_probe)
            opened = circuit.open_until_s is not None and not was_open
        if opened:
            metrics.OPEN_CIRCUITS.labels(endpoint.service, endpoint.region).inc()
            LOG.warning(
                "circuit opened: service=%(service)s region=%(region)s project=%(project)s"
                " failures=%(failures)s pause_s=%(pause_s)s error=%(error)s",
                {
                    **_log_fields(endpoint),
                    "failures": circuit.failures,
                    "pause_s": round((circuit.open_until_s or now_s) - now_s, 1),
                    "error": error,
                },
            )

    def _drop_oldest(self) -> None:
        endpoint = next(iter(self._circuits))
        if self._circuits.pop(endpoint).open_until_s is not None:
            metrics.OPEN_CIRCUITS.labels(endpoint.service, endpoint.region).dec()

    def _count(
        self, circuit: _Circuit, now_s: float, retry_after_s: float, is_probe: bool
    ) -> None:
        if circuit.open_until_s is None:
            circuit.failures += 1
            if circuit.failures < self._settings.failures and not retry_after_s:
                return
            circuit.opened_at_s, circuit.pause_s = now_s, self._settings.pause_s
        elif not is_probe and not retry_after_s:
            return  # the call had begun before the circuit opened
        until_s = now_s + max(circuit.pause_s, retry_after_s)
        circuit.open_until_s = max(circuit.open_until_s or 0.0, until_s)


def _is_probed(circuit: _Circuit, now_s: float) -> bool:
    started_s = circuit.probe_started_s
    return started_s is not None and now_s < started_s + PROBE_LIMIT_S


def _log_fields(endpoint: Endpoint) -> dict[str, str]:
    return {
        "service": endpoint.service,
        "region": endpoint.region,
        "project": endpoint.project_id or "all",
    }
