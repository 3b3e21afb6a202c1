"""Scaling groups and their policies through the API, to docs/reference/resource-groups.rst."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


class FlakyMemberType(LocalType):
    """Breaks when it is made while ``broken``."""

    name = "Test::FlakyMember"
    schema = TypeSchema()
    broken = False

    def create(self, view: ResourceContext) -> VerbResult:
        state = ObservedState.FAILED if self.broken else ObservedState.READY
        return VerbResult(state, view.physical_name, reason="it broke")


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    FlakyMemberType.broken = False
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(FlakyMemberType(),))
    yield ProjectClient(service)
    service.close()


def group(value: str = "v", minimum: int = 1, maximum: int = 5, **properties: Json) -> Json:
    definition = properties.pop("resource", resource_definition(value=value))
    return {
        "type": "OS::Heat::AutoScalingGroup",
        "properties": {
            "resource": definition,
            "min_size": minimum,
            "max_size": maximum,
            **properties,
        },
    }


def policy(amount: float, adjustment_type: str = "change_in_capacity", **properties: Json) -> Json:
    return {
        "type": "OS::Heat::ScalingPolicy",
        "properties": {
            "auto_scaling_group_id": {"get_resource": "g"},
            "adjustment_type": adjustment_type,
            "scaling_adjustment": amount,
            **properties,
        },
    }


def template(body: Json, policies: Json = None, **outputs: Json) -> Json:
    default = {
        "refs": {"get_attr": ["g", "refs"]},
        "map": {"get_attr": ["g", "refs_map"]},
        "size": {"get_attr": ["g", "current_size"]},
    }
    if body["properties"]["resource"].get("type") == "OS::Heat::TestResource":
        default["values"] = {"get_attr": ["g", "outputs_list", "output"]}
        default["named"] = {"get_attr": ["g", "outputs", "output"]}
    policies = {"up": policy(1), "down": policy(-1)} if policies is None else policies
    return hot_template({"g": body, **policies}, outputs={**default, **outputs})


def names(heat: ProjectClient) -> list[str]:
    """Return the names of the members, the oldest first."""
    found = heat.outputs("s")["map"]
    return [name for ref in heat.outputs("s")["refs"] for name in found if found[name] == ref]


def size(heat: ProjectClient) -> int:
    found = heat.outputs("s")["size"]
    assert found == len(names(heat)) == len(members(heat))
    return int(found)


def members(heat: ProjectClient) -> list[Json]:
    return heat.resources(heat.nested_stack("s", "g")["id"])


def signal(heat: ProjectClient, name: str, body: Json = None, *, hold: bool = False) -> Any:
    return heat.send("POST", f"{heat.path('s')}/resources/{name}/signal", body, leave_pending=hold)


def scale(heat: ProjectClient, name: str, *, hold: bool = False) -> None:
    answer = signal(heat, name, hold=hold)
    assert (answer.status_int, answer.json) == (200, None), answer.text


def signals(heat: ProjectClient, name: str) -> int:
    """Return the number of events about signals to a resource."""
    return sum(
        event["resource_name"] == name and event["resource_status"].startswith("SIGNAL_")
        for event in heat.events("s")
    )


def test_group_has_members_and_attributes(heat: ProjectClient) -> None:
    heat.create("s", template(
        group(desired_capacity=3),
        first={"get_attr": ["g", "resource.0"]},
        its={"get_attr": ["g", "resource.2.output"]},
        none={"get_attr": ["g", "resource.3"]},
    ))  # fmt: skip
    assert heat.status("s") == "CREATE_COMPLETE"
    outputs = heat.outputs("s")
    assert size(heat) == 3
    assert all(len(name) == 12 and name.isalnum() for name in names(heat))
    assert outputs["values"] == ["v", "v", "v"]
    assert outputs["named"] == dict.fromkeys(names(heat), "v")
    assert (outputs["first"], outputs["its"]) == (outputs["refs"][0], "v")
    assert outputs["none"] is None


@pytest.mark.parametrize(
    ("settings", "number"), [({}, 2), ({"desired_capacity": 0}, 2), ({"desired_capacity": 4}, 4)]
)
def test_initial_size_follows_the_properties(
    heat: ProjectClient, settings: Json, number: int
) -> None:
    if settings.get("desired_capacity") == 0:
        settings = {"desired_capacity": 0, "minimum": 0}
        number = 0
    heat.create("s", template(group(**{"minimum": 2, **settings})))
    assert size(heat) == number


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"minimum": 4, "maximum": 3}, "min_size"),
        ({"desired_capacity": 6}, "desired_capacity"),
        ({"desired_capacity": 1, "minimum": 2}, "desired_capacity"),
    ],
)
def test_inconsistent_sizes_are_refused(heat: ProjectClient, settings: Json, where: str) -> None:
    body = {"stack_name": "s", "template": template(group(**settings))}
    answer = heat.send("POST", "/stacks", body)
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "StackValidationFailed")
    assert f"resources.g.properties.{where}" in answer.json["error"]["message"]


def test_error_in_a_member_is_found_before_the_create(heat: ProjectClient) -> None:
    body = template(group(resource={"type": "OS::Heat::TestResource", "properties": {"x": 1}}))
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert answer.status_int == 400
    assert "resources.g<nested_stack>.resources." in answer.json["error"]["message"]


@pytest.mark.parametrize("adjustment_type", ["change_in_capacity", "exact_capacity"])
def test_minimum_step_requires_a_percentage(heat: ProjectClient, adjustment_type: str) -> None:
    body = template(group(), {"up": policy(1, adjustment_type, min_adjustment_step=2)})
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    error = answer.json["error"]
    assert (answer.status_int, error["type"]) == (400, "ResourcePropertyValueDependency")
    assert "min_adjustment_step" in error["message"]
    assert "percent_change_in_capacity" in error["message"]


def test_attributes_of_members_require_a_name(heat: ProjectClient) -> None:
    body = template(group(), all={"get_attr": ["g", "outputs"]})
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert answer.json["error"]["type"] == "InvalidTemplateAttribute"


def test_update_without_a_size_keeps_the_size(heat: ProjectClient) -> None:
    heat.create("s", template(group()))
    scale(heat, "up")
    scale(heat, "up")
    before = names(heat)
    heat.update("s", template(group(cooldown=5)))
    assert names(heat) == before
    heat.update("s", template(group(maximum=2)))
    assert names(heat) == before[1:]
    heat.update("s", template(group(maximum=6, desired_capacity=5)))
    assert names(heat)[:2] == before[1:]
    assert size(heat) == 5


def test_changed_definition_is_applied_in_batches(heat: ProjectClient) -> None:
    rolling = {"max_batch_size": 2, "min_in_service": 1, "pause_time": 0}
    heat.create("s", template(group(desired_capacity=5, rolling_updates=rolling)))
    before = names(heat)
    path = heat.nested_stack("s", "g")["id"]
    heat.update("s", template(group("w", desired_capacity=5, rolling_updates=rolling)), hold=False)
    assert heat.outputs("s")["values"] == ["w"] * 5
    assert names(heat) == before
    updates = sum(
        event["resource_status"] == "UPDATE_COMPLETE"
        and event["resource_name"] != "g"
        and event["physical_resource_id"] == path
        for event in heat.events(path)
    )
    assert updates == 3


@pytest.mark.parametrize(("number", "batch"), [(1, 1), (2, 1), (5, 3)])
def test_minimum_in_service_may_exceed_the_size(
    heat: ProjectClient, number: int, batch: int
) -> None:
    rolling = {"max_batch_size": batch, "min_in_service": 20, "pause_time": 0}
    heat.create("s", template(group(desired_capacity=number, rolling_updates=rolling)))
    heat.update("s", template(group("w", desired_capacity=number, rolling_updates=rolling)))
    assert (heat.status("s"), heat.outputs("s")["values"]) == ("UPDATE_COMPLETE", ["w"] * number)


def test_pauses_of_rolling_updates_do_not_block_a_worker(heat: ProjectClient) -> None:
    rolling = {"max_batch_size": 1, "pause_time": 100}
    heat.create("s", template(group(desired_capacity=3, rolling_updates=rolling)))
    began = heat.service.clock()
    heat.update("s", template(group("w", desired_capacity=2, rolling_updates=rolling)), hold=True)
    heat.service.run_due_work()
    assert sorted(heat.outputs("s")["values"]) == ["v", "v", "w"]  # one batch
    assert not heat.service.bus.pending
    scale(heat, "up", hold=True)  # is passed over: the group is at work
    heat.service.run_until_idle()
    assert (heat.status("s"), heat.outputs("s")["values"]) == ("UPDATE_COMPLETE", ["w", "w"])
    assert 300 <= (heat.service.clock() - began).total_seconds() < 400
    assert signals(heat, "up") == 0


def test_adopted_group_keeps_its_members(tmp_path: Any) -> None:
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/x.sqlite", options)
    heat = ProjectClient(service)
    heat.create("s", template(group(desired_capacity=2)))
    scale(heat, "up")
    before = heat.outputs("s")["map"]
    document = heat.send("DELETE", f"{heat.path('s')}/abandon").json
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    assert heat.send("POST", "/stacks", body).status_int == 201
    assert heat.status("s") == "ADOPT_COMPLETE"
    assert heat.outputs("s")["map"] == before
    scale(heat, "up")
    assert size(heat) == 4
    assert before.items() <= heat.outputs("s")["map"].items()
    service.close()


def test_preview_shows_changes_of_a_group(heat: ProjectClient) -> None:
    body = {"stack_name": "s", "template": template(group(desired_capacity=2))}
    shown = heat.send("POST", "/stacks/preview", body).json["stack"]["resources"]
    (members,) = [each for each in shown if isinstance(each, list)]  # in the group's place
    assert [each["resource_type"] for each in members] == ["OS::Heat::TestResource"] * 2
    heat.create("s", template(group()))
    changed = {"template": template(group(maximum=9))}
    found = heat.send("PUT", f"{heat.path('s')}/preview", changed).json["resource_changes"]
    assert [each["resource_name"] for each in found["updated"]] == ["g"]


def test_group_size_is_limited_by_the_tree(tmp_path: Any) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/x.sqlite", ApiOptions(max_resources_per_stack=5))
    heat = ProjectClient(service)
    heat.create("s", template(group()))
    scale(heat, "up")
    answer = signal(heat, "up")
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "RequestLimitExceeded")
    assert "resources.g" in answer.json["error"]["message"]
    assert size(heat) == 2
    service.close()
