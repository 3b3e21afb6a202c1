"""The driver's promises on the emulation: calls counted, failures told apart, nothing
made twice."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heat_convergence.clients import error_mapping
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.observer.polling import ObservationBatch, poll_resources
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.id_lookup import IdCache, IdLookup
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.openstack.emulation import PROJECT_ID, EmulatedResponse
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from heat_convergence.testing.sample_rows import resource_row, stack_row

START = datetime(2026, 1, 1, tzinfo=UTC)


class DriverBench:
    def __init__(self, missing: frozenset[str] = frozenset()) -> None:
        self.emulation = create_emulation()
        connection = connect(self.emulation, missing_services=missing)
        self.cloud = SdkCloudClient("bench", PROJECT_ID, lambda: connection, RequestLimiter(4))
        self.registry = ResourceTypeRegistry(load_resource_types())

    def view(self, type_name: str, properties: dict[str, Any], **given: Any) -> ResourceContext:
        kind = self.registry.get(type_name)
        resource_id = given.pop("resource_id", str(uuid.uuid4()))
        now = START + timedelta(seconds=self.emulation.now_s)
        fields = {"physical_id": None, "action": Action.CREATE, "started_at": now, **given}
        return ResourceContext(
            stack_id="s",
            stack_name="web",
            project_id=PROJECT_ID,
            resource_id=resource_id,
            name="it",
            type=type_name,
            physical_name=f"web-it-{resource_id[:12]}",
            properties=resolve_properties(kind.schema, properties),
            attributes={},
            data={},
            now=now,
            random=random.Random(1),
            cloud=self.cloud,
            **fields,
        )

    def create(self, view: ResourceContext) -> ResourceContext:
        look = self.registry.get(view.type).create(view)
        return replace(view, physical_id=look.physical_id)


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


def server(bench: DriverBench, **given: Any) -> ResourceContext:
    networks = given.pop("networks", [{"network": "public"}])
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": networks,
        "user_data_format": "RAW",
        **given,
    }
    return bench.view("OS::Nova::Server", properties)


def test_a_suspended_server_is_adopted_as_it_is(bench):
    view = bench.create(server(bench))
    bench.emulation.advance(5.0)
    kind = bench.registry.get(view.type)
    kind.suspend(replace(view, action=Action.SUSPEND))
    bench.emulation.advance(5.0)
    seen = {
        action: kind.observe(replace(view, action=action)).observed
        for action in (Action.SUSPEND, Action.ADOPT, Action.RESUME)
    }
    assert seen == {
        Action.SUSPEND: ObservedState.READY,
        Action.ADOPT: ObservedState.READY,
        Action.RESUME: ObservedState.BUSY,
    }


class TestCosts:
    def test_200_servers_take_fewer_than_three_calls_each(self, bench):
        views = [bench.create(server(bench)) for _ in range(200)]
        kind = bench.registry.get("OS::Nova::Server")
        looks = {}
        for _ in range(5):
            bench.emulation.advance(1.0)
            due = [replace(view, now=view.now + timedelta(seconds=1)) for view in views]
            looks = kind.observe_many(due)
        assert {look.observed for look in looks.values()} == {ObservedState.READY}
        assert sum(bench.emulation.request_counts.values()) < 200 * 3
        # Five looks, of which one finds that no host has taken them up.
        assert sum(bench.emulation.request_counts.values()) <= 200 + 3 + 5 + 1

    def test_a_look_at_many_is_one_call_for_a_project(self, bench):
        views = [bench.create(bench.view("OS::Neutron::Net", {})) for _ in range(30)]
        others = [replace(view, stack_id="other") for view in views[15:]]
        bench.emulation.request_counts.clear()
        looks = bench.registry.get("OS::Neutron::Net").observe_many([*views[:15], *others])
        assert len(looks) == 30
        assert sum(bench.emulation.request_counts.values()) == 1

    def test_servers_are_listed_by_what_has_changed(self, bench):
        views = [bench.create(server(bench)) for _ in range(5)]
        asked: list[Any] = []

        def listed(emulation: Any, request: Any) -> EmulatedResponse:
            asked.append(request.query)
            bodies, _ = emulation.collection("nova.server").list_page(request.query)
            return EmulatedResponse(200, {"servers": bodies})

        bench.emulation.add_handler("compute", "GET", "/servers/detail", listed)
        looks = bench.registry.get("OS::Nova::Server").observe_many(views)
        assert len(looks) == 5
        (query,) = asked
        since = datetime.fromisoformat(query["changes-since"][0])
        assert START - timedelta(minutes=2) < since < START  # less what clocks may differ

    def test_an_observer_asks_once_for_all_stacks_of_a_project(self, bench):
        due, made = [], 0
        for stack_id in ("one", "two", "three"):
            rows = []
            for type_name in ("OS::Neutron::Net", "OS::Cinder::Volume"):
                properties = {} if "Net" in type_name else {"size": 1}
                for number in range(4):
                    view = bench.create(bench.view(type_name, properties))
                    made += 1
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
                            physical_id=view.physical_id,
                        )
                    )
            due.append(
                ObservationBatch(stack_row(stack_id, project_id=PROJECT_ID), rows, {}, bench.cloud)
            )
        bench.emulation.advance(5.0)
        bench.emulation.request_counts.clear()
        seen = poll_resources(due, bench.registry, START + timedelta(seconds=5))
        observations = [one for stack in seen.values() for one in stack.values()]
        assert len(observations) == made == 24
        assert {one.observed for one in observations} == {ObservedState.READY}
        assert sum(bench.emulation.request_counts.values()) == 2  # one a service and type

    def test_ports_tell_of_their_network_without_asking_for_each(self, bench):
        net = bench.create(bench.view("OS::Neutron::Net", {}))
        subnet = bench.create(
            bench.view("OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.1.0.0/24"})
        )
        kind = bench.registry.get("OS::Neutron::Port")
        bench.emulation.request_counts.clear()
        views = [
            bench.create(bench.view("OS::Neutron::Port", {"network": net.physical_id}))
            for _ in range(20)
        ]
        assert sum(bench.emulation.request_counts.values()) == 20 + 2
        looks = kind.observe_many(views)
        assert sum(bench.emulation.request_counts.values()) == 20 + 2 + 1
        seen = replace(views[7], attributes=looks[views[7].resource_id].attributes)
        assert kind.attribute(seen, "network")["id"] == net.physical_id
        assert [one["id"] for one in kind.attribute(seen, "subnets")] == [subnet.physical_id]

    def test_names_of_every_kind_are_found_in_lists(self, bench):
        """As soon as several are asked for, the whole list is read."""
        now = START
        for noun in ("nova.keypair", "nova.flavor", "neutron.network", "glance.image"):
            for number in range(6):
                bench.emulation.add(noun, name=f"n{number}")
            lookups = IdLookup(bench.cloud, REST_RESOURCES, IdCache(), now)
            for number in range(6):
                assert lookups.find_existing_id(noun, f"n{number}")
            with pytest.raises(errors.EntityNotFound):
                lookups.find_existing_id(noun, "none")

    def test_names_are_looked_up_once(self, bench):
        bench.create(server(bench))
        bench.emulation.request_counts.clear()
        bench.create(server(bench))
        assert sum(bench.emulation.request_counts.values()) == 1

    def test_looks_of_all_stacks_fall_on_one_grid(self):
        due = {
            (
                START
                + timedelta(
                    seconds=at + poll_interval.next_poll_s(START, START + timedelta(seconds=at))
                )
            )
            for at in (20.1, 20.4, 20.7)
        }
        assert due == {START + timedelta(seconds=22)}

    def test_looks_become_rarer(self):
        waits = [
            poll_interval.next_poll_s(START, START + timedelta(seconds=at))
            for at in (0, 30, 120, 900)
        ]
        assert waits == sorted(waits)
        assert waits[-1] == 15.0


class TestFinding:
    """RULE 4: the answer to a create was lost."""

    CASES = (
        ("OS::Nova::Server", "nova.server", "POST", "/servers$"),
        ("OS::Neutron::Port", "neutron.port", "POST", "/ports$"),
        ("OS::Cinder::Volume", "cinder.volume", "POST", "/volumes$"),
        ("OS::Neutron::FloatingIP", "neutron.floatingip", "POST", "/floatingips$"),
    )

    @pytest.mark.parametrize(("type_name", "noun", "method", "path"), CASES)
    @pytest.mark.parametrize("name", [None, "mine"])
    def test_each_exists_once(self, bench, type_name, noun, method, path, name):
        properties = {
            "OS::Nova::Server": {"image": "cirros", "flavor": "m1.nano"},
            "OS::Neutron::Port": {"network": "public"},
            "OS::Cinder::Volume": {"size": 1},
            "OS::Neutron::FloatingIP": {"floating_network": "public"},
        }[type_name]
        if name and type_name != "OS::Neutron::FloatingIP":
            properties = {**properties, "name": name}
        kind, view = bench.registry.get(type_name), bench.view(type_name, properties)
        bench.create(replace(view, resource_id="other", physical_name="other"))
        before = len(bench.emulation.collection(noun))
        bench.emulation.inject_failure(method, path, 502, after_processing=True)
        with pytest.raises(errors.TemporaryFailure):
            kind.create(view)
        assert len(bench.emulation.collection(noun)) == before + 1
        found = kind.find(view)
        assert found is not None
        look = kind.resume_create(replace(view, physical_id=found))
        assert look.observed in (ObservedState.BUSY, ObservedState.READY)
        assert len(bench.emulation.collection(noun)) == before + 1

    @pytest.mark.parametrize("type_name", ["OS::Nova::Server", "OS::Cinder::Volume"])
    def test_what_another_calls_the_same_is_not_taken(self, bench, type_name):
        properties = {"name": "mine"}
        properties |= (
            {"size": 1} if "Volume" in type_name else {"image": "cirros", "flavor": "m1.nano"}
        )
        bench.create(bench.view(type_name, properties))
        view = bench.view(type_name, properties)
        assert bench.registry.get(type_name).find(view) is None

    def test_tags_are_set_by_whoever_goes_on(self, bench):
        view = bench.view("OS::Neutron::Net", {"tags": ["a"]})
        bench.emulation.inject_failure("PUT", "/tags$", 503)
        kind = bench.registry.get(view.type)
        with pytest.raises(errors.TemporaryFailure):
            kind.create(view)
        found = kind.find(view)
        kind.resume_create(replace(view, physical_id=found))
        assert bench.emulation.get_existing("neutron.network", found).body["tags"] == ["a"]

    @pytest.mark.parametrize("kind", list(load_resource_types()), ids=lambda kind: kind.name)
    def test_what_is_not_known_is_not_found(self, bench, kind):
        """A deletion may have nothing to go by but the row's name and id."""
        view = bench.view("OS::Neutron::Net", {}, action=Action.DELETE)
        unknown = replace(view, type=kind.name, properties={})
        if not kind.local:
            assert kind.find(unknown) is None


class TestFailures:
    @pytest.mark.parametrize(
        ("method", "path", "status", "body", "expected"),
        [
            ("GET", "/x", 404, "", errors.ResourceGone),
            ("DELETE", "/networks/1", 409, "", errors.Conflict),
            ("POST", "/servers/1/action", 409, "", errors.Conflict),
            ("POST", "/networks", 409, "", errors.ResourceFailure),
            (
                "POST",
                "/ports",
                409,
                '{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded"}}',
                errors.OverQuota,
            ),
            (
                "POST",
                "/servers",
                403,
                '{"forbidden": {"message": "Quota exceeded for cores"}}',
                errors.OverQuota,
            ),
            (
                "POST",
                "/volumes",
                413,
                '{"overLimit": {"message": "VolumeLimitExceeded: exceeds allowed quota"}}',
                errors.OverQuota,
            ),
            ("POST", "/servers", 403, '{"forbidden": {"message": "no"}}', errors.Forbidden),
            ("GET", "/x", 429, "", errors.Throttled),
            ("GET", "/x", 503, "", errors.TemporaryFailure),
            ("POST", "/x", 400, '{"badRequest": {"message": "wrong"}}', errors.ResourceFailure),
        ],
    )
    def test_each_is_told_apart(self, method, path, status, body, expected):
        error = error_mapping.error_from_response(
            error_mapping.ErrorResponse(method, path, status, text=body)
        )
        assert type(error) is expected

    def test_the_service_says_when_to_come_again(self, bench):
        bench.emulation.inject_failure("POST", "/networks$", 429, **{"Retry_After": "7"})
        with pytest.raises(errors.Throttled) as caught:
            bench.create(bench.view("OS::Neutron::Net", {}))
        assert caught.value.retry_after_s == 7.0

    def test_a_service_that_is_missing_is_named(self):
        bench = DriverBench(missing=frozenset({"load_balancer", "network"}))
        with pytest.raises(errors.ResourceTypeUnavailable, match=r"HEAT-E99001.*network"):
            bench.create(bench.view("OS::Neutron::Net", {}))
        assert not bench.cloud.has_service("network")

    def test_an_unknown_name_is_told_with_its_path(self, bench):
        with pytest.raises(errors.EntityNotFound) as caught:
            bench.create(server(bench, flavor="m9.none"))
        assert str(caught.value) == (
            "resources.it.properties.flavor: The flavor (m9.none) could not be found."
        )

    def test_two_of_one_name_are_too_many(self, bench):
        for _ in range(2):
            bench.emulation.add("neutron.network", name="twin")
        with pytest.raises(errors.PhysicalResourceNameAmbiguity):
            bench.create(bench.view("OS::Neutron::Port", {"network": "twin"}))

    def test_without_a_cloud_nothing_is_made(self, bench):
        view = replace(bench.view("OS::Neutron::Net", {}), cloud=None)
        with pytest.raises(errors.ResourceFailure, match="no cloud"):
            bench.registry.get(view.type).create(view)


class TestLooking:
    def test_a_list_that_lacks_one_proves_nothing(self, bench):
        """RULE 10"""
        views = [bench.create(bench.view("OS::Neutron::Net", {})) for _ in range(3)]
        kind = bench.registry.get("OS::Neutron::Net")
        bench.emulation.add_handler("network", "GET", "/networks", _nothing)
        looks = kind.observe_many(views)
        assert {look.observed for look in looks.values()} == {ObservedState.READY}

    def test_what_is_gone_is_absent(self, bench):
        views = [bench.create(bench.view("OS::Neutron::Net", {})) for _ in range(2)]
        bench.emulation.collection("neutron.network").remove(views[0].physical_id)
        looks = bench.registry.get("OS::Neutron::Net").observe_many(views)
        assert looks[views[0].resource_id].observed is ObservedState.ABSENT
        assert looks[views[1].resource_id].observed is ObservedState.READY

    def test_a_service_that_is_down_says_nothing(self, bench):
        views = [bench.create(bench.view("OS::Neutron::Net", {})) for _ in range(2)]
        bench.emulation.inject_failure("GET", "/networks", 503, times=9)
        assert bench.registry.get("OS::Neutron::Net").observe_many(views) == {}

    def test_a_failed_server_tells_why(self, bench):
        view = bench.create(server(bench))
        fault = {"message": "No valid host", "code": 500}
        item = bench.emulation.get_existing("nova.server", view.physical_id)
        item.scheduled_changes = []
        item.body.update(status="ERROR", fault=fault)
        look = bench.registry.get(view.type).observe(view)
        assert look.observed is ObservedState.FAILED
        assert "No valid host, Code: 500" in look.reason

    def test_pages_are_followed(self, bench):
        for number in range(1005):
            bench.emulation.add("nova.flavor", name=f"f{number}")
        bench.create(server(bench, flavor="f1004"))


def _nothing(emulation: Any, asked: Any) -> EmulatedResponse:
    return EmulatedResponse(200, {"networks": []})
