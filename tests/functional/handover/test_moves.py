"""Moves of resources between stacks, and new names inside one, by plan."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.functional.drift.drift_cases import watch
from tests.functional.handover.handover_cases import (
    EMPTY,
    changing_requests,
    empty_stack,
    hand_made_template,
    make_by_hand,
    net_template,
    physical_ids,
)
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    stack_state,
    template,
    update_stack,
)
from tests.functional.plans.plan_cases import changes, entry, execute, make_plan

Json = Any


def rename_body(new_template: Json, **names: str) -> Json:
    return {"action": "rename", "template": new_template, "rename": names}


def move_body(source: Json, target: Json, to: str = "b", **names: str) -> Json:
    return {
        "action": "move",
        "template": source,
        "move": names,
        "target": {"stack": to, "template": target},
    }


def renamed(old: str, new: str, body: Json) -> Json:
    """Return a template in which a resource has another name, with all references to it."""
    resources = {
        new if name == old else name: definition
        for name, definition in deepcopy(body)["resources"].items()
    }

    def follow(value: Json) -> Json:
        if value == {"get_resource": old}:
            return {"get_resource": new}
        if isinstance(value, dict):
            return {key: follow(each) for key, each in value.items()}
        return [follow(each) for each in value] if isinstance(value, list) else value

    return {**body, "resources": follow(resources)}


def row_facts(service, path: str, name: str) -> Json:
    """Return what a resource keeps wherever it is."""
    shown = service.send("GET", f"{path}/resources/{name}").json["resource"]
    kept = ("physical_resource_id", "resource_type", "attributes", "creation_time")
    return {key: shown[key] for key in kept}


def test_rename_keeps_everything_and_dependents_follow(service, emulated_cloud):
    body = hand_made_template()
    path = create_stack(service, body)
    before = physical_ids(service, path)
    facts = row_facts(service, path, "net")
    emulated_cloud.emulation.request_counts.clear()
    plan = make_plan(service, path, rename_body(renamed("net", "back", body), net="back"))
    assert changes(plan) == {"back": "rename"}
    assert entry(plan, "back")["reason"] == "net until now"
    assert plan["summary"]["destructive_count"] == 0
    execute(service, plan)
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert row_facts(service, path, "back") == facts
    after = physical_ids(service, path)
    assert after == {**{k: v for k, v in before.items() if k != "net"}, "back": before["net"]}
    assert update_stack(service, path, renamed("net", "back", body)) == "UPDATE_COMPLETE"
    assert physical_ids(service, path) == after
    assert changing_requests(emulated_cloud) == []


def test_names_can_be_swapped(service):
    path = create_stack(service, net_template(a={"name": "first"}, b={"name": "second"}))
    before = physical_ids(service, path)
    swapped = net_template(b={"name": "first"}, a={"name": "second"})
    execute(service, make_plan(service, path, rename_body(swapped, a="b", b="a")))
    assert physical_ids(service, path) == {"a": before["b"], "b": before["a"]}


def test_move_to_another_stack(service, emulated_cloud):
    body = hand_made_template()
    source = create_stack(service, body, stack_name="a")
    target = empty_stack(service, "b")
    before = physical_ids(service, source)
    facts = row_facts(service, source, "disk")
    left = deepcopy(body)
    disk = left["resources"].pop("disk")
    target_template = {**EMPTY, "resources": {"data": disk}}
    emulated_cloud.emulation.request_counts.clear()
    plan = make_plan(service, source, move_body(left, target_template, disk="data"))
    assert changes(plan) == {"data": "move"}
    assert entry(plan, "data")["reason"] == "resource disk of stack a until now"
    assert entry(plan, "data")["stack_name"] == "b"
    execute(service, plan)
    assert {stack_state(service, path) for path in (source, target)} == {"UPDATE_COMPLETE"}
    assert physical_ids(service, target) == {"data": before["disk"]}
    assert row_facts(service, target, "data") == facts
    assert physical_ids(service, source) == {k: v for k, v in before.items() if k != "disk"}
    for path, same in ((source, left), (target, target_template)):
        assert update_stack(service, path, same) == "UPDATE_COMPLETE"
    watch(service)
    assert service.send("GET", target).json["stack"]["drift_status"] == "IN_SYNC"
    assert changing_requests(emulated_cloud) == []


def test_references_across_the_stacks_become_parameters(service, emulated_cloud):
    """A server stays and its port moves away: the same value comes from elsewhere."""
    body = hand_made_template()
    source = create_stack(service, body, stack_name="a")
    empty_stack(service, "b")
    before = physical_ids(service, source)
    left = deepcopy(body)
    port = left["resources"].pop("port")
    left["parameters"] = {"port": {"type": "string"}}
    left["resources"]["server"]["properties"]["networks"] = [{"port": {"get_param": "port"}}]
    port["properties"]["network"] = before["net"]
    port["properties"]["security_groups"] = [before["group"]]
    target_template = {**EMPTY, "resources": {"port": port}}
    plan_body = move_body(left, target_template, port="port")
    plan_body["parameters"] = {"port": before["port"]}
    emulated_cloud.emulation.request_counts.clear()
    plan = make_plan(service, source, plan_body)
    assert changes(plan) == {"port": "move"}
    execute(service, plan)
    assert changing_requests(emulated_cloud) == []
    service.send("DELETE", source)
    assert "DELETE" in stack_state(service, source)


def test_what_was_imported_is_moved(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    source = empty_stack(service, "a")
    target = empty_stack(service, "b")
    body = hand_made_template()
    emulated_cloud.emulation.request_counts.clear()
    plan = {"action": "import", "template": body, "import": made}
    execute(service, make_plan(service, source, plan))
    left = deepcopy(body)
    disk = left["resources"].pop("disk")
    target_template = {**EMPTY, "resources": {"disk": disk}}
    execute(service, make_plan(service, source, move_body(left, target_template, disk="disk")))
    assert {**physical_ids(service, source), **physical_ids(service, target)} == made
    assert changing_requests(emulated_cloud) == []


def test_the_deletion_of_the_old_stack_leaves_the_resource(service, emulated_cloud):
    source = create_stack(service, net_template(a={}, c={}), stack_name="a")
    target = create_stack(service, net_template(b={}), stack_name="b")
    moved = physical_ids(service, source)["a"]
    body = move_body(net_template(c={}), net_template(b={}, a={}), a="a")
    execute(service, make_plan(service, source, body))
    service.send("DELETE", source)
    assert stack_state(service, source) == "DELETE_COMPLETE"
    ids = {each["id"] for each in emulated_cloud.bodies("neutron.network")}
    assert moved in ids
    service.send("DELETE", target)
    assert stack_state(service, target) == "DELETE_COMPLETE"
    ids = {each["id"] for each in emulated_cloud.bodies("neutron.network")}
    assert moved not in ids


def test_events_name_the_other_place(service):
    source = create_stack(service, net_template(a={}), stack_name="a")
    target = empty_stack(service, "b")
    body = move_body(EMPTY, net_template(x={}), a="x")
    execute(service, make_plan(service, source, body))

    def reasons(path: str) -> set[str]:
        found = service.send("GET", f"{path}/events").json["events"]
        return {each["resource_status_reason"] for each in found}

    assert "moved to b/x" in reasons(source)
    assert "moved from a/a" in reasons(target)


def test_values_that_would_change_are_refused(service):
    source = create_stack(service, net_template(a={"name": "x"}), stack_name="a")
    empty_stack(service, "b")
    body = move_body(EMPTY, net_template(a={"name": "y"}), a="a")
    error = make_plan(service, source, body, 400)
    assert "b/a (update: name)" in error["message"]


@pytest.mark.parametrize(
    ("source", "target", "names", "status", "expected"),
    [
        ({"a": {}, "c": {}}, {"b": {}, "a": {}}, {"a": "a"}, 400, "still has resource a"),
        ({"c": {}}, {"b": {}}, {"a": "a"}, 400, "has no resource a"),
        ({"c": {}}, {"b": {}}, {"a": "b"}, 409, "has a resource b already"),
        ({"a": {}, "c": {}}, {"b": {}}, {"x": "x"}, 404, "(x) could not be found"),
        ({}, {"b": {}, "a": {}}, {"a": "a"}, 400, "a/c (delete)"),
        ({"c": {}}, {"a": {}}, {"a": "a"}, 400, "b/b (delete)"),
    ],
)
def test_wrong_templates_are_refused(service, source, target, names, status, expected):
    path = create_stack(service, net_template(a={}, c={}), stack_name="a")
    create_stack(service, net_template(b={}), stack_name="b")
    body = move_body(net_template(**source), net_template(**target), **names)
    assert expected in make_plan(service, path, body, status)["message"]


def test_another_type_is_refused(service):
    path = create_stack(service, net_template(a={}), stack_name="a")
    empty_stack(service, "b")
    group = {**EMPTY, "resources": {"a": {"type": "OS::Neutron::SecurityGroup"}}}
    error = make_plan(service, path, move_body(EMPTY, group, a="a"), 400)
    assert "is a OS::Neutron::SecurityGroup in the template" in error["message"]


def test_what_is_known_by_its_name_is_refused(tmp_path):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")  # its handles have URLs of its own
    group = {"count": 1, "resource_def": {"type": "OS::Heat::RandomString"}}
    definitions = {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "group": {"type": "OS::Heat::ResourceGroup", "properties": group},
    }
    path = create_stack(service, {**EMPTY, "resources": definitions}, stack_name="a")
    empty_stack(service, "b")
    names = {"handle": "x", "group": "y"}
    target = {**EMPTY, "resources": {names[name]: each for name, each in definitions.items()}}
    for body in (move_body(EMPTY, target, **names), rename_body(target, **names)):
        message = make_plan(service, path, body, 400)["message"]
        assert "handle: the URL and the user of its signals" in message
        assert "group: it has a nested stack" in message
    service.close()


def test_local_values_go_along(service):
    text = {"type": "OS::Heat::RandomString"}
    outputs = {"value": {"value": {"get_attr": ["x", "value"]}}}
    body = {**EMPTY, "resources": {"a": text}}
    path = create_stack(service, body, stack_name="a")
    target = empty_stack(service, "b")
    shown = service.send("GET", f"{path}/resources/a").json["resource"]["attributes"]["value"]
    target_template = {**EMPTY, "resources": {"x": text}, "outputs": outputs}
    execute(service, make_plan(service, path, move_body(EMPTY, target_template, a="x")))
    (output,) = service.send("GET", target).json["stack"]["outputs"]
    assert output["output_value"] == shown


@pytest.mark.parametrize("changed", ["a", "b"])
def test_an_update_of_either_stack_is_refused(service, changed):
    paths = {
        "a": create_stack(service, net_template(a={}), stack_name="a"),
        "b": empty_stack(service, "b"),
    }
    plan = make_plan(service, paths["a"], move_body(EMPTY, net_template(a={}), a="a"))
    same = net_template(a={}) if changed == "a" else EMPTY
    update_stack(service, paths[changed], same)
    error = execute(service, plan, 409)
    assert error["differences"][0]["stack_name"] == changed
    assert set(physical_ids(service, paths["a"])) == {"a"}


@pytest.mark.parametrize("busy", ["a", "b"])
def test_a_stack_in_progress_is_refused(service, busy):
    paths = {
        "a": create_stack(service, net_template(a={}), stack_name="a"),
        "b": empty_stack(service, "b"),
    }
    service.send("PUT", paths[busy], {"template": template()}, leave_pending=True)
    body = move_body(EMPTY, net_template(a={}), a="a")
    answer = service.send("POST", f"{paths['a']}/plans", body, leave_pending=True)
    assert answer.status_int == 409
    assert answer.json["error"]["type"] == "ActionInProgress"


def test_the_target_is_found_in_the_project_alone(service):
    path = create_stack(service, net_template(a={}), stack_name="a")
    answer = service.send("POST", "/stacks", {"stack_name": "b", "template": EMPTY}, project="q")
    service.run_until_idle()
    other = answer.json["stack"]["id"]
    for name in ("b", other, "absent"):
        body = move_body(EMPTY, net_template(a={}), name, a="a")
        assert "could not be found" in make_plan(service, path, body, 404)["message"]


def test_a_stack_is_no_target_of_itself(service):
    path = create_stack(service, net_template(a={}), stack_name="a")
    error = make_plan(service, path, move_body(EMPTY, net_template(x={}), "a", a="x"), 400)
    assert '"rename"' in error["message"]


@pytest.mark.parametrize(
    "target", [None, "b", {}, {"stack": 1}, {"stack": "b", "converge": True, "template": EMPTY}]
)
def test_bad_targets_are_refused(service, target):
    path = create_stack(service, net_template(a={}), stack_name="a")
    body = {"action": "move", "template": EMPTY, "move": {"a": "a"}, "target": target}
    make_plan(service, path, body, 400)


def test_existing_values_are_kept_on_request(service):
    body = net_template(a={"name": {"get_param": "name"}})
    body["parameters"] = {"name": {"type": "string"}}
    path = create_stack(service, body, stack_name="a", parameters={"name": "n"})
    new = {**renamed("a", "x", body), "parameters": body["parameters"]}
    request = {**rename_body(new, a="x"), "existing": True}
    execute(service, make_plan(service, path, request))
    assert set(physical_ids(service, path)) == {"x"}


def test_a_resource_that_lacks_a_change_is_refused_until_the_next_update(service):
    body = net_template(a={"name": "first"})
    path = create_stack(service, body)
    with service.services.store.transaction() as tx:
        (row,) = tx.resources.get_by_stack(path.split("/")[-1])
        # As a check leaves it that supersedes an update.
        tx.resources.update([row.id], applied_hash=None)
    rename = rename_body(net_template(b={"name": "first"}), a="b")
    assert "would act on b: they have hooks" in make_plan(service, path, rename, 400)["message"]
    assert update_stack(service, path, body) == "UPDATE_COMPLETE"
    execute(service, make_plan(service, path, rename))
