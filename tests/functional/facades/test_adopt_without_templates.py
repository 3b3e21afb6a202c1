"""Adoption of documents that have only the resources of nested stacks, without templates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
RANDOM = "OS::Heat::RandomString"
FILE = "the.yaml"
NESTED = hot_template({"r": {"type": RANDOM}}, outputs={"value": {"get_attr": ["r", "value"]}})
GROUP = {
    "type": "OS::Heat::ResourceGroup",
    "properties": {"count": 2, "resource_def": {"type": RANDOM}},
}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield ProjectClient(service)
    service.close()


def random_entry(value: str) -> Json:
    return {
        "type": RANDOM, "action": "CREATE", "status": "COMPLETE", "metadata": {},
        "resource_id": f"id-of-{value}", "resource_data": {"value": value},
    }  # fmt: skip


def nested_entry(type_name: str, **resources: Json) -> Json:
    return {
        "type": type_name, "action": "CREATE", "status": "COMPLETE", "metadata": {},
        "resource_id": "id-of-an-old-stack", "resource_data": {}, "resources": resources,
    }  # fmt: skip


def adopt(heat: ProjectClient, template: Json, *, hold: bool = False, **resources: Json) -> Any:
    document = {"resources": resources, "environment": {"parameters": {}}, "template": template}
    body = {"stack_name": "s", "adopt_stack_data": json.dumps(document),
            "files": {FILE: json.dumps(NESTED)}}  # fmt: skip
    return heat.send("POST", "/stacks", body, leave_pending=hold)


def test_group_adopts_its_members(heat: ProjectClient) -> None:
    outputs = {name: {"get_attr": ["g", f"resource.{name}.value"]} for name in "01"}
    group = nested_entry(GROUP["type"], **{"0": random_entry("one"), "1": random_entry("two")})
    template = hot_template({"g": GROUP}, outputs=outputs)
    assert adopt(heat, template, g=group).status_int == 201
    assert heat.status("s") == "ADOPT_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.outputs("s") == {"0": "one", "1": "two"}
    nested = heat.nested_stack("s", "g")
    assert nested["stack_status"] == "ADOPT_COMPLETE"
    assert nested["id"] != "id-of-an-old-stack"
    assert heat.resource(nested["id"], "0")["physical_resource_id"] == "id-of-one"
    heat.update("s", template)
    assert heat.outputs("s") == {"0": "one", "1": "two"}


def test_template_resource_adopts_its_resources(heat: ProjectClient) -> None:
    template = hot_template({"n": {"type": FILE}}, outputs={"o": {"get_attr": ["n", "value"]}})
    answer = adopt(heat, template, n=nested_entry(FILE, r=random_entry("goopie")))
    assert answer.status_int == 201, answer.text
    assert (heat.status("s"), heat.outputs("s")) == ("ADOPT_COMPLETE", {"o": "goopie"})
    heat.delete("s")
    assert heat.stack("s") is None


def test_nested_stacks_of_nested_stacks_are_adopted(heat: ProjectClient) -> None:
    group = {**GROUP, "properties": {"count": 1, "resource_def": {"type": FILE}}}
    inner = nested_entry(FILE, r=random_entry("deep"))
    outputs = {"o": {"get_attr": ["g", "resource.0.value"]}}
    answer = adopt(
        heat,
        hot_template({"g": group}, outputs=outputs),
        g=nested_entry(GROUP["type"], **{"0": inner}),
    )
    assert answer.status_int == 201, answer.text
    assert (heat.status("s"), heat.outputs("s")) == ("ADOPT_COMPLETE", {"o": "deep"})


def test_deletion_before_the_adoption_ends(heat: ProjectClient) -> None:
    group = nested_entry(GROUP["type"], **{"0": random_entry("one")})
    adopt(heat, hot_template({"g": GROUP}), hold=True, g=group)
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (nested_entry("x", r={}), "resources.r.type must be a string"),
        (nested_entry("x", r=1), "resources.r.type must be a string"),
        ({**nested_entry("x"), "resources": [1]}, "resources must be a map"),
    ],
)
def test_entry_without_a_type_is_refused(heat: ProjectClient, entry: Json, expected: str) -> None:
    refused = adopt(heat, hot_template({"n": {"type": FILE}}), n=entry)
    assert (refused.status_int, refused.json["error"]["type"]) == (400, "HTTPBadRequest")
    assert expected in refused.json["error"]["message"]
