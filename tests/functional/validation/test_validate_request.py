"""``POST /validate``: errors have the type and the form that clients know of this request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
TEST_RESOURCE = "OS::Heat::TestResource"
OUT_OF_RANGE = {"type": "number", "default": 3, "constraints": [{"range": {"max": 5}}]}


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProjectClient]:
    folder = tmp_path_factory.mktemp("db")
    service = LocalService(f"sqlite:///{folder}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def resource(**definition: Json) -> Json:
    return hot_template({"a": definition})


def validate(heat: ProjectClient, template: Json, **body: Json) -> Any:
    return heat.send("POST", "/validate", {"template": template, **body})


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (resource(properties={}), "Each resource must contain a type key."),
        (resource(type=""), "Each Resource must contain a Type key."),
        (resource(type="OS::No::Type"), "The Resource Type (OS::No::Type) could not be found."),
        (resource(type=TEST_RESOURCE, properties={"nope": 1}),
         "Property error: resources.a.properties: Unknown Property nope"),
        (hot_template({"a": "text"}),
         "\"resources\" must contain a map of resource maps. Found a [<class 'str'>] instead"),
        (hot_template({}, outputs={}) | {"outputs": {"o": {}}},
         "Output validation error: outputs.o: Each output definition must contain a value key."),
        (resource(type=TEST_RESOURCE, condition="nope"),
         'resources.a.condition: Invalid condition "nope"'),
        (hot_template({}) | {"conditions": {"a": "b"}},
         'Condition validation error: The definition of condition "a" is invalid: b'),
        (hot_template({}, parameters={}) | {"parameter_groups": [
            {"label": "x", "parameters": ["q"]}]},
         "Parameter Groups error: parameter_groups.x: The grouped parameter q does not reference"
         " a valid parameter."),
    ],
)  # fmt: skip
def test_mistakes_of_templates_are_bad_requests(
    heat: ProjectClient, template: Json, text: str
) -> None:
    refused = validate(heat, template)
    assert (refused.status_int, refused.json["error"]["type"]) == (400, "HTTPBadRequest")
    error = refused.json["error"]
    assert error["message"].startswith(text)
    assert error.get("summary", text).startswith(text)


@pytest.mark.parametrize(
    ("template", "error_type"),
    [
        ({"resources": {}}, "InvalidTemplateVersion"),
        (resource(type=TEST_RESOURCE, depends_on="b"), "InvalidTemplateReference"),
        (resource(type=TEST_RESOURCE, depends_on="a"), "CircularDependencyException"),
        (resource(type=TEST_RESOURCE, properties={"value": {"get_attr": ["b", "c"]}}),
         "InvalidTemplateReference"),
        (hot_template({}, parameters={"p": {"type": "strange"}}), "InvalidSchemaError"),
    ],
)  # fmt: skip
def test_other_errors_keep_their_types(
    heat: ProjectClient, template: Json, error_type: str
) -> None:
    refused = validate(heat, template)
    assert (refused.status_int, refused.json["error"]["type"]) == (400, error_type)


@pytest.mark.parametrize("value", [9, "text", None])
def test_values_of_parameters_are_not_judged(heat: ProjectClient, value: Json) -> None:
    template = hot_template(
        {"a": {"type": TEST_RESOURCE, "properties": {"value": {"get_param": "p"}}}},
        parameters={"p": OUT_OF_RANGE},
    )
    parameters = {} if value is None else {"p": value}
    shown = validate(heat, template, parameters=parameters)
    assert shown.status_int == 200, shown.text
    assert shown.json["Parameters"]["p"].get("Value") == value
    created = heat.send("POST", "/stacks", {"stack_name": "v", "template": template,
                                            "parameters": {"p": 9}})  # fmt: skip
    assert created.json["error"]["type"] == "StackValidationFailed"


def test_default_of_another_type_is_refused_where_it_is_used(heat: ProjectClient) -> None:
    template = hot_template({}, parameters={"p": {"type": "number", "default": "text"}})
    assert validate(heat, template).json["Parameters"]["p"]["Default"] == "text"
    body = {"stack_name": "bad-default", "template": template}
    refused = heat.send("POST", "/stacks", body)
    assert refused.json["error"]["message"].startswith("Parameter 'p' is invalid")
    assert heat.send("POST", "/stacks", {**body, "parameters": {"p": 1}}).status_int == 201


def test_unknown_reference_of_an_output_is_its_error(heat: ProjectClient) -> None:
    template = hot_template({}, outputs={"o": {"get_resource": "b"}})
    assert validate(heat, template).status_int == 200
    heat.create("refers", template)
    (output,) = heat.stack("refers")["outputs"]
    assert output["output_value"] is None
    assert output["output_error"] == 'The specified reference "b" (in unknown) is incorrect.'


def test_tag_between_two_commas_is_empty(heat: ProjectClient) -> None:
    heat.create("tagged", hot_template({}), tags="a,,b")
    assert heat.stack("tagged")["tags"] == ["a", "", "b"]
