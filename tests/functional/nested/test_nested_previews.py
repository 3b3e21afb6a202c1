"""Previews that include nested stacks on request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"
VALUE = {"get_param": "v"}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def child(**more: Json) -> Json:
    return hot_template(
        {"a": resource_definition(value=VALUE), "b": resource_definition(value="same"), **more},
        parameters={"v": {"type": "string"}},
        outputs={"o": {"get_attr": ["a", "output"]}},
    )


def files(template: Json = None) -> Json:
    return {FILE: json.dumps(template or child())}


def nested(value: Json) -> Json:
    return {"type": FILE, "properties": {"v": value}}


def group(count: int, value: Json, **definition: Json) -> Json:
    member = {**nested(value), **definition}
    return {"type": "OS::Heat::ResourceGroup",
            "properties": {"count": count, "resource_def": member}}  # fmt: skip


def scaling(desired: int, value: str) -> Json:
    return {"type": "OS::Heat::AutoScalingGroup", "properties": {
        "min_size": 1, "max_size": 9, "desired_capacity": desired,
        "resource": resource_definition(value=value)}}  # fmt: skip


def preview_update(heat: ProjectClient, template: Json, query: str = "?show_nested=true",
            **body: Json) -> dict[str, list[str]]:  # fmt: skip
    """Return the sorted names by change, with a mark for each level of nesting."""
    found = heat.send("PUT", f"{heat.path('s')}/preview{query}", {"template": template, **body})
    assert found.status_int == 200, found.text

    def reported(each: Json) -> str:
        identity = each["stack_identity"]
        names = re.sub("-[0-9a-f]{12}(?=-|$)", "", identity["stack_name"])  # without ids
        depth = names.count("-")
        assert ("parent_resource" in each) == bool(depth)
        assert identity["stack_id"] == "None" or identity["stack_name"] != names or not depth
        return ">" * depth + str(each["resource_name"])

    changes = found.json["resource_changes"]
    return {
        change_type: sorted(map(reported, each)) for change_type, each in changes.items() if each
    }


def names(entries: list[Json]) -> list[Json]:
    return [names(each) if isinstance(each, list) else each["resource_name"] for each in entries]


def test_preview_of_a_create_shows_nested_resources(heat: ProjectClient) -> None:
    template = hot_template(
        {"n": nested("x"), "g": group(2, "m%index%"), "p": resource_definition(value="y")}
    )
    body = {"stack_name": "s", "template": template, "files": files()}
    shown = heat.send("POST", "/stacks/preview", body).json["stack"]["resources"]
    reported = names(shown)
    assert sorted(map(str, reported)) == ["['a', 'b']", "[['a', 'b'], ['a', 'b']]", "p"]
    assert "'value': 'm1'" in str(shown)
    assert heat.stack("s") is None


def test_preview_shows_changes_in_nested_stacks(heat: ProjectClient) -> None:
    before = hot_template({"n": nested("x"), "still": nested("z"), "g": group(2, "m%index%")})
    heat.create("s", before, files=files())
    after = hot_template({"n": nested("y"), "still": nested("z"), "g": group(3, "m%index%")})
    reported = preview_update(heat, after, files=files())
    assert reported == {
        "unchanged": [">0", ">1", ">>a", ">>a", ">>b", ">>b", ">a", ">b", ">b", "still"],
        "updated": [">a", "g", "n"],
        "added": [">2", ">>a", ">>b"],
    }
    assert preview_update(heat, after, "", files=files()) == {"unchanged": ["still"],
                                                       "updated": ["g", "n"]}  # fmt: skip
    heat.update("s", after, files=files())
    assert set(preview_update(heat, after, files=files())) == {"unchanged"}


def test_preview_of_a_deletion_includes_nested_stacks(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"n": nested("x"), "m": nested("x")}), files=files())
    after = hot_template({"m": {"type": "OS::Heat::Value", "properties": {"value": 1}}})
    reported = preview_update(heat, after, files=files())
    assert reported == {"replaced": ["m"], "deleted": [">a", ">a", ">b", ">b", "n"]}


def test_preview_shows_changes_of_a_file(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"n": nested("x")}), files=files())
    reported = preview_update(
        heat,
        hot_template({"n": nested("x")}),
        files=files(child(c=resource_definition(value="c"))),
    )
    assert reported == {"updated": ["n"], "unchanged": [">a", ">b"], "added": [">c"]}


def test_preview_shows_updates_of_values_not_known_yet(heat: ProjectClient) -> None:
    def template(value: str, count: int = 1) -> Json:
        output = {"get_attr": ["p", "output"]}
        return hot_template(
            {"p": resource_definition(value=value), "n": nested(output), "g": group(count, output)}
        )

    heat.create("s", template("1"), files=files())
    reported = preview_update(heat, template("2"), files=files())
    assert reported == {"updated": [">0", ">>a", ">a", "g", "n", "p"], "unchanged": [">>b", ">b"]}


def test_preview_of_a_scaling_group_keeps_its_members(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"g": scaling(2, "x")}))
    reported = preview_update(heat, hot_template({"g": scaling(3, "y")}))
    assert {change_type: len(each) for change_type, each in reported.items()} == {
        "updated": 3,
        "added": 1,
    }


def test_statements_do_not_increase_with_the_size_of_the_tree(heat: ProjectClient) -> None:
    def counted(count: int) -> int:
        heat.create(f"s{count}", hot_template({"g": group(count, "x")}), files=files())
        body = {"template": hot_template({"g": group(count, "y")}), "files": files()}
        path = f"{heat.path(f's{count}')}/preview?show_nested=true"
        with count_statements(heat.service.database.engine) as count_of:
            found = heat.send("PUT", path, body)
        changes = found.json["resource_changes"]
        assert len(changes["updated"]) == 1 + 2 * count, changes
        return count_of.total

    assert counted(2) == counted(7)


def test_entries_of_an_update_preview_have_the_fields_that_clients_know(
    heat: ProjectClient,
) -> None:
    string = {"type": "OS::Heat::RandomString", "properties": {"length": 8}}
    heat.create("s", hot_template({"n": nested("x"), "r": string}), files=files())
    after = hot_template({"n": nested("y"), "r": {**string, "properties": {"length": 9}}})
    for query in ("", "?show_nested=true"):
        body = {"template": after, "files": files()}
        shown = heat.send("PUT", f"{heat.path('s')}/preview{query}", body).json["resource_changes"]
        changed = next(each for each in shown["updated"] if each["resource_name"] == "n")
        inner = heat.nested_stack("s", "n")
        assert changed["nested_stack_id"] == {
            "tenant": "p", "stack_name": inner["stack_name"], "stack_id": inner["id"], "path": "",
        }  # fmt: skip
        assert not {"properties", "logical_resource_id"} & changed.keys()
        (replaced,) = shown["replaced"]  # shown as the new resource
        assert (replaced["physical_resource_id"], replaced["creation_time"]) == ("", None)
        assert (replaced["resource_action"], replaced["attributes"]) == ("INIT", {"value": None})


def test_preview_of_a_create_shows_outputs(heat: ProjectClient) -> None:
    template = hot_template(
        {"a": resource_definition(value="x")},
        outputs={"r": {"get_resource": "a"}, "o": {"get_attr": ["a", "output"]}, "c": "const"},
    )
    body = {"stack_name": "s", "template": template}
    shown = heat.send("POST", "/stacks/preview", body).json["stack"]
    found = {each["output_key"]: each["output_value"] for each in shown["outputs"]}
    assert found == {"r": "a", "o": None, "c": "const"}
    assert "properties" in shown["resources"][0]
