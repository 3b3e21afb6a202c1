"""Nulls that the properties of a resource resolve to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"
NULL = {"get_attr": ["none", "anything"]}
EMPTY_VALUES = {
    "string": "",
    "number": 0,
    "boolean": False,
    "json": {},
    "comma_delimited_list": [],
}
DEFAULTS = {
    "string": "text",
    "number": 7,
    "boolean": True,
    "json": {"a": 1},
    "comma_delimited_list": "a,b",
}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def child(**parameters: Json) -> dict[str, str]:
    """Return a template that returns each of its parameters."""
    template = hot_template(
        {"a": {"type": "OS::Heat::None"}},
        parameters=parameters,
        outputs={name: {"get_param": name} for name in parameters},
    )
    return {FILE: json.dumps(template)}


def parent(**properties: Json) -> Json:
    return hot_template(
        {"none": {"type": "OS::Heat::None"}, "n": {"type": FILE, "properties": properties}},
        outputs={name: {"get_attr": ["n", name]} for name in properties},
    )


@pytest.mark.parametrize("null", [NULL, None], ids=["resolved", "literal"])
@pytest.mark.parametrize("with_default", [False, True], ids=["required", "optional"])
def test_null_becomes_the_empty_value_of_a_nested_parameter(
    heat: ProjectClient, null: Json, with_default: bool
) -> None:
    parameters = {
        f"a_{name}": {"type": name, **({"default": DEFAULTS[name]} if with_default else {})}
        for name in EMPTY_VALUES
    }
    template = parent(**dict.fromkeys(parameters, null))
    heat.create("s", template, files=child(**parameters))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s") == {f"a_{name}": empty for name, empty in EMPTY_VALUES.items()}


def test_null_items_of_a_list_become_empty_texts(heat: ProjectClient) -> None:
    template = parent(v=["a", NULL, None, "b"])
    heat.create("s", template, files=child(v={"type": "comma_delimited_list"}))
    assert heat.outputs("s") == {"v": ["a", "", "", "b"]}


@pytest.mark.parametrize(
    ("value_type", "value", "reason"),
    [
        ("comma_delimited_list", "a,b", "\"'a,b'\" is not a list"),
        ("boolean", "yes", '"yes" is not a valid boolean'),
    ],
)
def test_value_takes_what_a_property_of_its_type_takes(
    heat: ProjectClient, value_type: str, value: str, reason: str
) -> None:
    properties = {"type": value_type, "value": value}
    template = hot_template({"v": {"type": "OS::Heat::Value", "properties": properties}})
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": template})
    text = f"Property error: : resources.v.properties.value: : {reason}"
    assert (answer.status_int, text in answer.json["error"]["message"]) == (400, True)


def test_maps_in_a_list_become_members(heat: ProjectClient) -> None:
    template = parent(v=[{"k": "x", "l": 1}, {"k": "y"}])
    heat.create("s", template, files=child(v={"type": "comma_delimited_list"}))
    assert heat.outputs("s") == {"v": [".member.0.k=x", ".member.0.l=1", ".member.1.k=y"]}


def test_null_becomes_the_empty_value_of_a_required_property(heat: ProjectClient) -> None:
    group = {
        "type": "OS::Heat::SoftwareDeploymentGroup",
        "properties": {"servers": NULL, "config": NULL},
    }
    template = hot_template({"none": {"type": "OS::Heat::None"}, "g": group})
    heat.create("s", template)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


@pytest.mark.parametrize("null", [NULL, None], ids=["resolved", "literal"])
def test_value_of_null_is_the_empty_value_of_its_type(heat: ProjectClient, null: Json) -> None:
    def resource(**properties: Json) -> Json:
        return {"type": "OS::Heat::Value", "properties": {"value": null, **properties}}

    resources = {f"a_{name}": resource(type=name) for name in EMPTY_VALUES}
    resources |= {"any": resource(), "none": {"type": "OS::Heat::None"}}
    names = [*EMPTY_VALUES, "any"]
    outputs = {
        name: {"get_attr": [f"a_{name}" if name in EMPTY_VALUES else name, "value"]}
        for name in names
    }
    heat.create("s", hot_template(resources, outputs=outputs))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s") == {**EMPTY_VALUES, "any": None}


def test_null_takes_the_default_of_a_property(heat: ProjectClient) -> None:
    resource = resource_definition(value=NULL)
    template = hot_template(
        {"none": {"type": "OS::Heat::None"}, "a": resource},
        outputs={"out": {"get_attr": ["a", "output"]}},
    )
    heat.create("s", template)
    assert (heat.status("s"), heat.outputs("s")) == ("CREATE_COMPLETE", {"out": "test_string"})


@pytest.mark.parametrize("null", [NULL, None], ids=["resolved", "literal"])
def test_null_is_the_empty_value_of_an_optional_property(heat: ProjectClient, null: Json) -> None:
    config = {"type": "OS::Heat::SoftwareConfig", "properties": {"config": null, "options": null}}
    template = hot_template(
        {"none": {"type": "OS::Heat::None"}, "a": config},
        outputs={"config": {"get_attr": ["a", "config"]}},
    )
    heat.create("s", template)
    assert (heat.status("s"), heat.outputs("s")) == ("CREATE_COMPLETE", {"config": ""})


@pytest.mark.parametrize("null", [NULL, None], ids=["resolved", "literal"])
def test_null_replaces_no_resource_with_an_unset_property(heat: ProjectClient, null: Json) -> None:
    """Resources of releases that left optional nulls out do not change in an update."""

    def template(**properties: Json) -> Json:
        a = {"type": "OS::Heat::RandomString", "properties": {"length": 9, **properties}}
        return hot_template(
            {"none": {"type": "OS::Heat::None"}, "a": a},
            outputs={"out": {"get_attr": ["a", "value"]}},
        )

    heat.create("s", template())
    before = heat.outputs("s")
    heat.update("s", template(salt=null, character_classes=null))
    assert (heat.status("s"), heat.outputs("s")) == ("UPDATE_COMPLETE", before)
    heat.update("s", template(salt="x", character_classes=null))
    assert heat.outputs("s") != before
