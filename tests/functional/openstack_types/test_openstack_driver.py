"""The declarative driver on the emulation: its number of calls, and what it finds again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from heat_convergence.common import errors
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.failures import (
    TemporaryFailure,
)
from heat_convergence.convergence.lifecycle.readiness.poll_times import poll_time
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.observer.polling import ObservationBatch, plan_polls
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.id_lookup import IdCache, IdLookup
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import VerbResult
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import PROJECT_ID, EmulatedResponse
from heat_convergence.testing.sample_rows import resource_row, stack_row
from tests.functional.openstack_types.driver_bench import START, DriverBench, server


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


def test_suspended_server_can_be_adopted(bench: DriverBench) -> None:
    context = bench.create(server(bench))
    bench.emulation.advance(5.0)
    resource_type = bench.registry.get(context.type)
    resource_type.suspend(replace(context, action=Action.SUSPEND))
    bench.emulation.advance(5.0)
    observed_states = {
        action: resource_type.observe(replace(context, action=action)).observed
        for action in (Action.SUSPEND, Action.ADOPT, Action.RESUME)
    }
    assert observed_states == {
        Action.SUSPEND: ObservedState.READY,
        Action.ADOPT: ObservedState.READY,
        Action.RESUME: ObservedState.BUSY,
    }


class TestCallCounts:
    def test_200_servers_take_fewer_than_three_calls_each(self, bench: DriverBench) -> None:
        contexts = [bench.create(server(bench)) for _ in range(200)]
        resource_type = bench.registry.get("OS::Nova::Server")
        results: Mapping[str, VerbResult] = {}
        for _ in range(5):
            bench.emulation.advance(1.0)
            due = [
                replace(context, now=context.now + timedelta(seconds=1)) for context in contexts
            ]
            results = resource_type.observe_many(due)
            if results[due[0].resource_id].observed is ObservedState.READY:
                break
        assert {result.observed for result in results.values()} == {ObservedState.READY}
        assert sum(bench.emulation.request_counts.values()) < 200 * 3
        # Three observations, one of them before a host is chosen for the servers; the last one
        # also lists networks and subnets, and ports and floating IPs of 50 servers at a time.
        assert sum(bench.emulation.request_counts.values()) <= 200 + 3 + 3 + 1 + 2 + 2 * 4

    def test_observe_many_makes_one_call_per_project(self, bench: DriverBench) -> None:
        contexts = [bench.create(bench.context("OS::Neutron::Net", {})) for _ in range(30)]
        others = [replace(context, stack_id="other") for context in contexts[15:]]
        bench.emulation.request_counts.clear()
        results = bench.registry.get("OS::Neutron::Net").observe_many([*contexts[:15], *others])
        assert len(results) == 30
        assert sum(bench.emulation.request_counts.values()) == 1

    def test_servers_are_listed_by_changes_since(self, bench: DriverBench) -> None:
        contexts = [bench.create(server(bench)) for _ in range(5)]
        queries: list[Any] = []

        def list_servers(emulation: Any, request: Any) -> EmulatedResponse:
            queries.append(request.query)
            bodies, _ = emulation.collection("nova.server").list_page(request.query)
            return EmulatedResponse(200, {"servers": bodies})

        bench.emulation.add_handler("compute", "GET", "/servers/detail", list_servers)
        results = bench.registry.get("OS::Nova::Server").observe_many(contexts)
        assert len(results) == 5
        (query,) = queries
        since = datetime.fromisoformat(query["changes-since"][0])
        assert (
            START - timedelta(minutes=2) < since < START
        )  # less the tolerated difference of clocks

    def test_observer_makes_one_call_per_type_for_all_stacks(self, bench: DriverBench) -> None:
        due, created = [], 0
        for stack_id in ("one", "two", "three"):
            rows = []
            for type_name in ("OS::Neutron::Net", "OS::Cinder::Volume"):
                properties = {} if "Net" in type_name else {"size": 1}
                for number in range(4):
                    context = bench.create(bench.context(type_name, properties))
                    created += 1
                    rows.append(
                        resource_row(
                            f"{stack_id}-{type_name}-{number}",
                            stack_id=stack_id,
                            type=type_name,
                            implementation=type_name,
                            action=Action.CREATE,
                            status=Status.IN_PROGRESS,
                            job_state=JobState.AWAITING_OBSERVATION,
                            observed=ObservedState.BUSY,
                            physical_id=context.physical_id,
                        )
                    )
            due.append(
                ObservationBatch(stack_row(stack_id, project_id=PROJECT_ID), rows, {}, bench.cloud)
            )
        bench.emulation.advance(5.0)
        bench.emulation.request_counts.clear()
        now = START + timedelta(seconds=5)
        result, groups = plan_polls(due, bench.registry, now, ErrorLog())
        assert not result.resource_ids
        for group in groups.values():
            result.merge(group.run(bench.registry, ErrorLog()))
        observations = [one for each in result.observations.values() for one in each.values()]
        assert len(observations) == created == 24
        assert {one.observed for one in observations} == {ObservedState.READY}
        assert sum(bench.emulation.request_counts.values()) == 2  # one per type

    def test_ports_share_the_calls_for_network_and_subnets(self, bench: DriverBench) -> None:
        net = bench.create(bench.context("OS::Neutron::Net", {}))
        subnet = bench.create(
            bench.context(
                "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.1.0.0/24"}
            )
        )
        resource_type = bench.registry.get("OS::Neutron::Port")
        bench.emulation.request_counts.clear()
        contexts = [
            bench.create(bench.context("OS::Neutron::Port", {"network": net.physical_id}))
            for _ in range(20)
        ]
        assert sum(bench.emulation.request_counts.values()) == 20 + 2
        results = resource_type.observe_many(contexts)
        assert sum(bench.emulation.request_counts.values()) == 20 + 2 + 1
        observed_states = replace(
            contexts[7], attributes=results[contexts[7].resource_id].attributes or {}
        )
        assert resource_type.attribute(observed_states, "network")["id"] == net.physical_id
        assert [one["id"] for one in resource_type.attribute(observed_states, "subnets")] == [
            subnet.physical_id
        ]

    def test_names_of_every_entity_are_found_in_lists(self, bench: DriverBench) -> None:
        """The whole list is read once several names are looked up."""
        now = START
        for entity in ("nova.keypair", "nova.flavor", "neutron.network", "glance.image"):
            for number in range(6):
                bench.emulation.add(entity, name=f"n{number}")
            lookups = IdLookup(bench.cloud, REST_RESOURCES, IdCache(), now)
            for number in range(6):
                assert lookups.find_existing_id(entity, f"n{number}")
            with pytest.raises(errors.EntityNotFound):
                lookups.find_existing_id(entity, "none")

    def test_names_are_looked_up_once(self, bench: DriverBench) -> None:
        bench.create(server(bench))
        bench.emulation.request_counts.clear()
        bench.create(server(bench))
        assert sum(bench.emulation.request_counts.values()) == 1

    def test_polls_of_all_stacks_are_due_together(self, bench: DriverBench) -> None:
        result = bench.registry.get("OS::Cinder::Volume").create(
            bench.context("OS::Cinder::Volume", {"size": 1})
        )
        due = {
            poll_time(START + timedelta(seconds=at), result.poll_after_s, result.poll_grid_s)
            for at in (20.0, 20.1, 20.4, 20.7)
        }
        assert due == {START + timedelta(seconds=21)}

    def test_members_of_one_pool_are_observed_by_one_list(self, bench: DriverBench) -> None:
        def be_pending(_emulation: Any, item: EmulatedResource) -> None:
            item.body["provisioning_status"] = "PENDING_CREATE"
            item.scheduled_changes = []

        bench.emulation.on_create("octavia.member", be_pending)
        pools = [bench.emulation.add("octavia.pool", name=f"pool{n}")["id"] for n in range(2)]
        contexts = [
            bench.create(
                bench.context(
                    "OS::Octavia::PoolMember",
                    {
                        "pool": pools[number % 2],
                        "address": f"10.0.0.{number}",
                        "protocol_port": 80,
                    },
                )
            )
            for number in range(6)
        ]
        bench.emulation.request_counts.clear()
        results = bench.registry.get("OS::Octavia::PoolMember").observe_many(contexts)
        assert sum(bench.emulation.request_counts.values()) == len(pools)
        assert {each.observed for each in results.values()} == {ObservedState.BUSY}
        assert {each.poll_grid_s for each in results.values()} == {float(len(pools))}

    def test_poll_interval_grows_with_age(self) -> None:
        waits = [
            poll_interval.next_poll_s(START, START + timedelta(seconds=at))
            for at in (0, 30, 120, 900)
        ]
        assert waits == sorted(waits)
        assert waits[-1] == 15.0


class TestFind:
    """RULE 4: finding a resource whose create response was lost."""

    CASES = (
        ("OS::Nova::Server", "nova.server", "POST", "/servers$"),
        ("OS::Neutron::Port", "neutron.port", "POST", "/ports$"),
        ("OS::Cinder::Volume", "cinder.volume", "POST", "/volumes$"),
        ("OS::Neutron::FloatingIP", "neutron.floatingip", "POST", "/floatingips$"),
    )

    @pytest.mark.parametrize(("type_name", "entity", "method", "path"), CASES)
    @pytest.mark.parametrize("name", [None, "mine"])
    def test_resource_of_lost_create_response_is_found(
        self,
        bench: DriverBench,
        type_name: str,
        entity: str,
        method: str,
        path: str,
        name: str | None,
    ) -> None:
        by_type: dict[str, dict[str, Any]] = {
            "OS::Nova::Server": {"image": "cirros", "flavor": "m1.nano"},
            "OS::Neutron::Port": {"network": "public"},
            "OS::Cinder::Volume": {"size": 1},
            "OS::Neutron::FloatingIP": {"floating_network": "public"},
        }
        properties = by_type[type_name]
        if name and type_name != "OS::Neutron::FloatingIP":
            properties = {**properties, "name": name}
        resource_type, context = (
            bench.registry.get(type_name),
            bench.context(type_name, properties),
        )
        bench.create(replace(context, resource_id="other", physical_name="other"))
        before = len(bench.emulation.collection(entity))
        bench.emulation.inject_failure(method, path, 502, after_processing=True)
        with pytest.raises(TemporaryFailure):
            resource_type.create(context)
        assert len(bench.emulation.collection(entity)) == before + 1
        found = resource_type.find(context)
        assert found is not None
        result = resource_type.resume_create(replace(context, physical_id=found))
        assert result.observed in (ObservedState.BUSY, ObservedState.READY)
        assert len(bench.emulation.collection(entity)) == before + 1

    @pytest.mark.parametrize("type_name", ["OS::Nova::Server", "OS::Cinder::Volume"])
    def test_resource_of_same_name_without_mark_is_not_found(
        self, bench: DriverBench, type_name: str
    ) -> None:
        properties: dict[str, Any] = {"name": "mine"}
        properties |= (
            {"size": 1} if "Volume" in type_name else {"image": "cirros", "flavor": "m1.nano"}
        )
        bench.create(bench.context(type_name, properties))
        context = bench.context(type_name, properties)
        assert bench.registry.get(type_name).find(context) is None

    def test_resumed_create_sets_missing_tags(self, bench: DriverBench) -> None:
        context = bench.context("OS::Neutron::Net", {"tags": ["a"]})
        bench.emulation.inject_failure("PUT", "/tags$", 503)
        resource_type = bench.registry.get(context.type)
        with pytest.raises(TemporaryFailure):
            resource_type.create(context)
        found = resource_type.find(context)
        resource_type.resume_create(replace(context, physical_id=found))
        assert bench.emulation.get_existing("neutron.network", str(found)).body["tags"] == ["a"]

    @pytest.mark.parametrize(
        "resource_type", list(load_resource_types()), ids=lambda item: item.name
    )
    def test_find_without_properties_returns_none(
        self, bench: DriverBench, resource_type: ResourceType
    ) -> None:
        """A delete may know only the name and id of the database row."""
        context = bench.context("OS::Neutron::Net", {}, action=Action.DELETE)
        unknown = replace(context, type=resource_type.name, properties={})
        if not resource_type.local:
            assert resource_type.find(unknown) is None


class TestObservation:
    def test_resource_missing_in_list_is_read_singly(self, bench: DriverBench) -> None:
        """RULE 10: a list that lacks a resource does not prove its absence."""
        contexts = [bench.create(bench.context("OS::Neutron::Net", {})) for _ in range(3)]
        resource_type = bench.registry.get("OS::Neutron::Net")
        bench.emulation.add_handler("network", "GET", "/networks", _empty_list)
        results = resource_type.observe_many(contexts)
        assert {result.observed for result in results.values()} == {ObservedState.READY}

    def test_deleted_resource_is_absent(self, bench: DriverBench) -> None:
        contexts = [bench.create(bench.context("OS::Neutron::Net", {})) for _ in range(2)]
        bench.emulation.collection("neutron.network").remove(str(contexts[0].physical_id))
        results = bench.registry.get("OS::Neutron::Net").observe_many(contexts)
        assert results[contexts[0].resource_id].observed is ObservedState.ABSENT
        assert results[contexts[1].resource_id].observed is ObservedState.READY

    def test_unavailable_service_shows_nothing(self, bench: DriverBench) -> None:
        contexts = [bench.create(bench.context("OS::Neutron::Net", {})) for _ in range(2)]
        bench.emulation.inject_failure("GET", "/networks", 503, times=9, Retry_After="20")
        results = bench.registry.get("OS::Neutron::Net").observe_many(contexts)
        shown = [(each.observed, each.attributes) for each in results.values()]
        assert shown == [(ObservedState.BUSY, None)] * 2
        assert [each.poll_after_s for each in results.values()] == [20.0, 20.0]

    def test_failed_server_reports_its_fault(self, bench: DriverBench) -> None:
        context = bench.create(server(bench))
        fault = {"message": "No valid host", "code": 500}
        item = bench.emulation.get_existing("nova.server", str(context.physical_id))
        item.scheduled_changes = []
        item.body.update(status="ERROR", fault=fault)
        result = bench.registry.get(context.type).observe(context)
        assert result.observed is ObservedState.FAILED
        assert "No valid host, Code: 500" in result.reason

    def test_pages_are_followed(self, bench: DriverBench) -> None:
        for number in range(1005):
            bench.emulation.add("nova.flavor", name=f"f{number}")
        bench.create(server(bench, flavor="f1004"))


def _empty_list(emulation: Any, request: Any) -> EmulatedResponse:
    return EmulatedResponse(200, {"networks": []})
