"""Validation of a tree with values that are not known yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"
LATER = {"get_attr": ["before", "output"]}  # not known yet


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def child(**declared: Json) -> dict[str, str]:
    """Return a template whose resource would refuse the parameter's default."""
    text = {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "v"}}}
    template = hot_template({"a": text}, parameters={"v": {"type": "number", **declared}})
    return {FILE: json.dumps(template)}


def assert_valid(heat: ProjectClient, template: Json, files: Json = None, **body: Json) -> None:
    body = {"template": template, "files": files or {}, **body}
    for path in ("/validate", "/stacks/preview"):
        response = heat.send("POST", path, {**body, "stack_name": "s"})
        assert response.status_int == 200, response.text


def validation_error(heat: ProjectClient, path: str, template: Json, files: Json = None) -> str:
    body = {"template": template, "files": files or {}, "stack_name": "s"}
    response = heat.send("POST", path, body)
    assert response.status_int == 400, response.text
    return str(response.json["error"]["message"])


def group(**properties: Json) -> Json:
    return {"type": "OS::Heat::ResourceGroup", "properties": properties}


def test_unknown_property_replaces_the_default(heat: ProjectClient) -> None:
    template = hot_template({
        "before": resource_definition(value=8),
        "n": {"type": FILE, "properties": {"v": LATER}},
    })  # fmt: skip
    assert_valid(heat, template, child(default=0))


def test_unknown_values_are_assigned_to_members(heat: ProjectClient) -> None:
    members = [
        {"type": FILE, "properties": {"v": LATER}},
        {"type": "OS::Heat::RandomString", "properties": {"length": LATER}},
        {"type": "OS::Heat::RandomString", "properties": {
            "character_sequences": [{"min": LATER, "sequence": "abc"}]}},
    ]  # fmt: skip
    for member in members:
        template = hot_template(
            {"before": resource_definition(value=8), "g": group(count=2, resource_def=member)}
        )
        assert_valid(heat, template, child())
    wrong = {"type": FILE, "properties": {"v": LATER, "w": 1}}
    template = hot_template(
        {"before": resource_definition(value=8), "g": group(resource_def=wrong)}
    )
    assert "Unknown Property w" in validation_error(heat, "/stacks", template, child())


def test_type_and_number_of_members_may_be_unknown(heat: ProjectClient) -> None:
    before = resource_definition(value="OS::Heat::Value")
    assert_valid(heat, hot_template({"before": before, "g": group(resource_def={"type": LATER})}))
    assert_valid(heat, hot_template({"before": before, "g": group(resource_def=LATER)}))
    counted = group(
        count=LATER, index_var=LATER, resource_def=resource_definition(value="%index%")
    )
    assert_valid(heat, hot_template({"before": before, "g": counted}))
    chain = {"type": "OS::Heat::ResourceChain", "properties": {"resources": LATER}}
    assert_valid(heat, hot_template({"before": before, "g": chain}))
    chain = {"type": "OS::Heat::ResourceChain", "properties": {"resources": ["OS::Heat::Value"],
             "resource_properties": {"value": LATER}}}  # fmt: skip
    assert_valid(heat, hot_template({"before": before, "g": chain}))


def test_facade_may_have_unknown_values(heat: ProjectClient) -> None:
    inner = hot_template(
        {"a": resource_definition(value={"list_join": [",", [{"resource_facade": "metadata"}]]})}
    )
    template = hot_template({
        "before": resource_definition(value="x"),
        "n": {"type": FILE, "metadata": {"k": LATER}},
    })  # fmt: skip
    assert_valid(heat, template, {FILE: json.dumps(inner)})


def test_parameter_defaults_count_as_values(heat: ProjectClient) -> None:
    """A required parameter with such a default is no required property."""
    defaults = {"parameter_defaults": {"v": 7}}
    assert_valid(heat, hot_template({"n": {"type": FILE}}), child(), environment=defaults)
    mapped = {**defaults, "resource_registry": {"OS::Heat::None": FILE}}
    assert_valid(
        heat, hot_template({"n": {"type": "OS::Heat::None"}}), child(), environment=mapped
    )
    template = hot_template({"n": {"type": FILE}})
    heat.create("made", template, files=child(), environment=defaults)
    assert heat.status("made") == "CREATE_COMPLETE"


def test_validate_accepts_missing_nested_parameters(heat: ProjectClient) -> None:
    template = hot_template({"n": {"type": FILE}})
    response = heat.send("POST", "/validate", {"template": template, "files": child()})
    assert response.status_int == 200, response.text
    assert "Property v not assigned" in validation_error(heat, "/stacks", template, child())


def test_positions_in_generated_templates_are_not_reported(heat: ProjectClient) -> None:
    template = hot_template({"g": group(resource_def=resource_definition(walue=1))})
    reported = validation_error(heat, "/stacks", template)
    assert "Unknown Property walue" in reported
    assert "there)" not in reported
    template = hot_template({"n": {"type": FILE}})
    broken = {FILE: json.dumps(hot_template({"a": resource_definition(walue=1)}), indent=1)}
    assert "(line 7, column 5 there)" in validation_error(heat, "/stacks", template, broken)


def test_error_has_positions_in_both_templates(heat: ProjectClient) -> None:
    """The error has the position in the nested template and in the root template."""
    middle = "file:///t/middle.yaml"
    files = {
        middle: json.dumps(hot_template({"deep": {"type": FILE}}), indent=1),
        FILE: json.dumps(hot_template({"a": resource_definition(walue=1)}), indent=1),
    }
    template = json.dumps(
        hot_template({"first": resource_definition(), "n": {"type": middle}}), indent=1
    )
    reported = validation_error(heat, "/stacks", template, files)
    assert reported.endswith("Unknown Property walue; did you mean \"value\"?"
                         " (line 7, column 5 there) (line 8, column 3)")  # fmt: skip
