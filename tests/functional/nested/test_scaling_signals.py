"""Signals to scaling policies: sizes, cooldowns, and scalings that meet other actions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nested.test_scaling_groups import (
    FlakyMemberType,
    group,
    members,
    names,
    policy,
    scale,
    signal,
    signals,
    size,
    template,
)
from tests.functional.project_client import ProjectClient, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    FlakyMemberType.broken = False
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(FlakyMemberType(),))
    yield ProjectClient(service)
    service.close()


def test_signals_scale_up_and_down(heat: ProjectClient) -> None:
    heat.create("s", template(group(desired_capacity=2)))
    before = names(heat)
    scale(heat, "up")
    assert size(heat) == 3
    assert names(heat)[:2] == before  # those that were there stay as they were
    third = names(heat)[2]
    scale(heat, "down")
    assert names(heat) == [before[1], third]  # the oldest goes
    scale(heat, "up")
    assert third in names(heat)
    assert before[0] not in names(heat)  # no name is used again
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.resource("s", "g")["resource_status"] == "CREATE_COMPLETE"
    assert (signals(heat, "up"), signals(heat, "down")) == (2, 1)


def test_bounds_apply_and_a_signal_without_effect_has_no_event(heat: ProjectClient) -> None:
    policies = {
        "up": policy(9),
        "down": policy(-9),
        "to": policy(3, "exact_capacity"),
        "more": policy(50, "percent_change_in_capacity", min_adjustment_step=2),
    }
    heat.create("s", template(group(minimum=1, maximum=5), policies))
    for name, number in (("to", 3), ("more", 5), ("up", 5), ("to", 3), ("down", 1), ("down", 1)):
        scale(heat, name)
        assert size(heat) == number
    assert {name: signals(heat, name) for name in policies} == {
        "up": 0,
        "down": 1,
        "to": 2,
        "more": 1,
    }


def test_event_of_a_signal_has_its_details(heat: ProjectClient) -> None:
    heat.create("s", template(group()))
    signal(heat, "up", {"previous": "ok", "current": "alarm", "reason": "busy"})
    reported = [
        event["resource_status_reason"]
        for event in heat.events("s")
        if event["resource_status"].startswith("SIGNAL_")
    ]
    assert reported == ["alarm state changed from ok to alarm (busy)"]
    assert size(heat) == 2


def test_signals_during_the_cooldown_are_ignored(heat: ProjectClient) -> None:
    heat.create("s", template(group(cooldown=60), {"up": policy(1), "own": policy(1, cooldown=0)}))
    heat.service.clock.advance(61)  # the creation's cooldown
    scale(heat, "up")
    assert size(heat) == 2
    metadata = heat.send("GET", f"{heat.path('s')}/resources/g/metadata").json["metadata"]
    assert list(metadata["cooldown_end"].values()) == ["change_in_capacity : 1"]
    assert datetime.fromisoformat(*metadata["cooldown_end"]).tzinfo is None  # as Heat has it
    assert metadata["scaling_in_progress"] is False
    for name in ("up", "own"):
        scale(heat, name)
    assert (size(heat), signals(heat, "up")) == (2, 1)
    heat.service.clock.advance(61)
    scale(heat, "own")
    assert size(heat) == 3
    scale(heat, "own")  # its own cooldown is none
    assert size(heat) == 4


def cooldown_reasons(heat: ProjectClient) -> list[str]:
    path = f"{heat.path('s')}/resources/g/metadata"
    metadata = heat.send("GET", path, leave_pending=True).json["metadata"]
    return list(metadata["cooldown_end"].values())


def test_creation_and_update_of_a_group_start_its_cooldown(heat: ProjectClient) -> None:
    def body(value: str) -> Json:
        return template(group(value, desired_capacity=3, cooldown=60), {"up": policy(1)})

    heat.create("s", body("v"))
    for value in ("w", "x"):
        response = signal(heat, "up")
        assert (response.status_int, size(heat), signals(heat, "up")) == (200, 3, 0)
        assert cooldown_reasons(heat) == ["ExactCapacity : 3"]
        heat.service.clock.advance(61)
        heat.update("s", body(value))
        assert heat.status("s") == "UPDATE_COMPLETE"
    signal(heat, "up")
    assert size(heat) == 3
    heat.service.clock.advance(61)
    scale(heat, "up")
    assert size(heat) == 4


def test_update_does_not_wait_for_the_cooldown(heat: ProjectClient) -> None:
    heat.create("s", template(group(cooldown=3600)))
    scale(heat, "up")
    heat.update("s", template(group(cooldown=3600, desired_capacity=4)))
    assert size(heat) == 4
    scale(heat, "up")  # and does not end it
    assert size(heat) == 4


SLOW = resource_definition(value="v", action_wait_secs={"create": 500})


def test_signal_during_a_scaling_is_ignored(heat: ProjectClient) -> None:
    heat.create("s", template(group(resource=SLOW)))
    scale(heat, "up", hold=True)
    heat.service.run_due_work()
    assert heat.nested_stack("s", "g")["stack_status"] == "UPDATE_IN_PROGRESS"
    metadata = heat.send("GET", f"{heat.path('s')}/resources/g/metadata", leave_pending=True).json
    assert metadata["metadata"]["scaling_in_progress"] is True
    scale(heat, "up", hold=True)
    scale(heat, "down", hold=True)
    assert (len(members(heat)), signals(heat, "up"), signals(heat, "down")) == (2, 1, 0)
    heat.service.run_until_idle()
    assert size(heat) == 2
    scale(heat, "up")
    assert size(heat) == 3


def test_update_supersedes_a_scaling(heat: ProjectClient) -> None:
    heat.create("s", template(group(resource=SLOW)))
    scale(heat, "up", hold=True)
    heat.service.run_due_work()
    heat.update("s", template(group(resource=SLOW, desired_capacity=4)), hold=True)
    heat.service.run_due_work()
    scale(heat, "up", hold=True)  # the group is at work
    heat.service.run_until_idle()
    assert (heat.status("s"), size(heat)) == ("UPDATE_COMPLETE", 4)
    assert signals(heat, "up") == 1


def test_update_of_other_resources_does_not_stop_a_scaling(heat: ProjectClient) -> None:
    heat.create("s", template(group(resource=SLOW)))
    scale(heat, "up", hold=True)
    heat.service.run_due_work()
    other = {"up": policy(1), "down": policy(-2)}
    heat.update("s", template(group(resource=SLOW), other), hold=True)
    heat.service.run_until_idle()
    assert (heat.status("s"), size(heat)) == ("UPDATE_COMPLETE", 2)


def test_stack_is_deleted_during_a_scaling(heat: ProjectClient) -> None:
    heat.create("s", template(group(resource=SLOW)))
    scale(heat, "up", hold=True)
    heat.service.run_due_work()
    stack, descendant = heat.stack("s")["id"], heat.nested_stack("s", "g")["id"]
    heat.delete("s")
    assert (heat.status(stack), heat.status(descendant)) == ("DELETE_COMPLETE", "DELETE_COMPLETE")


def test_next_scaling_repairs_a_failed_scaling(heat: ProjectClient) -> None:
    heat.create(
        "s",
        template(
            group(resource={"type": "Test::FlakyMember"}, maximum=3),
            {"up": policy(1), "to": policy(1, "exact_capacity")},
        ),
    )
    descendant = heat.nested_stack("s", "g")["id"]
    FlakyMemberType.broken = True
    scale(heat, "up")
    assert (heat.status(descendant), heat.status("s")) == ("UPDATE_FAILED", "CREATE_COMPLETE")
    assert heat.resource("s", "g")["resource_status"] == "CREATE_COMPLETE"
    assert heat.outputs("s")["size"] == 1  # who failed does not count
    assert len(heat.outputs("s")["refs"]) == 1
    FlakyMemberType.broken = False
    scale(heat, "up")
    assert (heat.status(descendant), size(heat)) == ("UPDATE_COMPLETE", 2)
    FlakyMemberType.broken = True
    scale(heat, "up")
    kept = names(heat)
    FlakyMemberType.broken = False
    scale(heat, "to")  # who failed goes first
    assert names(heat) == kept[1:]


def test_policy_without_a_group_is_not_found(heat: ProjectClient) -> None:
    lost = policy(1)
    lost["properties"]["auto_scaling_group_id"] = "elsewhere"
    heat.create("s", template(group(), {"up": lost}))
    answer = signal(heat, "up")
    assert (answer.status_int, answer.json["error"]["type"]) == (404, "EntityNotFound")
    assert "elsewhere" in answer.json["error"]["message"]


def test_policy_cannot_scale_the_group_of_another_stack(heat: ProjectClient) -> None:
    heat.create("other", template(group()))
    foreign = policy(1)
    foreign["properties"]["auto_scaling_group_id"] = heat.nested_stack("other", "g")["id"]
    heat.create("s", template(group(), {"up": foreign}))
    assert signal(heat, "up").status_int == 404
    assert heat.outputs("other")["size"] == 1


def test_suspended_stack_is_not_scaled(heat: ProjectClient) -> None:
    heat.create("s", template(group()))
    heat.perform_action("s", "suspend")
    answer = signal(heat, "up")
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "NotSupported")
    heat.perform_action("s", "resume")
    scale(heat, "up")
    assert size(heat) == 2


def test_scaling_completes_after_a_lost_message(heat: ProjectClient) -> None:
    heat.create("s", template(group()))
    scale(heat, "up", hold=True)
    heat.service.bus.pending.clear()
    for _round in range(4):
        heat.service.clock.advance(10)
        heat.service.run_due_work()
    assert size(heat) == 2
    scale(heat, "up")
    assert size(heat) == 3
