"""The drift of nested stacks, as the resources that stand for them show it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.db.tables import stack
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.drift.drift_cases import drift, watch
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, create_stack

Json = Any
LEAVES = 3
EMPTY: Json = {"heat_template_version": "2016-10-14"}


def _files() -> dict[str, str]:
    net = {"type": "OS::Neutron::Net", "properties": {"name": {"get_param": "name"}}}
    leaf = {**EMPTY, "parameters": {"name": {"type": "string"}}, "resources": {"net": net}}
    middle = {**leaf, "resources": {"below": _part("leaf.yaml", {"get_param": "name"})}}
    return {"leaf.yaml": json.dumps(leaf), "middle.yaml": json.dumps(middle)}


def _part(file: str, name: Json) -> Json:
    return {"type": file, "properties": {"name": name}}


def create_tree(service: LocalService, leaves: int = LEAVES, name: str = "s") -> str:
    """Create a stack with a nested stack that has another, some without, and a plain resource."""
    resources = {f"leaf{at}": _part("leaf.yaml", f"{name}-leaf{at}") for at in range(leaves)}
    resources["middle"] = _part("middle.yaml", f"{name}-deep")
    resources["plain"] = {"type": "OS::Neutron::Net"}
    resources["value"] = {"type": "OS::Heat::Value", "properties": {"value": "1"}}
    body = {**EMPTY, "resources": resources}
    return create_stack(service, body, files=_files(), stack_name=name)


def rename(cloud: ClockedEmulation, name: str) -> None:
    (found,) = [each for each in cloud.bodies("neutron.network") if each["name"] == name]
    found["name"] = "other"


def listed(service: LocalService, path: str, query: str = "") -> dict[str, Json]:
    answer = service.send("GET", f"{path}/resources{query}")
    return {each["resource_name"]: each for each in answer.json["resources"]}


def shown(service: LocalService, path: str, name: str) -> Json:
    return service.send("GET", f"{path}/resources/{name}").json["resource"]


def nested_path(service: LocalService, path: str, name: str) -> str:
    (link,) = [each for each in shown(service, path, name)["links"] if each["rel"] == "nested"]
    return "/stacks/" + str(link["href"]).split("/stacks/", 1)[1]


def test_nothing_is_known_before_a_read(service, emulated_cloud):
    path = create_tree(service)
    statuses = {name: each["drift_status"] for name, each in listed(service, path).items()}
    assert set(statuses.values()) == {"NOT_CHECKED"}
    assert shown(service, path, "middle")["drift_status"] == "NOT_CHECKED"


@pytest.mark.parametrize(("changed", "resource"), [("s-leaf1", "leaf1"), ("s-deep", "middle")])
def test_resource_of_a_nested_stack_shows_its_drift(service, emulated_cloud, changed, resource):
    path = create_tree(service)
    rename(emulated_cloud, changed)
    watch(service)
    found = listed(service, path)
    drifted = {name for name, each in found.items() if each["drift_status"] == "MODIFIED"}
    assert drifted == {resource}
    assert found["leaf0"]["drift_status"] == found["plain"]["drift_status"] == "IN_SYNC"
    assert found["value"]["drift_status"] == "NOT_CHECKED"
    assert found[resource]["observed_at"] == found["plain"]["observed_at"]
    for name, each in found.items():
        alone = shown(service, path, name)
        assert (alone["drift_status"], alone["observed_at"]) == (
            each["drift_status"],
            each["observed_at"],
        )


def test_view_of_the_nested_stack_agrees_with_its_resource(service, emulated_cloud):
    path = create_tree(service)
    rename(emulated_cloud, "s-deep")
    watch(service)
    middle = nested_path(service, path, "middle")
    assert shown(service, path, "middle")["drift_status"] == "MODIFIED"
    assert service.send("GET", middle).json["stack"]["drift_status"] == "MODIFIED"
    found = drift(service, middle)
    assert found["drift_status"] == "MODIFIED"
    assert [each["resource_name"] for each in found["resources"]] == ["net"]
    assert drift(service, nested_path(service, path, "leaf0"))["resources"] == []


def test_tree_is_listed_with_the_drift_of_each_level(service, emulated_cloud):
    path = create_tree(service)
    rename(emulated_cloud, "s-deep")
    watch(service)
    found = listed(service, path, "?nested_depth=3")
    assert {found[name]["drift_status"] for name in ("middle", "below")} == {"MODIFIED"}


def test_drift_lists_no_resource_twice(service, emulated_cloud):
    path = create_tree(service)
    rename(emulated_cloud, "s-deep")
    watch(service)
    found = drift(service, path)
    assert [each["resource_name"] for each in found["resources"]] == ["net"]
    assert found["resource_counts"]["MODIFIED"] == 1
    assert sum(found["resource_counts"].values()) == LEAVES + 2


@pytest.mark.parametrize("suffix", ["/resources", "/resources?nested_depth=3", "/drift"])
def test_statements_do_not_grow_with_nested_stacks(service, emulated_cloud, suffix):
    paths = [create_tree(service, leaves, f"t{leaves}") for leaves in (1, 12)]
    watch(service)
    counts = set()
    for path in paths:
        with count_statements(service.database.engine) as count:
            service.send("GET", f"{path}{suffix}")
        counts.add(count.total)
    assert len(counts) == 1


def test_stack_without_nested_stacks_costs_no_statement_more(service, emulated_cloud):
    plain = {**EMPTY, "resources": {"plain": {"type": "OS::Neutron::Net"}}}
    paths = create_stack(service, plain), create_tree(service, name="tree")
    counts = []
    for path in paths:
        with count_statements(service.database.engine) as count:
            listed(service, path)
        counts.append(count.total)
    assert counts[1] == counts[0] + 1


def test_stacks_that_own_each_other_do_not_block_a_request(service, emulated_cloud):
    """RULE 11: rows that contradict each other."""
    path = create_tree(service)
    rename(emulated_cloud, "s-deep")
    watch(service)
    middle_id = nested_path(service, path, "middle").rsplit("/", 1)[1]
    deepest = nested_path(service, nested_path(service, path, "middle"), "below")
    with service.database.write() as connection:
        middle = stack.update().where(stack.c.id == middle_id)
        connection.execute(middle.values(owner_id=deepest.rsplit("/", 1)[1]))
    assert drift(service, deepest)["drift_status"] == "MODIFIED"
