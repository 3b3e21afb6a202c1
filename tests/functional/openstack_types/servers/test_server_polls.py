"""The calls that the observation of many servers takes while they are being built."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.bulk_reads import UNCHANGED_SINCE_CREATE
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.testing.openstack.compute.nova_api import SCHEDULING_TIME_S
from tests.functional.openstack_types.driver_bench import START, DriverBench, server

SERVERS = 10
SERVER = "OS::Nova::Server"


class PollBench(DriverBench):
    """An emulated cloud that builds one server after the other.

    Attributes:
        contexts: Servers that the last observation has found busy.
    """

    def __init__(self) -> None:
        super().__init__()
        self.contexts: list[ResourceContext] = []
        for number in range(1, SERVERS + 1):
            self.emulation.latency_s["nova.server"] = 2.0 * number
            self.contexts.append(self.create(server(self)))

    def observe(self, seconds: float) -> list[VerbResult]:
        """Let time pass and return the results in the order of the creation."""
        self.emulation.advance(seconds)
        now = START + timedelta(seconds=self.emulation.now_s)
        contexts = [replace(context, now=now) for context in self.contexts]
        results = self.registry.get(SERVER).observe_many(contexts)
        self.contexts = [
            context
            for context in self.contexts
            if results[context.resource_id].observed is ObservedState.BUSY
        ]
        return [results[context.resource_id] for context in contexts]

    def ready(self, results: list[VerbResult]) -> int:
        return sum(result.observed is ObservedState.READY for result in results)

    def count(self, method: str, service: str) -> int:
        return self.emulation.count_requests(method, service)


@pytest.fixture
def bench() -> PollBench:
    return PollBench()


def test_servers_without_a_host_take_one_list(bench: PollBench) -> None:
    before = bench.count("GET", "compute")
    results = bench.observe(SCHEDULING_TIME_S / 2)
    assert {result.observed for result in results} == {ObservedState.BUSY}
    assert bench.count("GET", "compute") - before == 1


def test_server_that_stays_unlisted_is_read_in_the_end(bench: PollBench) -> None:
    bench.emulation.remove(str(bench.contexts[0].physical_id))
    results = bench.observe(UNCHANGED_SINCE_CREATE.total_seconds())
    assert [result.observed for result in results] == [
        ObservedState.ABSENT, *[ObservedState.READY] * (SERVERS - 1)
    ]  # fmt: skip


def test_ports_of_all_servers_are_read_with_those_of_the_first(bench: PollBench) -> None:
    before = bench.count("GET", "network")
    found = bench.observe(2.0)
    assert bench.ready(found) == 1
    # Ports, networks and subnets; no floating address can lead to a port that Nova has just made.
    assert bench.count("GET", "network") - before == 3
    while bench.contexts:
        found += bench.observe(2.0)
    assert bench.count("GET", "network") - before == 3
    ready = [result for result in found if result.observed is ObservedState.READY]
    ports = [(result.attributes or {})["interfaces"]["ports"] for result in ready]
    assert [len(one) for one in ports] == [1] * SERVERS


def test_ports_are_read_again_when_the_addresses_have_changed(bench: PollBench) -> None:
    bench.observe(2.0)
    before = bench.count("GET", "network")
    shown: Any = bench.emulation.collection("nova.server").get(str(bench.contexts[0].physical_id))
    _, addresses = shown.scheduled_changes[-1]
    next(iter(addresses["addresses"].values()))[0]["addr"] = "10.9.9.9"
    assert bench.ready(bench.observe(2.0)) == 1
    assert bench.count("GET", "network") - before >= 1


def test_servers_are_observed_each_second_unless_they_are_very_many(
    bench: PollBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grids(results: list[VerbResult]) -> set[float | None]:
        busy = [each for each in results if each.observed is ObservedState.BUSY]
        return {each.poll_grid_s for each in busy}

    assert grids(bench.observe(1.0)) == {1.0}
    monkeypatch.setattr(poll_interval, "OBJECTS_PER_SECOND", 3)
    assert grids(bench.observe(1.5)) == {3.0}  # nine are on their way
    assert grids(bench.observe(8.0)) == {2.0}  # five
    assert grids(bench.observe(900.0)) == set()
