"""Updates of groups of resources: counts, removals, batches and pauses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nested.test_resource_groups import group, names, template, values
from tests.functional.project_client import ProjectClient, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_count_of_members_may_grow_and_shrink(heat: ProjectClient) -> None:
    heat.create("s", template(group(0)))
    assert (heat.status("s"), values(heat)) == ("CREATE_COMPLETE", [])
    for number in (3, 5, 2):
        before = heat.outputs("s")["map"]
        heat.update("s", template(group(number)))
        after = heat.outputs("s")["map"]
        assert names(heat) == [str(at) for at in range(number)]
        assert all(after[name] == before[name] for name in after.keys() & before.keys())


def test_changed_definition_updates_all_members_together(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    heat.update("s", template(group(3, "w%index%")))
    assert values(heat) == ["w0", "w1", "w2"]


def test_changed_index_variable_replaces_the_group(heat: ProjectClient) -> None:
    heat.create("s", template(group(2)))
    before = heat.nested_stack("s", "g")["id"]
    heat.update("s", template(group(2, "v@@@", index_var="@@@")))
    assert values(heat) == ["v0", "v1"]
    assert heat.nested_stack("s", "g")["id"] != before
    assert heat.status(before) == "DELETE_COMPLETE"


def remove(*members: Json) -> Json:
    return [{"resource_list": list(members)}]


def test_removed_names_are_not_reused(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    heat.update("s", template(group(3, removal_policies=remove("1"))))
    assert (names(heat), heat.outputs("s")["removed"]) == (["0", "2", "3"], ["1"])
    heat.update("s", template(group(2, removal_policies=remove(0))))
    assert (names(heat), heat.outputs("s")["removed"]) == (["2", "3"], ["0", "1"])
    heat.update("s", template(group(4)))
    assert names(heat) == ["2", "3", "4", "5"]


def test_new_removals_may_replace_earlier_ones(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    mode = {"removal_policies_mode": "update"}
    heat.update("s", template(group(3, removal_policies=remove("1"), **mode)))
    heat.update("s", template(group(3, removal_policies=remove("0"), **mode)))
    assert (names(heat), heat.outputs("s")["removed"]) == (["1", "2", "3"], ["0"])


def test_member_is_removed_by_its_reference(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    deleted = heat.outputs("s")["refs"][0]
    heat.update("s", template(group(3, removal_policies=remove(deleted))))
    assert names(heat) == ["1", "2", "3"]


def sizes(heat: ProjectClient) -> list[tuple[int, int]]:
    """Return the group's sizes at the end of each traversal of the nested stack.

    Returns:
        Pairs of the number of members and the number of members with a new definition,
        from the events of the nested stack.
    """
    descendant = heat.nested_stack("s", "g")
    stack_name = descendant["stack_name"]
    events = heat.events(descendant["id"], "?sort_dir=asc")
    alive: set[str] = set()
    found, changed = [], 0
    for event in events:
        name, status = event["resource_name"], event["resource_status"]
        if name == stack_name and status.endswith("_COMPLETE"):
            found.append((len(alive), changed))
            changed = 0
        elif name == stack_name:
            continue
        elif status == "CREATE_COMPLETE":
            alive.add(name)
        elif status == "DELETE_COMPLETE":
            alive.discard(name)
        elif status == "UPDATE_COMPLETE":
            changed += 1
    return found


def test_members_are_updated_in_batches(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 2, "pause_time": 7}}
    heat.create("s", template(group(5, update_policy=policy)))
    heat.update("s", template(group(5, "w%index%", update_policy=policy)))
    assert (heat.status("s"), values(heat)) == ("UPDATE_COMPLETE", [f"w{i}" for i in range(5)])
    assert sizes(heat) == [(5, 0), (5, 2), (5, 2), (5, 1)]


def test_minimum_of_members_stays_in_service(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"min_in_service": 3, "max_batch_size": 1}}
    heat.create("s", template(group(3, update_policy=policy)))
    heat.update("s", template(group(3, "w%index%", update_policy=policy)))
    assert values(heat) == ["w0", "w1", "w2"]
    assert sizes(heat) == [(3, 0), (4, 0), (4, 1), (4, 1), (4, 1), (3, 0)]


@pytest.mark.parametrize(("number", "batch"), [(1, 1), (2, 1), (10, 3)])
def test_minimum_in_service_may_exceed_the_size(
    heat: ProjectClient, number: int, batch: int
) -> None:
    policy = {"rolling_update": {"min_in_service": 20, "max_batch_size": batch}}
    heat.create("s", template(group(number, update_policy=policy)))
    heat.update("s", template(group(number, "w%index%", update_policy=policy)))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert values(heat) == [f"w{at}" for at in range(number)]


def test_members_are_created_in_batches(heat: ProjectClient) -> None:
    policy = {"batch_create": {"max_batch_size": 2, "pause_time": 3}}
    heat.create("s", template(group(5, update_policy=policy)))
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.resource("s", "g")["resource_status"] == "CREATE_COMPLETE"
    assert sizes(heat) == [(2, 0), (4, 0), (5, 0)]


def test_pause_does_not_block_a_worker(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 2, "pause_time": 100}}
    heat.create("s", template(group(5, update_policy=policy)))
    began = heat.service.clock()
    heat.update("s", template(group(5, "w%index%", update_policy=policy)), hold=True)
    heat.service.run_due_work()
    assert (heat.status("s"), heat.status(heat.nested_stack("s", "g")["id"])) == (
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE",
    )
    assert not heat.service.bus.pending  # no message, no worker: a time in a row
    due = heat.service.services.store.sweeps.get_next_observation_time()
    assert 90 < (due - heat.service.clock()).total_seconds() <= 100
    heat.service.run_until_idle()
    assert values(heat) == [f"w{i}" for i in range(5)]
    assert 200 <= (heat.service.clock() - began).total_seconds() < 300


def test_update_and_delete_interrupt_a_pause(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 1000}}
    heat.create("s", template(group(3, update_policy=policy)))
    heat.update("s", template(group(3, "w%index%", update_policy=policy)), hold=True)
    heat.service.run_due_work()
    began = heat.service.clock()
    heat.update("s", template(group(3, "x%index%")))
    assert values(heat) == ["x0", "x1", "x2"]
    heat.update("s", template(group(3, "y%index%", update_policy=policy)), hold=True)
    heat.service.run_due_work()
    stack_id = heat.stack("s")["id"]
    heat.delete("s")
    assert heat.status(stack_id) == "DELETE_COMPLETE"
    assert (heat.service.clock() - began).total_seconds() < 100


def test_pauses_longer_than_the_timeout_fail_the_update(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 60}}
    heat.create("s", template(group(3, update_policy=policy)))
    body = template(group(3, "w%index%", update_policy=policy))
    heat.update("s", body, timeout_mins=2)
    assert heat.status("s") == "UPDATE_FAILED"
    assert "pauses of 120 seconds in all" in heat.stack("s")["stack_status_reason"]
    assert values(heat) == ["v0", "v1", "v2"]
    heat.update("s", body, timeout_mins=3)
    assert values(heat) == ["w0", "w1", "w2"]


def test_changed_count_alone_starts_no_rolling_update(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 1}}
    heat.create("s", template(group(2, update_policy=policy)))
    heat.update("s", template(group(6, update_policy=policy)))
    assert sizes(heat) == [(2, 0), (6, 0)]


def test_failed_member_is_reported_with_its_path_and_repaired(heat: ProjectClient) -> None:
    bad = {"resource_def": resource_definition(value="x", fail=True)}
    heat.create("s", template(group(2, **bad)))
    assert heat.status("s") == "CREATE_FAILED"
    assert ": resources.g.resources." in heat.stack("s")["stack_status_reason"]
    before = heat.resource("s", "g")["physical_resource_id"]
    heat.update("s", template(group(2)))
    assert (heat.status("s"), values(heat)) == ("UPDATE_COMPLETE", ["v0", "v1"])
    assert heat.nested_stack("s", "g")["id"] == before


def test_unhealthy_group_is_replaced(heat: ProjectClient) -> None:
    heat.create("s", template(group(1)))
    before = heat.nested_stack("s", "g")["id"]
    body = {"mark_unhealthy": True, "resource_status_reason": "ill"}
    heat.send("PATCH", f"{heat.path('s')}/resources/g", body)
    heat.update("s", template(group(1)))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.nested_stack("s", "g")["id"] != before
