"""Validation errors of nested stacks and the path in their messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService
from tests.functional.nested.test_nested_lifecycle import FILE, child, files
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions(max_nested_stack_depth=3))
    yield ProjectClient(service)
    service.close()


def refusal(heat: ProjectClient, template: Json, texts: Json, **body: Json) -> tuple[int, str]:
    body = {"stack_name": "bad", "template": template, "files": texts, **body}
    response = heat.send("POST", "/stacks", body)
    reported = response.json["error"]
    return response.status_int, f"{reported['type']}: {reported['message']}"


@pytest.mark.parametrize(
    ("properties", "template", "messages"),
    [
        ({"w": 1}, child(), ("Property error: : resources.n.properties: : Unknown Property w",)),
        ({"v": "far too long a value"}, child(), ("resources.n.properties.v",)),
        ({"v": ["list"]}, child(), ("resources.n.properties.v",)),
        (
            {},
            child(b=resource_definition(walue=1)),
            (f"resources.n<{FILE}>.resources.b.properties: : Unknown Property walue",),
        ),
        (
            {},
            child(b=resource_definition(value={"get_resource": "c"})),
            (f"resources.n<{FILE}>", 'reference "c"'),
        ),
        (
            {},
            child(b={"type": "No::Such"}),
            (f"resources.n<{FILE}>: : The Resource Type (No::Such)", "resources.b.type"),
        ),
        ({}, {"heat_template_version": "1999"}, ("resources.n", "version is invalid", FILE)),
    ],
)
def test_error_in_a_nested_stack_has_its_path(
    heat: ProjectClient, properties: Json, template: Json, messages: tuple[str, ...]
) -> None:
    status, reported = refusal(heat, hot_template({"n": {"type": FILE, "properties": properties}}),
                           files(template))  # fmt: skip
    assert status == 400
    assert reported.startswith("StackValidationFailed")
    for message in messages:
        assert message in reported, reported


def test_required_parameters_are_required_properties(heat: ProjectClient) -> None:
    inner = hot_template({}, parameters={"v": {"type": "string"}})
    _status, reported = refusal(heat, hot_template({"n": {"type": FILE}}), files(inner))
    assert "Property v not assigned" in reported


def test_missing_file_is_reported_with_its_path(heat: ProjectClient) -> None:
    status, reported = refusal(heat, hot_template({"n": {"type": FILE}}), {})
    assert (status, "resources.n.type" in reported, FILE in reported) == (400, True, True), (
        reported
    )


def test_property_that_reads_no_output_is_refused(heat: ProjectClient) -> None:
    reader = resource_definition(value={"get_attr": ["n", "ouch"]})
    template = hot_template({"n": {"type": FILE}, "after": reader})
    status, reported = refusal(heat, template, files(child()))
    assert (status, "Referenced Attribute (n ouch)" in reported) == (400, True), reported


def test_recursive_template_is_refused(heat: ProjectClient) -> None:
    status, reported = refusal(
        heat, hot_template({"n": {"type": FILE}}), files(hot_template({"n": {"type": FILE}}))
    )
    inner = f"resources.n<{FILE}>.resources.n<{FILE}>.resources.n<{FILE}>"
    assert status == 400
    assert reported.startswith("StackValidationFailed: RequestLimitExceeded") or (
        inner in reported and "nested at most 3 deep" in reported
    ), reported


def test_number_of_resources_in_a_tree_is_limited(tmp_path: Any) -> None:
    service = LocalService(
        f"sqlite:///{tmp_path}/few.sqlite", ApiOptions(max_resources_per_stack=4)
    )
    heat = ProjectClient(service)
    two = {"type": FILE}
    status, reported = refusal(
        heat, hot_template({"n": two, "m": two}), files(child(b=resource_definition()))
    )
    assert (status, reported.startswith("RequestLimitExceeded")) == (400, True), reported
    heat.create("s", hot_template({"n": two, "m": two}), files=files(child()))
    assert heat.status("s") == "CREATE_COMPLETE"
    service.close()


def test_template_must_match_the_type_it_replaces(heat: ProjectClient) -> None:
    environment = {"resource_registry": {"OS::Heat::Value": FILE}}
    inner = hot_template({}, parameters={"extra": {"type": "string"}})
    _status, reported = refusal(
        heat, hot_template({"n": {"type": "OS::Heat::Value", "properties": {"value": 1}}}),
        files(inner), environment=environment,
    )  # fmt: skip
    for message in ("Required property value", "property extra", "Attribute value"):
        assert message in reported, reported


@pytest.mark.parametrize(
    ("property_type", "parameter"),
    [
        ("string", "json"),
        ("string", "comma_delimited_list"),
        ("map", "comma_delimited_list"),
        ("list", "json"),
        ("list", "string"),
        ("integer", "string"),
    ],
)
def test_parameter_type_must_match_the_replaced_property(
    heat: ProjectClient, property_type: str, parameter: str
) -> None:
    name, real = {
        "string": ("value", "OS::Heat::TestResource"),
        "map": ("resource_properties", "OS::Heat::ResourceChain"),
        "list": ("resources", "OS::Heat::ResourceChain"),
        "integer": ("length", "OS::Heat::RandomString"),
    }[property_type]
    default = {"json": {}, "comma_delimited_list": [], "string": "s"}[parameter]
    inner = hot_template({}, parameters={name: {"type": parameter, "default": default}})
    environment = {"resource_registry": {real: FILE}}
    _status, reported = refusal(
        heat, hot_template({"n": {"type": real}}), files(inner), environment=environment
    )
    expected = property_type.capitalize()
    assert f"Property {name} type mismatch between facade {real} ({expected})" in reported


def test_invalid_value_of_an_attribute_fails_the_resource(heat: ProjectClient) -> None:
    """The value of an attribute is checked when the nested stack is created."""
    template = hot_template(
        {
            "long": resource_definition(value="far too long a value"),
            "n": {"type": FILE, "properties": {"v": {"get_attr": ["long", "output"]}}},
        }
    )
    heat.create("s", template, files=files(child()))
    reason = heat.stack("s")["stack_status_reason"]
    assert heat.status("s") == "CREATE_FAILED"
    assert f"StackValidationFailed: resources.n<{FILE}>" in reason, reason


def test_error_in_a_group_is_reported_once(heat: ProjectClient) -> None:
    chain = {"type": "OS::Heat::ResourceChain", "properties": {"resources": "OS::Heat::None"}}
    _status, reported = refusal(heat, hot_template({"n": chain}), {})
    assert "resources.n.properties.resources: : \"'OS::Heat::None'\" is not a list" in reported
    assert "\n" not in reported, reported


def test_missing_property_has_no_suggestion(heat: ProjectClient) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1}}
    _status, reported = refusal(heat, hot_template({"n": group}), {})
    assert "Property resource_def not assigned" in reported
    assert "did you mean" not in reported, reported
