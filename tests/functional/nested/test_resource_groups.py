"""Groups of resources through the API, to docs/reference/resource-groups.rst."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
MEMBER = "file:///t/member.yaml"


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def group(count: int, value: str = "v%index%", **properties: Json) -> Json:
    policy = properties.pop("update_policy", None)
    definition = properties.pop("resource_def", resource_definition(value=value))
    found = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": definition, **properties},
    }
    return {**found, "update_policy": policy} if policy else found


def template(body: Json, **outputs: Json) -> Json:
    default = {
        "refs": {"get_attr": ["g", "refs"]},
        "map": {"get_attr": ["g", "refs_map"]},
        "values": {"get_attr": ["g", "output"]},
        "named": {"get_attr": ["g", "attributes", "output"]},
        "removed": {"get_attr": ["g", "removed_rsrc_list"]},
    }
    return hot_template({"g": body}, outputs={**default, **outputs})


def names(heat: ProjectClient) -> list[str]:
    descendant = heat.resource("s", "g")["physical_resource_id"]
    return sorted((each["resource_name"] for each in heat.resources(descendant)), key=int)


def values(heat: ProjectClient) -> list[str]:
    return list(heat.outputs("s")["values"])


def test_members_are_numbered_and_read_in_their_order(heat: ProjectClient) -> None:
    heat.create("s", template(
        group(12),
        one={"get_attr": ["g", "resource.3"]},
        its={"get_attr": ["g", "resource.11.output"]},
        at={"get_attr": ["g", "refs", 2]},
    ))  # fmt: skip
    outputs = heat.outputs("s")
    assert heat.status("s") == "CREATE_COMPLETE"
    assert outputs["values"] == [f"v{at}" for at in range(12)]
    assert outputs["named"] == {str(at): f"v{at}" for at in range(12)}
    assert outputs["refs"] == [outputs["map"][str(at)] for at in range(12)]
    assert (outputs["one"], outputs["its"]) == (outputs["map"]["3"], "v11")
    assert outputs["at"] == outputs["refs"][2]
    assert outputs["removed"] == []


def test_unread_group_attributes_are_shown_on_request(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"g": group(12)}))

    def shown(name: str) -> Json:
        path = f"{heat.path('s')}/resources/g?with_attr={name}"
        return heat.send("GET", path, leave_pending=True).json["resource"]["attributes"][name]

    assert shown("output") == [f"v{at}" for at in range(12)]
    assert shown("resource.3.output") == "v3"
    assert shown("resource.3") == heat.resource("s", "g")["attributes"]["refs"][3]
    assert shown("resource.99") is None
    assert shown("attributes") is None  # takes the name of another


def test_a_member_that_is_not_there_is_not_found(heat: ProjectClient) -> None:
    body = template(
        group(2),
        ref={"get_attr": ["g", "resource.2"]},
        its={"get_attr": ["g", "resource.2.output"]},
        all={"get_attr": ["g", "output"]},
    )
    heat.create("s", body)
    reported = {each["output_key"]: each for each in heat.stack("s")["outputs"]}
    for key in ("ref", "its"):
        assert reported[key]["output_value"] is None
        assert "g has no resource 2 inside" in reported[key]["output_error"]
    assert reported["all"]["output_value"] == ["v0", "v1"]
    body["resources"]["g"]["properties"]["count"] = 3
    heat.update("s", body)
    assert heat.outputs("s")["its"] == "v2"
    body["resources"]["reader"] = resource_definition(
        value={"get_attr": ["g", "resource.7.output"]}
    )
    heat.update("s", body)
    failed = heat.resource("s", "reader")["resource_status_reason"]
    assert failed.startswith("TemplateOutputError: resources.reader")
    preview = heat.send("PUT", f"{heat.path('s')}/preview", {"template": body})
    assert preview.status_int == 200, preview.text


def test_none_and_more_and_fewer(heat: ProjectClient) -> None:
    heat.create("s", template(group(0)))
    assert (heat.status("s"), values(heat)) == ("CREATE_COMPLETE", [])
    for number in (3, 5, 2):
        before = heat.outputs("s")["map"]
        heat.update("s", template(group(number)))
        after = heat.outputs("s")["map"]
        assert names(heat) == [str(at) for at in range(number)]
        assert all(after[name] == before[name] for name in after.keys() & before.keys())


def test_a_changed_definition_changes_all_members_at_once(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    heat.update("s", template(group(3, "w%index%")))
    assert values(heat) == ["w0", "w1", "w2"]


def test_another_index_word_replaces_the_group(heat: ProjectClient) -> None:
    heat.create("s", template(group(2)))
    before = heat.nested_stack("s", "g")["id"]
    heat.update("s", template(group(2, "v@@@", index_var="@@@")))
    assert values(heat) == ["v0", "v1"]
    assert heat.nested_stack("s", "g")["id"] != before
    assert heat.status(before) == "DELETE_COMPLETE"


def remove(*which: Json) -> Json:
    return [{"resource_list": list(which)}]


def test_removed_names_are_not_used_again(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    heat.update("s", template(group(3, removal_policies=remove("1"))))
    assert (names(heat), heat.outputs("s")["removed"]) == (["0", "2", "3"], ["1"])
    heat.update("s", template(group(2, removal_policies=remove(0))))
    assert (names(heat), heat.outputs("s")["removed"]) == (["2", "3"], ["0", "1"])
    heat.update("s", template(group(4)))
    assert names(heat) == ["2", "3", "4", "5"]


def test_removals_in_the_place_of_earlier_ones(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    mode = {"removal_policies_mode": "update"}
    heat.update("s", template(group(3, removal_policies=remove("1"), **mode)))
    heat.update("s", template(group(3, removal_policies=remove("0"), **mode)))
    assert (names(heat), heat.outputs("s")["removed"]) == (["1", "2", "3"], ["0"])


def test_a_member_is_removed_by_its_reference(heat: ProjectClient) -> None:
    heat.create("s", template(group(3)))
    deleted = heat.outputs("s")["refs"][0]
    heat.update("s", template(group(3, removal_policies=remove(deleted))))
    assert names(heat) == ["1", "2", "3"]


def sizes(heat: ProjectClient) -> list[tuple[int, int]]:
    """(members, members with a new definition) at the end of each of the nested
    stack's traversals, from its events."""
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


def test_members_change_in_batches(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 2, "pause_time": 7}}
    heat.create("s", template(group(5, update_policy=policy)))
    heat.update("s", template(group(5, "w%index%", update_policy=policy)))
    assert (heat.status("s"), values(heat)) == ("UPDATE_COMPLETE", [f"w{i}" for i in range(5)])
    assert sizes(heat) == [(5, 0), (5, 2), (5, 2), (5, 1)]


def test_enough_members_stay_in_service(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"min_in_service": 3, "max_batch_size": 1}}
    heat.create("s", template(group(3, update_policy=policy)))
    heat.update("s", template(group(3, "w%index%", update_policy=policy)))
    assert values(heat) == ["w0", "w1", "w2"]
    assert sizes(heat) == [(3, 0), (4, 0), (4, 1), (4, 1), (4, 1), (3, 0)]


def test_members_are_made_in_batches(heat: ProjectClient) -> None:
    policy = {"batch_create": {"max_batch_size": 2, "pause_time": 3}}
    heat.create("s", template(group(5, update_policy=policy)))
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.resource("s", "g")["resource_status"] == "CREATE_COMPLETE"
    assert sizes(heat) == [(2, 0), (4, 0), (5, 0)]


def test_a_pause_holds_nobody_up(heat: ProjectClient) -> None:
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


def test_a_pause_is_left_by_another_update_and_by_a_delete(heat: ProjectClient) -> None:
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


def test_pauses_that_outlast_the_action(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 60}}
    heat.create("s", template(group(3, update_policy=policy)))
    body = template(group(3, "w%index%", update_policy=policy))
    heat.update("s", body, timeout_mins=2)
    assert heat.status("s") == "UPDATE_FAILED"
    assert "pauses of 120 seconds in all" in heat.stack("s")["stack_status_reason"]
    assert values(heat) == ["v0", "v1", "v2"]
    heat.update("s", body, timeout_mins=3)
    assert values(heat) == ["w0", "w1", "w2"]


def test_a_count_alone_does_not_roll(heat: ProjectClient) -> None:
    policy = {"rolling_update": {"max_batch_size": 1}}
    heat.create("s", template(group(2, update_policy=policy)))
    heat.update("s", template(group(6, update_policy=policy)))
    assert sizes(heat) == [(2, 0), (6, 0)]


def test_a_failing_member_is_reported_with_its_path_and_repaired(heat: ProjectClient) -> None:
    bad = {"resource_def": resource_definition(value="x", fail=True)}
    heat.create("s", template(group(2, **bad)))
    assert heat.status("s") == "CREATE_FAILED"
    assert ": resources.g.resources." in heat.stack("s")["stack_status_reason"]
    before = heat.resource("s", "g")["physical_resource_id"]
    heat.update("s", template(group(2)))
    assert (heat.status("s"), values(heat)) == ("UPDATE_COMPLETE", ["v0", "v1"])
    assert heat.nested_stack("s", "g")["id"] == before


def test_an_unhealthy_group_is_replaced(heat: ProjectClient) -> None:
    heat.create("s", template(group(1)))
    before = heat.nested_stack("s", "g")["id"]
    body = {"mark_unhealthy": True, "resource_status_reason": "ill"}
    heat.send("PATCH", f"{heat.path('s')}/resources/g", body)
    heat.update("s", template(group(1)))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.nested_stack("s", "g")["id"] != before


def test_members_may_be_templates(heat: ProjectClient) -> None:
    inner = hot_template(
        {"a": resource_definition(value={"get_param": "v"})},
        parameters={"v": {"type": "string"}},
        outputs={"out": {"get_attr": ["a", "output"]}},
    )
    body = group(2, resource_def={"type": MEMBER, "properties": {"v": "m%index%"}})
    heat.create(
        "s",
        hot_template({"g": body}, outputs={
            "outs": {"get_attr": ["g", "out"]},
            "deep": {"get_attr": ["g", "resource.1.resource.a.output"]},
            "deeper": {"get_attr": ["g", "resource.1", "resource.a", "output"]},
        }),
        files={MEMBER: json.dumps(inner)},
    )  # fmt: skip
    outputs = heat.outputs("s")
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert outputs["outs"] == ["m0", "m1"]
    assert outputs["deeper"] == "m1"
    assert len(heat.resources("s", "?nested_depth=5")) == 1 + 2 + 2


def test_values_that_only_resources_give_reach_members(heat: ProjectClient) -> None:
    source = hot_template(
        {
            "first": resource_definition(value="given"),
            "g": group(
                2, resource_def=resource_definition(value={"get_attr": ["first", "output"]})
            ),
        },
        outputs={"values": {"get_attr": ["g", "output"]}},
    )
    heat.create("s", source)
    assert heat.outputs("s")["values"] == ["given", "given"]


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        (group(-1), ("resources.g.properties.count",)),
        (group(1, index_var="%i"), ("resources.g.properties.index_var",)),
        (group(1, resource_def={}), ("resources.g.properties.resource_def", "type")),
        (
            group(1, resource_def=resource_definition(walue=1)),
            ("resources.g<nested_stack>.resources.0.properties: Unknown Property walue",),
        ),
        (group(1, resource_def={"type": "No::Such"}), ("resources.g<nested_stack>", "No::Such")),
        (group(1, update_policy={"rolling": {}}), ("resources.g.update_policy",)),
        (group(1, removal_policies_mode="other"), ("removal_policies_mode",)),
        (group(2000), ("Maximum resources per stack",)),
    ],
)
def test_a_mistake_is_reported_with_its_path(
    heat: ProjectClient, body: Json, pieces: tuple[str, ...]
) -> None:
    answer = heat.send(
        "POST", "/stacks", {"stack_name": "bad", "template": hot_template({"g": body})}
    )
    reported = answer.json["error"]["message"]
    assert answer.status_int == 400
    for piece in pieces:
        assert piece in reported, reported


@pytest.mark.parametrize("size", [20, 2000])
def test_long_properties_stand_once_in_the_template(heat: ProjectClient, size: int) -> None:
    """However many members have them, a template has its bound."""
    value = {"text": "x" * size, "list": [1, 2.5, True, None, "%index%"[:-1]]}
    chain = {"type": "OS::Heat::ResourceChain", "properties": {
        "resources": ["OS::Heat::Value"] * 400,
        "resource_properties": {"value": value}, "concurrent": True}}  # fmt: skip
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 3, "resource_def": {
        "type": "OS::Heat::Value", "properties": {"value": value}}}}  # fmt: skip
    heat.create("s", hot_template({"c": chain, "g": group}, outputs={
        "c": {"get_attr": ["c", "value"]}, "g": {"get_attr": ["g", "value"]}}))  # fmt: skip
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s") == {"c": [value] * 400, "g": [value] * 3}
    template = heat.send("GET", heat.path(heat.nested_stack("s", "c")["id"]) + "/template").json
    assert len(json.dumps(template["resources"])) < 60_000
    group["properties"]["count"] = 4
    heat.update("s", hot_template({"c": chain, "g": group}))
    members = heat.resources(heat.nested_stack("s", "g")["id"])
    updated = [each["resource_name"] for each in members if "UPDATE" in each["resource_status"]]
    assert (len(members), updated) == (4, [])


def test_a_group_of_none_is_not_checked(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"g": group(0, resource_def={"type": "No::Such"})}))
    assert heat.status("s") == "CREATE_COMPLETE"


def test_attributes_takes_a_name(heat: ProjectClient) -> None:
    body = {"stack_name": "bad", "template": template(group(1), x={"get_attr": [
        "g", "attributes"]})}  # fmt: skip
    answer = heat.send("POST", "/stacks", body)
    assert answer.json["error"]["type"] == "InvalidTemplateAttribute"


def chain(**properties: Json) -> Json:
    return {"type": "OS::Heat::ResourceChain", "properties": properties}


def test_a_chain_is_made_in_its_order(heat: ProjectClient) -> None:
    types = ["OS::Heat::TestResource", "OS::Heat::Value", "OS::Heat::TestResource"]
    heat.create("s", hot_template(
        {"g": chain(resources=types, resource_properties={"value": "x"})},
        outputs={"refs": {"get_attr": ["g", "refs"]},
                 "its": {"get_attr": ["g", "resource.1.value"]},
                 "named": {"get_attr": ["g", "attributes", "show"]}},
    ))  # fmt: skip
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert len(heat.outputs("s")["refs"]) == 3
    assert heat.outputs("s")["its"] == "x"
    descendant = heat.nested_stack("s", "g")["id"]
    made = [
        each["resource_name"]
        for each in heat.events(descendant, "?sort_dir=asc")
        if each["resource_status"] == "CREATE_COMPLETE"
    ]
    assert made[:3] == ["0", "1", "2"]
    heat.update(
        "s", hot_template({"g": chain(resources=types[:1], resource_properties={"value": "x"})})
    )
    assert [each["resource_name"] for each in heat.resources(descendant)] == ["0"]


def test_a_cloudformation_stack(heat: ProjectClient) -> None:
    inner = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {"P": {"Type": "String"}},
        "Resources": {"A": {"Type": "OS::Heat::TestResource",
                            "Properties": {"value": {"Ref": "P"}}}},
        "Outputs": {"Out": {"Value": {"Fn::GetAtt": ["A", "output"]}}},
    }  # fmt: skip
    url = "http://example.com/inner.template"
    properties = {"TemplateURL": url, "Parameters": {"P": "p"}, "TimeoutInMinutes": 7}
    outer = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": properties}},
        "Outputs": {"Out": {"Value": {"Fn::GetAtt": ["N", "Outputs.Out"]}},
                    "Ref": {"Value": {"Ref": "N"}}},
    }  # fmt: skip
    heat.create("s", outer, files={url: json.dumps(inner)})
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s")["Out"] == "p"
    assert heat.outputs("s")["Ref"].startswith("arn:openstack:heat::p:stacks/")
    assert heat.nested_stack("s", "N")["timeout_mins"] == 7


@pytest.mark.parametrize("name", ["Outputs.Other", "Out"])
def test_what_is_no_output_of_a_cloudformation_stack(heat: ProjectClient, name: str) -> None:
    inner = {"HeatTemplateFormatVersion": "2012-12-12",
             "Outputs": {"Out": {"Value": "x"}}}  # fmt: skip
    n = {"type": "AWS::CloudFormation::Stack", "properties": {"TemplateURL": "in.json"}}
    body = hot_template({"n": n}, outputs={"o": {"get_attr": ["n", name]},
                                  "well": {"get_attr": ["n", "Outputs.Out"]}})  # fmt: skip
    heat.create("s", body, files={"in.json": json.dumps(inner)})
    reported = {each["output_key"]: each for each in heat.stack("s")["outputs"]}
    assert f"The template has no output for {name}" in reported["o"]["output_error"]
    assert reported["well"]["output_value"] == "x"


@pytest.mark.parametrize("at_once", [False, True])  # changed before it was adopted
@pytest.mark.parametrize("old", [False, True])
def test_an_adopted_group_uses_no_removed_name(tmp_path: Any, old: bool, at_once: bool) -> None:
    """Also one whose document is of before such were told, but for the highest."""
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/x.sqlite", options)
    heat = ProjectClient(service)

    def body(count: int, *removed: str) -> Json:
        properties = {
            "count": count,
            "resource_def": resource_definition(value="%index%"),
            "removal_policies": [{"resource_list": list(removed)}],
        }
        return hot_template({"g": {"type": "OS::Heat::ResourceGroup", "properties": properties}})

    heat.create("s", body(3))
    heat.update("s", body(2, "0", "2"))
    document = heat.send("DELETE", f"{heat.path('s')}/abandon").json
    assert document["resources"]["g"]["resource_data"]["removed"] == ["0", "2"]
    assert sorted(document["resources"]["g"]["resources"]) == ["1", "3"]
    document["template"] = body(2)
    if old:
        del document["resources"]["g"]["resource_data"]
    settings = {"stack_name": "s", "adopt_stack_data": json.dumps(document)}
    assert heat.send("POST", "/stacks", settings, leave_pending=at_once).status_int == 201
    assert heat.status("s") == ("ADOPT_IN_PROGRESS" if at_once else "ADOPT_COMPLETE")
    heat.update("s", body(3))
    assert heat.status("s") == "UPDATE_COMPLETE"
    members = heat.resources(heat.resource("s", "g")["physical_resource_id"])
    assert sorted(each["resource_name"] for each in members) == ["1", "3", "4"]
    service.close()
