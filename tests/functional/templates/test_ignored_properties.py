"""``OS::Heat::None`` never evaluates its properties: an expression that fails is no failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
FAILING = {
    "known values": {"yaql": {"expression": "$.data.nothing", "data": {"a": 1}}},
    "values of a resource": {
        "yaql": {"expression": "$.data.nothing", "data": {"get_attr": ["other", "a"]}}
    },
    "a function's argument": {"str_split": [",", {"get_param": "colours"}, 9]},
    "a parameter that is not declared": {"get_param": "nothing"},
}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def template_with(resource_type: str, value: Json) -> Json:
    return hot_template(
        {
            "other": {"type": "OS::Heat::None"},
            "a": {"type": resource_type, "properties": {"value": value}},
        },
        parameters={"colours": {"type": "string", "default": "red,blue"}},
    )


@pytest.mark.parametrize("value", FAILING.values(), ids=FAILING)
def test_failing_expression_in_a_placeholder_is_no_failure(
    heat: ProjectClient, value: Json
) -> None:
    heat.create("s", template_with("OS::Heat::None", value))
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    heat.update("s", template_with("OS::Heat::None", [value]))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]


def test_type_that_is_mapped_to_a_placeholder_ignores_its_properties(heat: ProjectClient) -> None:
    template = template_with("OS::Nova::Server", FAILING["values of a resource"])
    mapped = {"resource_registry": {"OS::Nova::Server": "OS::Heat::None"}}
    heat.create("s", template, environment=mapped)
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


def test_failing_expression_in_another_type_is_a_failure(heat: ProjectClient) -> None:
    heat.create("s", template_with("OS::Heat::Value", FAILING["values of a resource"]))
    assert heat.status("s") == "CREATE_FAILED"
