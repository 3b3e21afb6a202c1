"""Groups of resources through the API, to docs/reference/resource-groups.rst."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.nested.nested_type import AttributePath, NestedStackView
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


def test_members_are_numbered_and_read_in_order(heat: ProjectClient) -> None:
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


def test_missing_member_is_not_found(heat: ProjectClient) -> None:
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


def test_attributes_of_resources_reach_members(heat: ProjectClient) -> None:
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
            ("resources.g<nested_stack>.resources.0.properties: : Unknown Property walue",),
        ),
        (group(1, resource_def={"type": "No::Such"}), ("resources.g<nested_stack>", "No::Such")),
        (group(1, update_policy={"rolling": {}}), ("resources.g.update_policy",)),
        (group(1, removal_policies_mode="other"), ("removal_policies_mode",)),
        (group(2000), ("Maximum resources per stack",)),
    ],
)
def test_error_in_a_group_has_its_path(
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
def test_long_properties_are_stored_once_in_the_template(heat: ProjectClient, size: int) -> None:
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


def test_definition_of_an_empty_group_is_not_validated(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"g": group(0, resource_def={"type": "No::Such"})}))
    assert heat.status("s") == "CREATE_COMPLETE"


def test_attribute_of_members_requires_a_name(heat: ProjectClient) -> None:
    body = {"stack_name": "bad", "template": template(group(1), x={"get_attr": [
        "g", "attributes"]})}  # fmt: skip
    answer = heat.send("POST", "/stacks", body)
    assert answer.json["error"]["type"] == "InvalidTemplateAttribute"


def chain(**properties: Json) -> Json:
    return {"type": "OS::Heat::ResourceChain", "properties": properties}


def test_chain_is_created_in_order(heat: ProjectClient) -> None:
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


def test_cloudformation_stack_is_a_nested_stack(heat: ProjectClient) -> None:
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
def test_missing_output_of_a_cloudformation_stack_is_reported(
    heat: ProjectClient, name: str
) -> None:
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
def test_adopted_group_does_not_reuse_removed_names(
    tmp_path: Any, old: bool, at_once: bool
) -> None:
    """Older documents do not list removed names; new names then follow the highest one."""
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


class BrokenGroup(ResourceGroup):
    """A group whose attributes cannot be read, because of a defect of its type."""

    name = "Test::BrokenGroup"

    def read_attributes(
        self, nested_stack: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        raise KeyError("defect")


def test_defect_of_a_group_type_fails_its_resource_alone(tmp_path: Any) -> None:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(BrokenGroup(),))
    heat = ProjectClient(service)
    broken = group(1)
    broken["type"] = "Test::BrokenGroup"
    heat.create("broken", template(broken), hold=True)
    heat.create("s", template(group(1)), hold=True)
    service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.status("broken") == "CREATE_FAILED"
    assert "KeyError: 'defect'" in heat.stack("broken")["stack_status_reason"]
    service.close()
