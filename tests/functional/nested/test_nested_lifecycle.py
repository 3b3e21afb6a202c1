"""Nested stacks through the API: life, failure, and what users see of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.template.limits import TemplateLimits
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions(max_nested_stack_depth=3))
    yield ProjectClient(service)
    service.close()


def child(**resources: Json) -> Json:
    """A template with a parameter, a resource that shows it, and an output of that."""
    return hot_template(
        {"a": resource_definition(value={"get_param": "v"}), **resources},
        parameters={"v": {"type": "string", "default": "d", "constraints": [
            {"length": {"max": 10}}]}},
        outputs={"out": {"get_attr": ["a", "output"]}},
    )  # fmt: skip


def parent(**properties: Json) -> Json:
    return hot_template(
        {
            "n": {"type": FILE, "properties": properties},
            "after": resource_definition(value={"get_attr": ["n", "out"]}),
        },
        outputs={
            "out": {"get_attr": ["after", "output"]},
            "inner": {"get_attr": ["n", "resource.a", "output"]},
            "dotted": {"get_attr": ["n", "resource.a.output"]},
            "id": {"get_attr": ["n", "resource.a"]},
            "ref": {"get_resource": "n"},
        },
    )


def files(template: Json, **others: Json) -> dict[str, str]:
    found = {FILE: template, **others}
    return {name: json.dumps(each) for name, each in found.items()}


def test_properties_are_parameters_and_outputs_are_attributes(heat: ProjectClient) -> None:
    heat.create("s", parent(v="hello"), files=files(child()))
    assert heat.status("s") == "CREATE_COMPLETE"
    outputs = heat.outputs("s")
    nested = heat.nested_stack("s", "n")
    assert (outputs["out"], outputs["inner"], outputs["dotted"]) == ("hello",) * 3
    assert outputs["id"] == heat.resource(nested["id"], "a")["physical_resource_id"]
    assert outputs["ref"].endswith(f":stacks/{nested['stack_name']}/{nested['id']}")
    assert nested["parent"] == heat.stack("s")["id"]
    assert nested["disable_rollback"] is True
    assert heat.resource("s", "n")["attributes"] == {"out": "hello"}


def test_stack_list_shows_nested_stacks_only_on_request(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    names = [each["stack_name"] for each in heat.send("GET", "/stacks").json["stacks"]]
    assert names == ["s"]
    shown = heat.send("GET", "/stacks?show_nested=True").json["stacks"]
    assert len(shown) == 2


def test_no_op_update_starts_no_nested_traversal(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    events = len(heat.events("s", "?nested_depth=2"))
    heat.update("s", parent(), files=files(child()))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert len(heat.events("s", "?nested_depth=2")) == events + 2  # the root's own


def test_changed_properties_update_the_nested_stack_in_place(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    before = heat.nested_stack("s", "n")
    heat.update("s", parent(v="two"), files=files(child()))
    after = heat.nested_stack("s", "n")
    assert (before["id"], after["stack_status"]) == (after["id"], "UPDATE_COMPLETE")
    assert heat.outputs("s")["out"] == "two"


def test_changed_file_alone_updates_the_nested_stack(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    heat.update("s", parent(), files=files(child(b=resource_definition(value="b"))))
    inside = {each["resource_name"] for each in heat.resources("s", "?nested_depth=1")}
    assert inside == {"n", "after", "a", "b"}


def test_new_template_for_the_same_type_is_an_update(heat: ProjectClient) -> None:
    template = hot_template({"n": {"type": "My::Type"}})
    texts = files(child(), other=child(b=resource_definition()))
    texts = {**texts, "file:///t/other.yaml": json.dumps(child(b=resource_definition()))}
    del texts["other"]

    def environment(name: str) -> Json:
        return {"resource_registry": {"My::Type": name}}

    heat.create("s", template, files=texts, environment=environment(FILE))
    before = heat.nested_stack("s", "n")["id"]
    heat.update("s", template, files=texts, environment=environment("file:///t/other.yaml"))
    assert heat.nested_stack("s", "n")["id"] == before
    assert {each["resource_name"] for each in heat.resources(before)} == {"a", "b"}


def test_newly_read_output_does_not_change_the_nested_stack(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"n": {"type": FILE}}), files=files(child()))
    more = hot_template(
        {"n": {"type": FILE}}, outputs={"o": {"get_attr": ["n", "resource.a.output"]}}
    )
    heat.update("s", more, files=files(child()))
    assert heat.outputs("s") == {"o": "d"}


def test_unread_attributes_are_shown_on_request(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"n": {"type": FILE}}), files=files(child()))
    path = f"{heat.path('s')}/resources/n?with_attr=resource.a.output&with_attr=resource.z"
    reported = heat.send("GET", path, leave_pending=True).json["resource"]["attributes"]
    assert (reported["resource.a.output"], reported["resource.z"]) == ("d", None)


def test_list_of_maps_becomes_a_list_of_members(heat: ProjectClient) -> None:
    inner = hot_template({"a": resource_definition(value={"list_join": ["|", {"get_param": "v"}]})},  # noqa: E501
                parameters={"v": {"type": "comma_delimited_list"}},
                outputs={"o": {"get_attr": ["a", "output"]}})  # fmt: skip
    n = {"type": FILE, "properties": {"v": [{"k": "x", "q": 1}, {"k": "y"}]}}
    heat.create(
        "s", hot_template({"n": n}, outputs={"o": {"get_attr": ["n", "o"]}}), files=files(inner)
    )
    assert heat.outputs("s") == {"o": ".member.0.k=x|.member.0.q=1|.member.1.k=y"}


def test_missing_nested_resource_is_reported(heat: ProjectClient) -> None:
    outputs = {"o": {"get_attr": ["n", "resource.z.output"]}}
    heat.create("s", hot_template({"n": {"type": FILE}}, outputs=outputs), files=files(child()))
    (reported,) = heat.stack("s")["outputs"]
    assert reported["output_value"] is None
    assert "n has no resource z inside" in reported["output_error"]


def test_output_without_a_value_fails_its_readers(heat: ProjectClient) -> None:
    template = child()
    template["outputs"]["out"] = {"value": {"yaql": {
        "expression": "$.data.a / 0", "data": {"a": {"get_attr": ["a", "output"]}}}}}  # fmt: skip
    template["outputs"]["well"] = {"value": {"get_attr": ["a", "output"]}}
    heat.create("s", parent(v="1"), files=files(template))
    assert heat.status("s") == "CREATE_FAILED"
    failed = heat.resource("s", "after")["resource_status_reason"]
    assert failed.startswith("TemplateOutputError: ")
    assert "Error in n output out: YAQL: " in failed
    assert heat.resource("s", "n")["attributes"] == {"out": None, "well": "1"}
    body = {"template": parent(v="1"), "files": files(template)}
    preview = heat.send("PUT", f"{heat.path('s')}/preview", body)
    assert preview.status_int == 200, preview.text


def test_limits_of_the_service_apply_to_nested_outputs(tmp_path: Any) -> None:
    many = {"str_split": [",", {"get_attr": ["a", "output"]}]}
    template = child()
    template["parameters"]["v"].pop("constraints")
    template["outputs"]["out"] = {"value": {"yaql": {
        "expression": "$.data.where($ != 'b').join('')", "data": many}}}  # fmt: skip
    service = LocalService(
        f"sqlite:///{tmp_path}/limits.sqlite", limits=TemplateLimits(yaql_limit_iterators=1000)
    )
    heat = ProjectClient(service)
    heat.create("s", parent(v=",".join("a" * 900)), files=files(template))
    assert heat.outputs("s")["out"] == "a" * 900
    service.close()


def test_actions_apply_to_nested_stacks(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    for verb in ("suspend", "resume", "check"):
        heat.perform_action("s", verb)
        expected = f"{verb.upper()}_COMPLETE"
        assert (heat.status("s"), heat.nested_stack("s", "n")["stack_status"]) == (expected,) * 2


def test_delete_includes_nested_stacks(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.delete("s")
    assert heat.stack("s") is None
    assert heat.status(descendant) == "DELETE_COMPLETE"


def test_removed_resource_deletes_its_nested_stack(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.update("s", hot_template({"x": resource_definition()}))
    assert heat.status(descendant) == "DELETE_COMPLETE"


def test_failure_is_reported_with_its_whole_path(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child(bad=resource_definition(fail=True))))
    stack = heat.stack("s")
    assert stack["stack_status"] == "CREATE_FAILED"
    assert ": resources.n.resources.bad: " in stack["stack_status_reason"]
    assert heat.resource("s", "n")["resource_status"] == "CREATE_FAILED"
    assert heat.nested_stack("s", "n")["stack_status"] == "CREATE_FAILED"


def test_failed_nested_stack_is_updated_not_replaced(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child(bad=resource_definition(fail=True))))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.update("s", parent(), files=files(child(bad=resource_definition())))
    assert (heat.status("s"), heat.status(descendant)) == ("UPDATE_COMPLETE", "UPDATE_COMPLETE")
    assert heat.outputs("s")["out"] == "d"


def test_failed_create_of_a_tree_rolls_back(heat: ProjectClient) -> None:
    heat.create(
        "s",
        parent(),
        files=files(child(bad=resource_definition(fail=True))),
        disable_rollback=False,
    )
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    shown = heat.send("GET", "/stacks?show_nested=True").json["stacks"]
    assert [each["stack_name"] for each in shown] == ["s"]


def test_failed_update_of_a_tree_rolls_back(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    heat.update(
        "s",
        parent(v="two"),
        files=files(child(bad=resource_definition(fail=True))),
        disable_rollback=False,
    )
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    assert heat.outputs("s")["out"] == "one"
    descendant = heat.nested_stack("s", "n")["id"]
    assert [each["resource_name"] for each in heat.resources(descendant)] == ["a"]


def test_resource_facade_has_values_of_the_parent(heat: ProjectClient) -> None:
    inner = hot_template(
        {"a": resource_definition(value={"list_join": [" ", [
            {"resource_facade": "deletion_policy"},
            {"get_param": "v"}]]}),
         "m": {"type": "OS::Heat::Value", "properties": {
             "value": {"resource_facade": "metadata"}}}},
        parameters={"v": {"type": "string", "default": "d"}},
        outputs={"out": {"get_attr": ["a", "output"]}, "m": {"get_attr": ["m", "value"]}},
    )  # fmt: skip
    template = hot_template(
        {
            "before": resource_definition(value="b"),
            "n": {
                "type": FILE,
                "metadata": {"key": {"get_attr": ["before", "output"]}},
                "deletion_policy": "retain",
            },
        },
        outputs={"out": {"get_attr": ["n", "out"]}, "m": {"get_attr": ["n", "m"]}},
    )
    heat.create("s", template, files=files(inner))
    assert heat.outputs("s") == {"out": "Retain d", "m": {"key": "b"}}


def test_parameter_defaults_reach_every_level(heat: ProjectClient) -> None:
    middle = hot_template({"n": {"type": "file:///t/leaf.yaml"}},
                 outputs={"out": {"get_attr": ["n", "out"]}})  # fmt: skip
    texts = {FILE: json.dumps(middle), "file:///t/leaf.yaml": json.dumps(child())}
    template = hot_template({"n": {"type": FILE}}, outputs={"out": {"get_attr": ["n", "out"]}})
    heat.create("s", template, files=texts,
                environment={"parameter_defaults": {"v": "from far"}})  # fmt: skip
    assert heat.outputs("s") == {"out": "from far"}


def test_parameter_defaults_replace_required_properties(heat: ProjectClient) -> None:
    template = child()
    del template["parameters"]["v"]["default"]
    environment = {"parameter_defaults": {"v": "all"}}
    heat.create("s", parent(), files=files(template), environment=environment)
    assert heat.outputs("s")["out"] == "all"
    again = {"parameter_defaults": {"v": "some"}}
    heat.update("s", parent(), files=files(template), environment=again)
    assert heat.outputs("s")["out"] == "some"


def test_resource_and_event_lists_include_the_tree(heat: ProjectClient) -> None:
    middle = hot_template({"n": {"type": "file:///t/leaf.yaml"}})
    texts = {FILE: json.dumps(middle), "file:///t/leaf.yaml": json.dumps(child())}
    heat.create("s", hot_template({"n": {"type": FILE}}), files=texts)
    assert len(heat.resources("s")) == 1
    assert len(heat.resources("s", "?nested_depth=1")) == 2
    rows = heat.resources("s", "?nested_depth=5")
    assert {each.get("parent_resource") for each in rows} == {None, "n"}
    events = heat.events("s", "?nested_depth=5")
    roots = {
        each["href"] for event in events for each in event["links"] if each["rel"] == "root_stack"
    }
    assert len(roots) == 1
