"""Updates of large templates that evaluate no more than what changes."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.planning import goal_part
from heat_convergence.db.maintenance import purge
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.tables import content, resource_graph
from heat_convergence.stacks.event_sinks.lifecycle_plugins import LifecyclePlugins
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, resource_definition
from tests.functional.updates.chain_templates import physical_ids, template

Json = Any
LONG = "long " * 2000


def actions_after(heat: ProjectClient, update: Json, **body: Any) -> dict[str, list[str]]:
    """Update the stack; return what was done to each resource."""
    known = {event["id"] for event in heat.events("s", "?limit=1000")}
    heat.update("s", update, **body)
    found: dict[str, list[str]] = {}
    for event in heat.events("s", "?limit=1000"):
        if event["id"] not in known and event["resource_name"] != "s":
            found.setdefault(event["resource_name"], []).append(event["resource_status_reason"])
    return found


def test_nothing_is_read_where_nothing_changes(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    heat.create("s", template())
    assert actions_after(heat, template()) == {}
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert whole_updates == []


def test_statements_do_not_grow_with_the_stack(heat: ProjectClient) -> None:
    counts = []
    for size in (20, 200):
        heat.create(f"s{size}", template(size))
        with count_statements(heat.service.database.engine) as statements:
            heat.update(f"s{size}", template(size, r1=resource_definition(value="new")))
        counts.append(statements.total)
        assert heat.status(f"s{size}") == "UPDATE_COMPLETE"
    assert counts[0] == counts[1]


def test_change_reaches_what_refers_to_it(heat: ProjectClient, whole_updates: list[str]) -> None:
    outputs = {"last": {"get_attr": ["c", "output"]}}
    heat.create("s", template(outputs=outputs))
    before = physical_ids(heat)
    done = actions_after(heat, template(outputs=outputs, a=resource_definition(value="second")))
    assert done.keys() == {"a", "b", "c"}
    assert heat.outputs("s") == {"last": "second"}
    assert physical_ids(heat) == before
    assert whole_updates == []
    assert heat.resource("s", "a")["required_by"] == ["b"]


def test_resources_are_added_and_removed(heat: ProjectClient, whole_updates: list[str]) -> None:
    heat.create("s", template())
    added = resource_definition(value={"get_attr": ["r3", "output"]})
    done = actions_after(heat, template(c=None, d=added))
    assert done.keys() == {"c", "d"}
    assert "c" not in physical_ids(heat)
    assert heat.resource("s", "r3")["required_by"] == ["d"]
    assert heat.resource("s", "b")["required_by"] == []
    assert actions_after(heat, template(d=added)).keys() == {"c"}
    assert heat.resource("s", "b")["required_by"] == ["c"]
    assert whole_updates == []


@pytest.mark.parametrize(
    "inputs",
    [
        {"environment": {"resource_registry": {"resources": {"r1": {"hooks": "pre-update"}}}}},
        {"parameters": {"size": "2"}},
        {"timeout_mins": 7},
        {"converge": True},
    ],
    ids=lambda inputs: next(iter(inputs)),
)
def test_whole_is_read_where_other_inputs_differ(
    heat: ProjectClient, whole_updates: list[str], inputs: Json
) -> None:
    parameters = {"size": {"type": "string", "default": "1"}}
    base = {**template(), "parameters": parameters}
    heat.create("s", base)
    heat.update("s", base, **inputs)
    assert len(whole_updates) == 1


def test_unhealthy_resource_is_replaced_although_it_does_not_change(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    heat.create("s", template())
    before = physical_ids(heat)
    path = f"{heat.path('s')}/resources/r5"
    heat.send("PATCH", path, {"mark_unhealthy": True, "resource_status_reason": "broken"})
    heat.update("s", template(r1=resource_definition(value="new")))
    after = physical_ids(heat)
    assert {name for name in before if before[name] != after[name]} == {"r5"}
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert len(whole_updates) == 1


def test_stack_without_a_graph_gets_one(heat: ProjectClient, whole_updates: list[str]) -> None:
    heat.create("s", template())
    with heat.service.database.write() as connection:
        connection.execute(resource_graph.delete())
    heat.update("s", template(c=resource_definition(value="new")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "a")["required_by"] == ["b"]
    assert len(whole_updates) == 1


def test_update_in_between_is_not_taken_for_what_was_compared(
    heat: ProjectClient, whole_updates: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    heat.create("s", template())
    others = [template(r1=resource_definition(value="of another"))]

    def before_operation(*_arguments: Any) -> None:
        if others:
            heat.update("s", others.pop())

    monkeypatch.setattr(LifecyclePlugins, "before_operation", before_operation)
    heat.update("s", template(r2=resource_definition(value="new")))
    assert others == []
    assert heat.status("s") == "UPDATE_COMPLETE"
    shown = {name: heat.resource("s", name)["attributes"]["output"] for name in ("r1", "r2")}
    assert shown == {"r1": "v1", "r2": "new"}
    assert len(whole_updates) == 1


def test_lost_row_is_created_again(heat: ProjectClient, whole_updates: list[str]) -> None:
    heat.create("s", template())
    with heat.service.database.write() as connection:
        connection.execute(sa.text("DELETE FROM resource WHERE name = 'r5'"))
    heat.update("s", template())
    assert "r5" in physical_ids(heat)
    assert len(whole_updates) == 1


def test_failed_update_is_rolled_back_and_tried_again(heat: ProjectClient) -> None:
    heat.create("s", template())
    bad = template(a=resource_definition(fail=True), r1=resource_definition(value="new"))
    heat.update("s", bad, disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    heat.update("s", bad, disable_rollback=True)
    assert heat.status("s") == "UPDATE_FAILED"
    done = actions_after(heat, template())
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert "a" in done
    assert heat.resource("s", "r1")["attributes"]["output"] == "v1"


def test_mistake_is_reported_as_by_the_whole(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    heat.create("s", template())
    wrong = template(c=resource_definition(value={"get_attr": ["nobody", "output"]}))
    response = heat.send("PUT", heat.path("s"), {"template": wrong})
    assert response.status_int == 400
    message = response.json["error"]["message"]
    assert 'The specified reference "nobody" (in c.Properties.value) is incorrect.' in message
    assert heat.status("s") == "CREATE_COMPLETE"
    circle = template(a=resource_definition(value={"get_attr": ["c", "output"]}))
    response = heat.send("PUT", heat.path("s"), {"template": circle})
    assert response.json["error"]["type"] == "CircularDependencyException"
    assert whole_updates == []


def test_contents_of_untouched_definitions_are_kept(heat: ProjectClient) -> None:
    long = {**resource_definition(value="v4"), "metadata": {"long": LONG}}
    heat.create("s", template(r4=long))
    heat.update("s", template(r4=long, r1=resource_definition(value="new")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    purge.purge_contents(heat.service.database)
    purge.purge_contents(heat.service.database)
    shown = heat.send("GET", f"{heat.path('s')}/resources/r4/metadata")
    assert shown.json == {"metadata": {"long": LONG}}


def test_true_and_one_are_different_values(heat: ProjectClient) -> None:
    def shown(value: Json) -> Json:
        return {"type": "OS::Heat::Value", "properties": {"value": {"v": value}, "type": "json"}}

    heat.create("s", template(x=shown(1)))
    heat.update("s", template(x=shown(True)))
    assert heat.resource("s", "x")["attributes"]["value"] == {"v": True}


def test_replaced_template_that_is_too_large_by_now_is_no_mistake(
    heat: ProjectClient, tmp_path: Any
) -> None:
    heat.create("s", template(r4=resource_definition(value=LONG)))
    options = ApiOptions(partial_update_min_resources=12)
    limits = TemplateLimits(max_template_size=len(LONG))
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, limits=limits)
    later = ProjectClient(service)
    later.update("s", template())
    assert later.status("s") == "UPDATE_COMPLETE"
    service.close()


def test_environment_with_entries_for_single_resources_is_read_as_a_whole(
    heat: ProjectClient, whole_updates: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(SqlResourceRepository, "find_unsettled", tried.append)
    environment = {"resource_registry": {"resources": {"r1": {"restricted_actions": "replace"}}}}
    heat.create("s", template(), environment=environment)
    heat.update("s", template(r2=resource_definition(value="new")), environment=environment)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert (len(whole_updates), tried) == (1, [])


def test_update_after_a_replacement_reads_a_part(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    def replaced(value: str) -> Json:
        return resource_definition(value=value, update_replace=True)

    heat.create("s", template(r1=replaced("old")))
    before = physical_ids(heat)
    heat.update("s", template(r1=replaced("new")))
    assert physical_ids(heat)["r1"] != before["r1"]
    assert actions_after(heat, template(r1=replaced("new"))) == {}
    done = actions_after(heat, template(r1=replaced("new"), c=resource_definition(value="c")))
    assert done.keys() == {"c"}
    assert heat.resource("s", "r1")["required_by"] == []
    assert whole_updates == []


def test_output_that_computes_a_name_is_read_with_the_whole(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    name = {"list_join": ["", ["r", "3"]]}
    outputs = {"third": {"get_attr": [name, "output"]}}
    heat.create("s", template())
    heat.update("s", template(outputs=outputs, r1=resource_definition(value="new")))
    assert heat.outputs("s") == {"third": "v3"}
    assert len(whole_updates) == 1


def test_secret_parameter_does_not_prevent_a_part(
    heat: ProjectClient, whole_updates: list[str]
) -> None:
    parameters = {"key": {"type": "string", "hidden": True}}
    secret = {"environment": {"parameters": {"key": "hush"}}}

    def with_secret(value: str) -> Json:
        shown = template(
            r1=resource_definition(value={"get_param": "key"}), r2=resource_definition(value=value)
        )
        return {**shown, "parameters": parameters}

    heat.create("s", with_secret("one"), **secret)
    assert actions_after(heat, with_secret("two"), **secret).keys() == {"r2"}
    assert whole_updates == []
    changed = {"environment": {"parameters": {"key": "another"}}}
    assert actions_after(heat, with_secret("two"), **changed).keys() == {"r1"}
    assert len(whole_updates) == 1


@pytest.mark.parametrize(("steps", "whole"), [(10_000, 0), (2_600, 1)])
def test_whole_is_read_where_its_steps_are_scarce(
    tmp_path: Any, whole_updates: list[str], steps: int, whole: int
) -> None:
    options = ApiOptions(partial_update_min_resources=12)
    limits = TemplateLimits(max_evaluation_steps=steps)
    service = LocalService(f"sqlite:///{tmp_path}/few.sqlite", options, limits=limits)
    heat = ProjectClient(service)
    heat.create("s", template())
    heat.update("s", template(r1=resource_definition(value="new")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert len(whole_updates) == whole
    service.close()


def test_other_condition_creates_an_unedited_resource(heat: ProjectClient) -> None:
    def conditional(size: int) -> Json:
        optional = {**resource_definition(value="v5"), "condition": "large"}
        return {**template(r5=optional), "conditions": {"large": {"equals": [size, 2]}}}

    heat.create("s", conditional(1))
    assert "r5" not in physical_ids(heat)
    heat.update("s", conditional(2))
    assert "r5" in physical_ids(heat)


def test_other_region_reaches_an_unedited_resource(tmp_path: Any) -> None:
    shown = []
    for region, value in (("north", "old"), ("south", "new")):
        options = ApiOptions(partial_update_min_resources=12, region=region)
        service = LocalService(f"sqlite:///{tmp_path}/regions.sqlite", options)
        heat = ProjectClient(service)
        changed_template = template(
            r4=resource_definition(value={"get_param": "OS::region"}),
            r1=resource_definition(value=value),
        )
        if shown:
            heat.update("s", changed_template)
        else:
            heat.create("s", changed_template)
        shown.append(heat.resource("s", "r4")["attributes"]["output"])
        service.close()
    assert shown == ["north", "south"]


def test_contents_of_replaced_definitions_do_not_pile_up(
    heat: ProjectClient, whole_updates: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(goal_part, "_MOST_CONTENTS_PER_RESOURCE", 0.2)  # 4 in all
    heat.create("s", template())
    for at in range(12):
        long = {**resource_definition(value="v4"), "metadata": {"long": f"{at} {LONG}"}}
        heat.update("s", template(r4=long))
    purge.purge_contents(heat.service.database)
    with heat.service.database.read() as connection:
        stored = connection.scalars(sa.select(content.c.body)).all()
    assert 1 < len(whole_updates) < 6
    assert sum(LONG in text and "heat_template_version" not in text for text in stored) <= 5
