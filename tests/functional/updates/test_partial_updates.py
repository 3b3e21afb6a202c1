"""Updates of large templates that evaluate no more than what changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.maintenance import purge
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.tables import resource_graph
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
LONG = "long " * 2000


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    options = ApiOptions(partial_update_min_resources=12)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield ProjectClient(service)
    service.close()


@pytest.fixture
def whole_updates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each update appends its stack if it reads all of its rows."""
    found: list[str] = []
    original = SqlResourceRepository.lock_by_stack

    def noted(self: Any, stack_id: str) -> Any:
        found.append(stack_id)
        return original(self, stack_id)

    monkeypatch.setattr(SqlResourceRepository, "lock_by_stack", noted)
    return found


def template(size: int = 20, outputs: Json = None, **changed: Json) -> Json:
    """Return a chain of three, and resources that nothing refers to."""
    resources = {f"r{at}": resource_definition(value=f"v{at}") for at in range(size)}
    resources["b"] = resource_definition(value={"get_attr": ["a", "output"]})
    resources["a"] = resource_definition(value="first")
    resources["c"] = resource_definition(value={"get_attr": ["b", "output"]})
    resources |= changed
    return hot_template(
        {name: raw for name, raw in resources.items() if raw is not None}, outputs=outputs
    )


def actions_after(heat: ProjectClient, update: Json, **body: Any) -> dict[str, list[str]]:
    """Update the stack; return what was done to each resource."""
    known = {event["id"] for event in heat.events("s", "?limit=1000")}
    heat.update("s", update, **body)
    found: dict[str, list[str]] = {}
    for event in heat.events("s", "?limit=1000"):
        if event["id"] not in known and event["resource_name"] != "s":
            found.setdefault(event["resource_name"], []).append(event["resource_status_reason"])
    return found


def physical_ids(heat: ProjectClient) -> dict[str, str]:
    return {each["resource_name"]: each["physical_resource_id"] for each in heat.resources("s")}


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


def test_graph_has_every_resource_afterwards(heat: ProjectClient) -> None:
    heat.create("s", template())
    heat.update("s", template(b=resource_definition(value="alone"), r1=None))
    rows = {each["resource_name"] for each in heat.resources("s")}
    with heat.service.database.read() as connection:
        edges = connection.execute(sa.select(resource_graph)).all()
    assert len({edge.resource_id for edge in edges}) == len(rows)
    assert {(edge.version, edge.observed_ready) for edge in edges} == {(2, True)}
    assert heat.resource("s", "a")["required_by"] == []


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


def test_lost_row_is_created_again(heat: ProjectClient, whole_updates: list[str]) -> None:
    heat.create("s", template())
    with heat.service.database.write() as connection:
        connection.execute(resource_graph.delete())
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
    long = resource_definition(value=LONG)
    heat.create("s", template(r4=long))
    heat.update("s", template(r4=long, r1=resource_definition(value="new")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    purge.purge_contents(heat.service.database)
    purge.purge_contents(heat.service.database)
    heat.perform_action("s", "check")
    assert heat.status("s") == "CHECK_COMPLETE"
    assert heat.resource("s", "r4")["attributes"]["output"] == LONG
    changed = {**long, "metadata": {"a": 1}}
    heat.update("s", template(r4=changed, r1=resource_definition(value="new")))
    assert heat.status("s") == "UPDATE_COMPLETE"


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
