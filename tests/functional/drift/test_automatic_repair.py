"""Repairs that the service starts by itself, and their limits."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings
from tests.functional.drift.drift_cases import CHANGES, INTERVAL_S, drift, ours, watch
from tests.functional.drift.drift_cases import template_with_everything as everything
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    stack_state,
    template,
)

Json = Any
NET = "OS::Neutron::Net"
HOUR_S = 3600.0


def environment(**policies: Json) -> Json:
    resources = {name: {"drift": value} for name, value in policies.items()}
    return {"resource_registry": {"resources": resources}}


REPAIR_ALL = environment(**{"*": "repair"})


def nets(count: int) -> Json:
    resources = {f"net{number}": {"type": NET, "properties": {}} for number in range(count)}
    return {"heat_template_version": "2016-10-14", "resources": resources}


def run(service, seconds: float = 60.0) -> None:
    """Let the watch run, and the repairs that it starts."""
    for _ in range(int(seconds / INTERVAL_S)):
        service.clock.advance(INTERVAL_S)
        service.watch.tick()
        service.run_until_idle()


def use_limits(service, **values) -> None:
    service.use_settings(drift=DriftSettings(repairs=RepairLimits(**values)))


def rename(service, cloud, path, name="port") -> Json:
    body = ours(cloud, "neutron.port", physical_id(service, path, name))
    body["name"] = "other"
    return body


def remove_nets(service, cloud, path, count: int) -> None:
    for number in range(count):
        key = physical_id(service, path, f"net{number}")
        cloud.emulation.collection("neutron.network").remove(key)


def repairs(service, path) -> dict[str, tuple[str, int]]:
    answer = service.send("GET", f"{path}/drift/repairs")
    assert answer.status_int == 200, answer.text
    found = answer.json["repairs"]
    return {each["resource_name"]: (each["repair_status"], each["tries"]) for each in found}


def writes(cloud) -> set[str]:
    counts = cloud.emulation.request_counts
    return {each for each in counts if not each.startswith("GET")}


def created(cloud) -> int:
    counts = cloud.emulation.request_counts
    return sum(number for each, number in counts.items() if each == "POST network /networks")


@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"server stopped"}))
def test_drift_is_repaired_by_policy(service, emulated_cloud, change):
    name, make, _status, properties = CHANGES[change]
    if properties == ["size"]:
        pytest.skip("a volume cannot shrink")
    path = create_stack(service, everything(), environment=REPAIR_ALL)
    watch(service)
    make(emulated_cloud, physical_id(service, path, name))
    run(service, 120)
    assert drift(service, path)["drift_status"] == "IN_SYNC"
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert repairs(service, path) == {name: ("STARTED", 1)}


def test_nothing_else_is_touched(service, emulated_cloud):
    path = create_stack(service, everything(), environment=REPAIR_ALL)
    watch(service)
    body = rename(service, emulated_cloud, path)
    emulated_cloud.emulation.request_counts.clear()
    run(service)
    assert body["name"] == "front"
    (write,) = writes(emulated_cloud)
    assert write.startswith("PUT network /ports")


def test_repair_starts_within_two_reads(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    watch(service)
    body = rename(service, emulated_cloud, path)
    run(service, 60)  # the longest interval of reads
    assert drift(service, path)["resource_counts"]["MODIFIED"] + (body["name"] == "one") == 1
    run(service, 30)
    assert body["name"] == "one"


def test_drift_without_the_policy_is_not_repaired(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    body = rename(service, emulated_cloud, path)
    run(service, 120)
    assert body["name"] == "other"
    assert stack_state(service, path) == "CREATE_COMPLETE"


def test_own_policy_of_a_property_decides_its_repair(service, emulated_cloud):
    policies = environment(port={"policy": "repair", "properties": {"name": "report"}})
    body = template(port=port(name="one", admin_state_up=True))
    path = create_stack(service, body, environment=policies)
    found = rename(service, emulated_cloud, path)
    found["admin_state_up"] = False
    run(service, 120)
    assert (found["name"], found["admin_state_up"]) == ("other", True)
    (entry,) = drift(service, path)["resources"]
    assert entry["drift_policy"] == "report"
    assert repairs(service, path)["port"] == ("STARTED", 1)


def test_property_is_repaired_and_its_resource_not_replaced(service, emulated_cloud):
    policies = environment(port={"policy": "report", "properties": {"name": "repair"}})
    path = create_stack(service, template(port=port(name="one")), environment=policies)
    found = rename(service, emulated_cloud, path)
    watch(service, 15)  # the change is recorded, and the port lost before it is repaired
    emulated_cloud.emulation.collection("neutron.port").remove(found["id"])
    emulated_cloud.emulation.request_counts.clear()
    run(service, 300)
    assert writes(emulated_cloud) == set()
    (entry,) = drift(service, path)["resources"]
    assert (entry["drift_status"], entry["drift_policy"]) == ("DELETED", "report")


def test_paused_repairs_wait(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    control = f"{path}/drift/policy"
    assert service.send("PUT", control, {"paused": True}).status_int == 200
    body = rename(service, emulated_cloud, path)
    run(service, 120)
    assert body["name"] == "other"
    assert service.send("PUT", control, {"paused": False}).status_int == 200
    run(service)
    assert body["name"] == "one"


def test_suspended_stack_is_not_repaired(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    service.send("POST", f"{path}/actions", {"suspend": None})
    body = rename(service, emulated_cloud, path)
    run(service, 120)
    assert body["name"] == "other"
    assert stack_state(service, path) == "SUSPEND_COMPLETE"


def test_update_of_a_user_supersedes_a_repair(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    body = rename(service, emulated_cloud, path)
    for _ in range(4):  # until the repair has started; its messages wait
        service.clock.advance(INTERVAL_S)
        service.watch.tick()
    assert service.send("GET", path, leave_pending=True).json["stack"]["stack_status"] == (
        "UPDATE_IN_PROGRESS"
    )
    request = {"template": template(port=port(name="two")), "environment": REPAIR_ALL}
    assert service.send("PUT", path, request).status_int == 202
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert body["name"] == "two"


def test_budget_of_a_stack_limits_destructive_repairs(service, emulated_cloud):
    use_limits(service, per_stack=2)
    path = create_stack(service, nets(6), environment=REPAIR_ALL)
    watch(service)
    remove_nets(service, emulated_cloud, path, 5)
    emulated_cloud.emulation.request_counts.clear()
    run(service, 300)
    assert created(emulated_cloud) == 2
    states = sorted(repairs(service, path).values())
    assert states == [("DEFERRED", 0)] * 3 + [("STARTED", 1)] * 2
    reasons = {
        e["repair_reason"] for e in service.send("GET", f"{path}/drift/repairs").json["repairs"]
    }
    assert reasons == {"", "the stack has had 2 destructive repairs in an hour"}
    run(service, HOUR_S)
    assert created(emulated_cloud) == 4
    run(service, HOUR_S)
    assert created(emulated_cloud) == 5
    assert drift(service, path)["drift_status"] == "IN_SYNC"


def test_budget_of_a_project_limits_destructive_repairs(service, emulated_cloud):
    use_limits(service, per_project=3)
    paths = [
        create_stack(service, nets(2), environment=REPAIR_ALL, stack_name=f"s{number}")
        for number in range(3)
    ]
    watch(service)
    for path in paths:
        remove_nets(service, emulated_cloud, path, 2)
    emulated_cloud.emulation.request_counts.clear()
    run(service, 300)
    assert created(emulated_cloud) == 3


def test_changes_in_place_need_no_budget(service, emulated_cloud):
    use_limits(service, per_stack=0, per_project=0)
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    body = rename(service, emulated_cloud, path)
    run(service, 120)
    assert body["name"] == "one"


def test_repairs_that_do_not_last_are_suspended(service, emulated_cloud):
    use_limits(service, tries=3, backoff_s=60.0)
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    body = rename(service, emulated_cloud, path)
    for _ in range(100):
        run(service, INTERVAL_S)
        body["name"] = "other"  # another controller
    assert repairs(service, path) == {"port": ("SUSPENDED", 3)}
    (shown,) = service.send("GET", f"{path}/drift/repairs").json["repairs"]
    assert shown["repair_reason"] == "3 repairs have not lasted; the last difference was MODIFIED"
    assert shown["next_at"] is None
    emulated_cloud.emulation.request_counts.clear()
    run(service, HOUR_S)
    assert writes(emulated_cloud) == set()
    assert service.send("DELETE", f"{path}/drift/repairs").status_int == 204
    run(service)
    assert body["name"] == "one"
    assert repairs(service, path) == {"port": ("STARTED", 1)}


def test_pauses_between_repairs_grow(service, emulated_cloud):
    use_limits(service, tries=9, backoff_s=60.0)
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    body = rename(service, emulated_cloud, path)
    counts = []
    for _minute in range(16):
        for _ in range(4):
            run(service, INTERVAL_S)
            body["name"] = "other"
        counts.append(repairs(service, path).get("port", ("", 0))[1])
    assert counts[-1] == 5  # after 0, 1, 3, 7 and 15 minutes
    assert counts[7] == 4


def test_only_what_has_drifted_in_a_nested_stack_is_repaired(service, emulated_cloud):
    member = {"type": NET, "properties": {"name": "net-%index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    body = {"heat_template_version": "2016-10-14", "resources": {"group": group}}
    entries = {"group": {"1": {"drift": "repair"}}}
    nested = {"resource_registry": {"resources": entries}}
    create_stack(service, body, environment=nested)
    ours_of = {
        each["name"]: each
        for each in emulated_cloud.bodies("neutron.network")
        if each["name"].startswith("net-")
    }
    for each in ours_of.values():
        each["name"] = "other"
    run(service, 120)
    assert {key: each["name"] for key, each in ours_of.items()} == {
        "net-0": "other",
        "net-1": "net-1",
    }


def test_stack_that_waits_for_an_update_is_left_to_it(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    unhealthy = {"mark_unhealthy": True}
    assert service.send("PATCH", f"{path}/resources/subnet", unhealthy).status_int == 200
    body = rename(service, emulated_cloud, path)
    run(service, 120)
    assert body["name"] == "other"
    assert repairs(service, path) == {"port": ("STARTED", 0)}


def test_resource_lost_while_it_is_restored_is_not_created_outside_of_the_budget(
    service, emulated_cloud
):
    use_limits(service, per_stack=0, per_project=0)
    path = create_stack(service, template(port=port(name="one")), environment=REPAIR_ALL)
    rename(service, emulated_cloud, path)
    emulated_cloud.emulation.inject_failure("PUT", "/ports", 404, times=9)
    emulated_cloud.emulation.request_counts.clear()
    run(service, 120)
    assert {each.split("/")[0].strip() for each in writes(emulated_cloud)} == {"PUT network"}
    assert stack_state(service, path) == "UPDATE_COMPLETE"


def test_resource_lost_while_what_it_refers_to_is_created_anew_is_not_replaced(
    service, emulated_cloud
):
    use_limits(service, per_stack=1)
    front = port(name="one", security_groups=[{"get_resource": "group"}])
    group = {"type": "OS::Neutron::SecurityGroup", "properties": {"name": "web"}}
    path = create_stack(service, template(port=front, group=group), environment=REPAIR_ALL)
    control = f"{path}/drift/policy"
    service.send("PUT", control, {"paused": True})
    body = rename(service, emulated_cloud, path)
    lost_id = physical_id(service, path, "group")
    emulated_cloud.emulation.collection("neutron.security_group").remove(lost_id)
    run(service)
    emulated_cloud.emulation.inject_failure("PUT", "/ports", 404, times=1)
    emulated_cloud.emulation.request_counts.clear()
    service.send("PUT", control, {"paused": False})
    run(service, 300)
    assert not [each for each in writes(emulated_cloud) if each.startswith("POST network /ports")]
    assert body["name"] == "one"
    assert body["security_groups"] == [physical_id(service, path, "group")] != [lost_id]
