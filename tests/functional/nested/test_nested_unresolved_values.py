"""What validation of a tree takes for granted before anything of it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"
LATER = {"get_attr": ["before", "output"]}  # nobody knows it yet


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def child(**declared: Json) -> dict[str, str]:
    """A template whose resource would refuse the parameter's default."""
    text = {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "v"}}}
    template = hot_template({"a": text}, parameters={"v": {"type": "number", **declared}})
    return {FILE: json.dumps(template)}


def checked(heat: ProjectClient, template: Json, files: Json = None, **body: Json) -> None:
    body = {"template": template, "files": files or {}, **body}
    for path in ("/validate", "/stacks/preview"):
        answer = heat.send("POST", path, {**body, "stack_name": "s"})
        assert answer.status_int == 200, answer.text


def refused(heat: ProjectClient, path: str, template: Json, files: Json = None) -> str:
    body = {"template": template, "files": files or {}, "stack_name": "s"}
    answer = heat.send("POST", path, body)
    assert answer.status_int == 400, answer.text
    return str(answer.json["error"]["message"])


def group(**properties: Json) -> Json:
    return {"type": "OS::Heat::ResourceGroup", "properties": properties}


def test_a_property_that_is_not_known_yet_replaces_the_default(heat: ProjectClient) -> None:
    template = hot_template({
        "before": resource_definition(value=8),
        "n": {"type": FILE, "properties": {"v": LATER}},
    })  # fmt: skip
    checked(heat, template, child(default=0))


def test_values_not_known_yet_are_assigned_to_members(heat: ProjectClient) -> None:
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
        checked(heat, template, child())
    wrong = {"type": FILE, "properties": {"v": LATER, "w": 1}}
    template = hot_template(
        {"before": resource_definition(value=8), "g": group(resource_def=wrong)}
    )
    assert "Unknown Property w" in refused(heat, "/stacks", template, child())


def test_members_of_a_type_or_number_not_known_yet(heat: ProjectClient) -> None:
    before = resource_definition(value="OS::Heat::Value")
    checked(heat, hot_template({"before": before, "g": group(resource_def={"type": LATER})}))
    checked(heat, hot_template({"before": before, "g": group(resource_def=LATER)}))
    counted = group(
        count=LATER, index_var=LATER, resource_def=resource_definition(value="%index%")
    )
    checked(heat, hot_template({"before": before, "g": counted}))
    chain = {"type": "OS::Heat::ResourceChain", "properties": {"resources": LATER}}
    checked(heat, hot_template({"before": before, "g": chain}))
    chain = {"type": "OS::Heat::ResourceChain", "properties": {"resources": ["OS::Heat::Value"],
             "resource_properties": {"value": LATER}}}  # fmt: skip
    checked(heat, hot_template({"before": before, "g": chain}))


def test_a_facade_of_values_not_known_yet(heat: ProjectClient) -> None:
    inner = hot_template(
        {"a": resource_definition(value={"list_join": [",", [{"resource_facade": "metadata"}]]})}
    )
    template = hot_template({
        "before": resource_definition(value="x"),
        "n": {"type": FILE, "metadata": {"k": LATER}},
    })  # fmt: skip
    checked(heat, template, {FILE: json.dumps(inner)})


def test_parameter_defaults_count_as_values(heat: ProjectClient) -> None:
    """A required parameter that they set is no required property."""
    defaults = {"parameter_defaults": {"v": 7}}
    checked(heat, hot_template({"n": {"type": FILE}}), child(), environment=defaults)
    mapped = {**defaults, "resource_registry": {"OS::Heat::None": FILE}}
    checked(heat, hot_template({"n": {"type": "OS::Heat::None"}}), child(), environment=mapped)
    template = hot_template({"n": {"type": FILE}})
    heat.create("made", template, files=child(), environment=defaults)
    assert heat.status("made") == "CREATE_COMPLETE"


def test_nested_parameters_may_be_missing_where_the_roots_may(heat: ProjectClient) -> None:
    template = hot_template({"n": {"type": FILE}})
    answer = heat.send("POST", "/validate", {"template": template, "files": child()})
    assert answer.status_int == 200, answer.text
    assert "Property v not assigned" in refused(heat, "/stacks", template, child())


def test_positions_in_generated_templates_are_not_reported(heat: ProjectClient) -> None:
    template = hot_template({"g": group(resource_def=resource_definition(walue=1))})
    reported = refused(heat, "/stacks", template)
    assert "Unknown Property walue" in reported
    assert "there)" not in reported
    template = hot_template({"n": {"type": FILE}})
    broken = {FILE: json.dumps(hot_template({"a": resource_definition(walue=1)}), indent=1)}
    assert "(line 7, column 5 there)" in refused(heat, "/stacks", template, broken)


def test_places_here_and_there(heat: ProjectClient) -> None:
    """Where a nested template goes wrong, and which resource of the root it is behind."""
    middle = "file:///t/middle.yaml"
    files = {
        middle: json.dumps(hot_template({"deep": {"type": FILE}}), indent=1),
        FILE: json.dumps(hot_template({"a": resource_definition(walue=1)}), indent=1),
    }
    template = json.dumps(
        hot_template({"first": resource_definition(), "n": {"type": middle}}), indent=1
    )
    reported = refused(heat, "/stacks", template, files)
    assert reported.endswith("Unknown Property walue; did you mean \"value\"?"
                         " (line 7, column 5 there) (line 8, column 3)")  # fmt: skip
