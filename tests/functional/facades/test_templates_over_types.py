"""Templates in the place of types that exist: what they may use, and what they must offer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
RANDOM = "OS::Heat::RandomString"
FILE = "file:///t/random.yaml"


def random_template(type_name: str = RANDOM, **parameters: Json) -> Json:
    """A template that stands for a random string and has another one inside."""
    return hot_template(
        {"inner": {"type": type_name, "properties": {"length": 7}}},
        parameters=parameters,
        outputs={"value": {"get_attr": ["inner", "value"]}},
    )


PARENT = hot_template({"r": {"type": RANDOM}}, outputs={"o": {"get_attr": ["r", "value"]}})


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def body(template: Json | None = None, **registry: Json) -> Json:
    return {
        "files": {FILE: json.dumps(template or random_template())},
        "environment": {"resource_registry": registry or {RANDOM: FILE}},
    }


def test_template_uses_the_type_that_it_stands_for(heat: ProjectClient) -> None:
    heat.create("s", PARENT, **body())
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(heat.outputs("s")["o"]) == 7
    nested = heat.nested_stack("s", "r")["id"]
    inner = heat.resource(nested, "inner")
    assert inner["attributes"]["value"] == heat.outputs("s")["o"]
    assert not any(link["rel"] == "nested" for link in inner["links"])
    before = heat.outputs("s")
    heat.update("s", PARENT, **body())
    assert (heat.status("s"), heat.outputs("s")) == ("UPDATE_COMPLETE", before)


@pytest.mark.parametrize(
    "registry",
    [
        {"OS::Heat::Random*": FILE},
        {"My::Random": RANDOM, RANDOM: FILE},
        {"resources": {"r": {RANDOM: FILE}}},
    ],
    ids=["wildcard", "alias", "one resource"],
)
def test_entry_of_any_form_is_no_recursion(heat: ProjectClient, registry: Json) -> None:
    outer = "My::Random" if "My::Random" in registry else RANDOM
    heat.create("s", hot_template({"r": {"type": outer}}), **body(**registry))
    assert heat.status("s") == "CREATE_COMPLETE"
    assert len(heat.resources("s", "?nested_depth=5")) == 2


def test_other_types_stay_mapped_inside(heat: ProjectClient) -> None:
    value = "file:///t/value.yaml"
    files = {
        FILE: json.dumps(random_template("My::Value")),
        value: json.dumps(
            hot_template(
                {"inner": {"type": RANDOM}},
                parameters={"length": {"type": "number", "default": 1}},
                outputs={"value": {"get_attr": ["inner", "value"]}},
            )
        ),
    }
    registry = {RANDOM: FILE, "My::Value": value}
    heat.create("s", PARENT, files=files, environment={"resource_registry": registry})
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert len(heat.resources("s", "?nested_depth=5")) == 3


def test_template_that_is_its_own_type_is_refused(heat: ProjectClient) -> None:
    parent = hot_template({"r": {"type": "My::Random"}})
    request = {"stack_name": "s", "template": parent,
               **body(random_template("My::Random", length={"type": "number", "default": 1}),
                      **{"My::Random": FILE})}  # fmt: skip
    refused = heat.send("POST", "/stacks", request)
    assert refused.status_int == 400
    assert "Recursion depth exceeds" in refused.json["error"]["message"]


def test_nested_stack_deleted_by_hand_lets_the_parent_be_deleted(heat: ProjectClient) -> None:
    heat.create("s", PARENT, **body())
    nested = heat.nested_stack("s", "r")["id"]
    heat.delete(nested)
    assert heat.status(nested) == "DELETE_COMPLETE"
    heat.delete("s")
    assert heat.stack("s") is None


def test_preview_shows_the_type_inside_once(heat: ProjectClient) -> None:
    heat.create("s", PARENT, **body())
    request = {"template": PARENT, **body()}
    shown = heat.send("PUT", f"{heat.path('s')}/preview?show_nested=true", request).json
    names = [each["resource_name"] for each in shown["resource_changes"]["unchanged"]]
    assert sorted(names) == ["inner", "r"]


# -- what a template must offer


def message_of(
    heat: ProjectClient, template: Json, facade: str = RANDOM, **properties: Json
) -> str:
    parent = hot_template({"r": {"type": facade, "properties": properties}})
    files = {FILE: json.dumps(template)}
    request = {"stack_name": "s", "template": parent, "files": files,
               "environment": {"resource_registry": {facade: FILE}}}  # fmt: skip
    answer = heat.send("POST", "/stacks", request)
    if answer.status_int == 201:
        return ""
    assert answer.json["error"]["type"] == "StackValidationFailed"
    return str(answer.json["error"]["message"])


def provider(outputs: Json = None, **parameters: Json) -> Json:
    return hot_template(
        {"x": {"type": "OS::Heat::TestResource"}},
        parameters=parameters,
        outputs={"value": "x"} if outputs is None else outputs,
    )


TEXT = {"type": "string"}
OPTIONAL = {"type": "string", "default": "x"}


@pytest.mark.parametrize(
    ("template", "properties", "expected"),
    [
        (provider({}), {}, f"Attribute value for facade {RANDOM} missing in provider"),
        (
            provider(foo=TEXT),
            {"foo": "x"},
            f"Provider requires property foo unknown in facade {RANDOM}",
        ),
        (
            provider(length=OPTIONAL),
            {},
            f"Property length type mismatch between facade {RANDOM} (Integer)"
            " and provider (String)",
        ),
        (provider(), {"length": 7}, "Unknown Property length"),
        (provider(foo=TEXT), {}, "Property foo not assigned"),
    ],
    ids=["attribute", "required parameter", "type", "property", "missing value"],
)
def test_template_that_differs_from_its_facade_is_refused(
    heat: ProjectClient, template: Json, properties: Json, expected: str
) -> None:
    first = message_of(heat, template, **properties).splitlines()[0]
    assert first.removesuffix(" (at resources.r)").endswith(expected)


def test_template_without_a_required_property_of_its_facade_is_refused(
    heat: ProjectClient,
) -> None:
    facade = "OS::Heat::Value"
    expected = f"Required property value for facade {facade} missing in provider"
    assert expected in message_of(heat, provider(), facade)


def test_further_optional_parameters_are_accepted(heat: ProjectClient) -> None:
    assert message_of(heat, provider(foo=OPTIONAL)) == ""


# -- attributes that the template does not output

READER = {"n": {"type": FILE}}
CHILD = {"a": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}}
INCORRECT = "The Referenced Attribute (n out) is incorrect."


def child(*outputs: str) -> Json:
    template = hot_template(
        CHILD, outputs={name: {"get_attr": ["a", "output"]} for name in outputs}
    )
    return {FILE: json.dumps(template)}


def output(heat: ProjectClient) -> Json:
    (shown,) = heat.stack("s")["outputs"]
    return shown["output_value"], shown.get("output_error")


def test_output_that_a_new_template_lacks_is_null_with_an_error(heat: ProjectClient) -> None:
    template = hot_template(READER, outputs={"o": {"get_attr": ["n", "out"]}})
    heat.create("s", template, files=child("out"))
    assert output(heat) == ("x", None)
    heat.update("s", template, files=child("other"))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert output(heat) == (None, INCORRECT)
    heat.update("s", template, files=child("out"))
    assert output(heat) == ("x", None)


def test_output_that_the_first_template_lacks_is_null_with_an_error(heat: ProjectClient) -> None:
    template = hot_template(READER, outputs={"o": {"get_attr": ["n", "out"]}})
    heat.create("s", template, files=child())
    assert (heat.status("s"), output(heat)) == ("CREATE_COMPLETE", (None, INCORRECT))


def test_property_that_reads_a_missing_output_is_refused(heat: ProjectClient) -> None:
    after = {"type": "OS::Heat::TestResource", "properties": {"value": {"get_attr": ["n", "out"]}}}
    template = hot_template({**READER, "after": after})
    body = {"stack_name": "s", "template": template, "files": child()}
    refused = heat.send("POST", "/stacks", body)
    assert refused.status_int == 400
    assert INCORRECT in refused.json["error"]["message"]


def test_output_that_a_user_removes_from_the_nested_stack_is_null(heat: ProjectClient) -> None:
    heat.create(
        "s", hot_template(READER, outputs={"o": {"get_attr": ["n", "out"]}}), files=child("out")
    )
    nested = heat.path(heat.nested_stack("s", "n")["id"])
    answer = heat.send("PUT", nested, {"template": hot_template(CHILD)})
    assert answer.status_int == 202
    assert (heat.status("s"), output(heat)) == ("CREATE_COMPLETE", (None, INCORRECT))
