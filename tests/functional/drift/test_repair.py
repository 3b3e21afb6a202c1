"""Repair of drift at the request of a user."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.stacks.goal.stack_builder import StackBuilder
from tests.functional.drift.drift_cases import (
    CHANGES,
    drift,
    ours,
    template_with_everything,
    watch,
)
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    stack_state,
    template,
)

Json = Any


def repair(service: LocalService, path: str, value: Json = None) -> str:
    answer = service.send("POST", f"{path}/actions", {"repair": value})
    assert answer.status_int == 200, answer.text
    return stack_state(service, path)


@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"server stopped"}))
def test_repair_restores_what_others_have_changed(service, emulated_cloud, change):
    name, make, _status, properties = CHANGES[change]
    if properties == ["size"]:
        pytest.skip("a volume cannot shrink")
    path = create_stack(service, template_with_everything())
    watch(service)
    make(emulated_cloud, physical_id(service, path, name))
    watch(service, 60)
    emulated_cloud.emulation.request_counts.clear()
    assert repair(service, path) == "UPDATE_COMPLETE"
    if name != "volume":
        assert not [each for each in emulated_cloud.emulation.request_counts if "volume" in each]
    watch(service)
    found = drift(service, path)
    assert found["resources"] == []
    assert found["drift_status"] == "IN_SYNC"


def test_repair_of_named_resources_leaves_the_others(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    front = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    net = ours(emulated_cloud, "neutron.network", physical_id(service, path, "net"))
    front["name"], net["admin_state_up"] = "two", False
    assert repair(service, path, {"resources": ["port"]}) == "UPDATE_COMPLETE"
    assert (front["name"], net["admin_state_up"]) == ("one", False)
    assert repair(service, path, {"resources": ["net"]}) == "UPDATE_COMPLETE"
    assert net["admin_state_up"] is True


def test_repair_without_drift_starts_nothing(service, emulated_cloud):
    path = create_stack(service, template())
    watch(service)
    assert repair(service, path) == "CREATE_COMPLETE"


def test_repair_that_an_update_overtakes_does_not_undo_it(service, emulated_cloud, monkeypatch):
    path = create_stack(service, template(port=port(name="one")))
    prepare = StackBuilder.prepare_update

    def prepare_after_update(*args: Any) -> Any:
        monkeypatch.setattr(StackBuilder, "prepare_update", prepare)
        answer = service.send("PUT", path, {"template": template(port=port(name="two"))})
        assert answer.status_int == 202, answer.text
        return prepare(*args)

    monkeypatch.setattr(StackBuilder, "prepare_update", prepare_after_update)
    answer = service.send("POST", f"{path}/actions", {"repair": {"resources": ["port"]}})
    assert (answer.status_int, answer.json["error"]["type"]) == (409, "ActionInProgress")
    front = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    assert front["name"] == "two"


def test_repair_reaches_nested_stacks(service, emulated_cloud):
    member = {"type": "OS::Neutron::Net", "properties": {"name": "net-%index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    body = {"heat_template_version": "2016-10-14", "resources": {"group": group}}
    path = create_stack(service, body)
    (changed,) = [e for e in emulated_cloud.bodies("neutron.network") if e["name"] == "net-1"]
    changed["name"] = "other"
    watch(service)
    assert repair(service, path) == "UPDATE_COMPLETE"
    assert changed["name"] == "net-1"


@pytest.mark.parametrize(
    ("value", "status", "text"),
    [
        ("all", 400, "must be null or a map"),
        ({"resources": "port"}, 400, "repair.resources"),
        ({"resources": []}, 400, "at least one"),
        ({"names": ["port"]}, 400, "unknown key"),
        ({"resources": ["nobody"]}, 404, "nobody"),
    ],
)
def test_bad_repair_is_refused(service, value, status, text):
    path = create_stack(service, template())
    answer = service.send("POST", f"{path}/actions", {"repair": value})
    assert answer.status_int == status
    assert text in answer.text


def test_repair_leaves_a_stopped_server_as_it_is(service, emulated_cloud):
    name, stop, _status, _properties = CHANGES["server stopped"]
    path = create_stack(service, template_with_everything())
    watch(service)
    before = physical_id(service, path, name)
    stop(emulated_cloud, before)
    watch(service, 60)
    assert repair(service, path) == "UPDATE_COMPLETE"
    assert physical_id(service, path, name) == before
    assert ours(emulated_cloud, "nova.server", before)["status"] == "SHUTOFF"
    watch(service)
    assert drift(service, path)["resource_counts"]["ERROR"] == 1


def dry_run(service: LocalService, path: str, **value: Json) -> Json:
    """Return what a repair would do, by the name of the resource."""
    answer = service.send("POST", f"{path}/actions", {"repair": {"dry_run": True, **value}})
    assert answer.status_int == 200, answer.text
    shown = answer.json["repair"]
    assert shown["dry_run"] is True
    return {
        each["resource_name"]: (
            each["repair_action"],
            [found["property"] for found in each["properties"]],
            each["repair_reason"],
        )
        for each in shown["resources"]
    }


def test_dry_run_shows_what_a_repair_would_do_and_does_nothing(service, emulated_cloud):
    path = create_stack(service, template_with_everything())
    watch(service)
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    server_id = physical_id(service, path, "server")
    emulated_cloud.emulation.collection("nova.server").remove(server_id)
    watch(service, 60)
    before = service.send("GET", path).json["stack"]
    emulated_cloud.emulation.request_counts.clear()
    found = dry_run(service, path)
    assert found["port"] == ("restore", ["name"], "")
    assert found["server"] == ("recreate", [], "")
    assert {name for name, each in found.items() if each[0] != "update"} == {"port", "server"}
    assert not emulated_cloud.emulation.request_counts
    assert service.send("GET", path).json["stack"] == before
    assert repair(service, path) == "UPDATE_COMPLETE"
    watch(service)
    assert dry_run(service, path) == {}


def test_dry_run_shows_what_refers_to_a_new_resource(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    watch(service)
    key = physical_id(service, path, "net")
    emulated_cloud.emulation.collection("neutron.network").remove(key)
    watch(service, 60)
    found = dry_run(service, path, resources=["net"])
    assert found["net"][0] == "recreate"
    assert found["subnet"] == ("update", [], "it refers to net")
    assert found["port"] == ("update", [], "it refers to net")


def test_dry_run_of_named_resources(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    watch(service)
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service, 60)
    assert dry_run(service, path, resources=["net"]) == {"net": ("observe", [], "")}
    assert dry_run(service, path, resources=["port"]) == {"port": ("restore", ["name"], "")}
    request = {"repair": {"dry_run": True, "resources": ["missing"]}}
    assert service.send("POST", f"{path}/actions", request).status_int == 404


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"drift": "observe-only"}, ("none", [], "the environment leaves it alone")),
        (
            {"restricted_actions": "update"},
            ("fail", ["name"], "the environment restricts update"),
        ),
        (
            {"drift": {"policy": "report", "properties": {"name": "observe-only"}}},
            ("none", [], "name: not restored by a repair"),
        ),
    ],
)
def test_dry_run_respects_the_environment(service, emulated_cloud, words, expected):
    environment = {"resource_registry": {"resources": {"port": words}}}
    path = create_stack(service, template(port=port(name="one")), environment=environment)
    watch(service)
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service, 60)
    assert dry_run(service, path, resources=["port"]) == {"port": expected}


@pytest.mark.parametrize("value", ["maybe", 7, None, []])
def test_odd_value_of_dry_run_is_refused(service, value):
    path = create_stack(service, template())
    answer = service.send("POST", f"{path}/actions", {"repair": {"dry_run": value}})
    assert answer.status_int == 400
    assert "repair.dry_run" in answer.json["error"]["message"]


def test_repair_with_dry_run_false_repairs(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service)
    assert repair(service, path, {"dry_run": False}) == "UPDATE_COMPLETE"
    assert body["name"] == "one"
