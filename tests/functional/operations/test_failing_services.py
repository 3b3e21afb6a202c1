"""Services that fail are left alone until they respond; others are called as always."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.clients.circuit_breaker import CircuitBreakers, CircuitSettings
from heat_convergence.clients.rest_client import CloudRequest, RequestLimiter, SdkCloudClient
from heat_convergence.common import errors
from heat_convergence.common.failures import CallRefused, ResourceGone
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation

SERVERS = CloudRequest("compute", "GET", "/servers")
NETWORKS = CloudRequest("network", "GET", "/networks")
FAILURES = 3


class FailingCloud:
    """Two projects of one process at an emulated cloud, with a clock."""

    def __init__(self) -> None:
        self.emulation = create_emulation()
        self.now_s = 0.0
        breakers = CircuitBreakers(CircuitSettings(failures=FAILURES), lambda: self.now_s)
        connection = connect(self.emulation)
        limiter = RequestLimiter(4)
        self.ours, self.theirs = (
            SdkCloudClient(project, project, lambda: connection, limiter, breakers=breakers)
            for project in (PROJECT_ID, "other")
        )

    def call(self, times: int, client: SdkCloudClient | None = None) -> list[str]:
        """Ask for servers; return the names of the errors."""
        found = []
        for _ in range(times):
            try:
                (client or self.ours).send(SERVERS)
                found.append("")
            except errors.Error as error:
                found.append(type(error).__name__)
        return found


@pytest.fixture
def cloud() -> FailingCloud:
    return FailingCloud()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_service_that_is_down_is_not_called_by_anybody(cloud: FailingCloud, status: int) -> None:
    cloud.emulation.inject_failure("GET", "/servers", status, times=100)
    assert cloud.call(5) == ["TemporaryFailure"] * FAILURES + ["CallRefused"] * 2
    assert cloud.call(1, cloud.theirs) == ["CallRefused"]
    assert cloud.emulation.count_requests("GET", "compute") == FAILURES
    assert cloud.ours.send(NETWORKS).status == 200


@pytest.mark.parametrize(("status", "error"), [(500, "TemporaryFailure"), (429, "Throttled")])
def test_failures_of_one_project_leave_others_alone(
    cloud: FailingCloud, status: int, error: str
) -> None:
    cloud.emulation.inject_failure("GET", "/servers", status, times=FAILURES)
    assert cloud.call(5) == [error] * FAILURES + ["CallRefused"] * 2
    assert cloud.call(1, cloud.theirs) == [""]


def test_service_that_responds_again_is_called_again(cloud: FailingCloud) -> None:
    cloud.emulation.inject_failure("GET", "/servers", 503, times=FAILURES + 1)
    cloud.call(FAILURES)
    cloud.now_s += 5.0
    assert cloud.call(2) == ["TemporaryFailure", "CallRefused"]
    cloud.now_s += 9.9
    assert cloud.call(1) == ["CallRefused"]
    cloud.now_s += 0.2
    assert cloud.call(3) == ["", "", ""]


@pytest.mark.parametrize("status", [429, 503])
def test_pause_that_the_service_requests_is_kept(cloud: FailingCloud, status: int) -> None:
    cloud.emulation.inject_failure("GET", "/servers", status, Retry_After="30")
    cloud.call(1)
    cloud.now_s += 29.0
    with pytest.raises(CallRefused) as caught:
        cloud.ours.send(SERVERS)
    assert caught.value.retry_after_s == 1.0
    cloud.now_s += 1.0
    assert cloud.call(1) == [""]


def test_answers_that_are_no_failures_close_the_circuit(cloud: FailingCloud) -> None:
    missing = replace(SERVERS, path="/servers/none")
    for _ in range(3):
        cloud.emulation.inject_failure("GET", "/servers$", 503, times=FAILURES - 1)
        cloud.call(FAILURES - 1)
        with pytest.raises(ResourceGone):
            cloud.ours.send(missing)
    assert cloud.call(1) == [""]
