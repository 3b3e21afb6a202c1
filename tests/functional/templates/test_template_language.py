"""The template language through the API, from request to resource."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.services import ApiOptions
from heat_convergence.template.functions.function import Function
from tests.functional import validation_cases as table
from tests.functional.harness import LocalService

Json = Any
SHOUT = Function("The text in capitals.", lambda text, _scope: text.upper())


def is_even(value: Any) -> str | None:
    return None if int(value) % 2 == 0 else "it is odd"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    service = LocalService(
        f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite",
        ApiOptions(region="north"),
        functions={"shout": SHOUT},
        custom_constraints={"is_even": is_even},
    )
    yield service
    service.close()


def send(service: LocalService, method: str, path: str, body: Json = None) -> Any:
    request = Request.blank(f"/v1/p{path}", method=method)
    if body is not None:
        request.json = body
    return request.get_response(service.app)


def create_stack(service: LocalService, name: str, template: Json, **body: Json) -> str:
    """Create a stack, check that it completes, and return its path."""
    answer = send(service, "POST", "/stacks", {"stack_name": name, "template": template, **body})
    assert answer.status_int == 201, answer.text
    path: str = answer.location.split("/v1/p")[1]
    stack = send(service, "GET", path).json["stack"]
    assert stack["stack_status"] == "CREATE_COMPLETE", stack
    return path


def outputs(service: LocalService, path: str) -> dict[str, Json]:
    found = send(service, "GET", path).json["stack"]["outputs"]
    return {output["output_key"]: output["output_value"] for output in found}


# -- plug-ins -----------------------------------------------------------------


def test_plugin_functions_work_in_properties_and_outputs(service: LocalService) -> None:
    template = table.hot_template(
        resources={
            "a": table.value_resource({"shout": "at once"}),
            "b": table.value_resource(
                {"shout": {"list_join": ["", [{"get_attr": ["a", "value"]}, "!x"]]}}
            ),
        },
        outputs={
            "b": {"value": {"get_attr": ["b", "value"]}},
            "c": {"value": {"shout": {"get_resource": "b"}}},
        },
    )
    path = create_stack(service, "plugins", template)
    found = outputs(service, path)
    assert found["b"] == "AT ONCE!X"
    assert found["c"].isupper()
    update = {"template": {**template, "description": "another"}}
    assert send(service, "PUT", f"{path}/preview", update).status_int == 200
    response = send(
        service, "GET", "/template_versions/heat_template_version.2021-04-16/functions"
    )
    assert {"functions": "shout", "description": SHOUT.summary} in response.json[
        "template_functions"
    ]


def test_plugin_constraints_are_checked(service: LocalService) -> None:
    declared = {"type": "number", "constraints": [{"custom_constraint": "is_even"}]}
    body = {
        "stack_name": "even",
        "template": table.template_with_parameter(declared),
        "parameters": {"p": 3},
    }
    answer = send(service, "POST", "/stacks", body)
    assert answer.status_int == 400
    assert "it is odd" in answer.json["error"]["message"]


def test_region_is_the_configured_one(service: LocalService) -> None:
    template = table.hot_template(outputs={"region": {"value": {"get_param": "OS::region"}}})
    assert outputs(service, create_stack(service, "region", template)) == {"region": "north"}


# -- debugging ----------------------------------------------------------------


def test_stored_definition_can_be_shown(service: LocalService) -> None:
    long, hidden = "x" * 5000, "planted-and-hidden"
    template = table.hot_template(
        parameters={"p": {"type": "string", "hidden": True}},
        resources={
            "a": table.value_resource({"list_join": ["", [long, "!"]]}),
            "b": table.value_resource({"list_join": ["", [{"get_attr": ["a", "value"]}, "?"]]}),
            "c": table.value_resource([{"get_param": "p"}, {"get_resource": "a"}]),
        },
    )
    path = create_stack(service, "shown", template, parameters={"p": hidden})

    def definition(name: str) -> Json:
        answer = send(service, "GET", f"{path}/resources/{name}?detail=definition")
        response = answer.json["resource"]["definition"]
        assert hidden not in str(response)
        return response

    assert definition("a")["properties"]["value"] == long + "!"
    joined = definition("b")["properties"]["value"]["$call"]
    assert joined[0] == "list_join"
    assert joined[2][1][0]["$call"][2] == ["a", "value"]
    masked, reference = definition("c")["properties"]["value"]
    assert masked == "******"
    assert reference["$call"] == ["get_resource", "standard", "a"]
    assert "definition" not in send(service, "GET", f"{path}/resources/a").json["resource"]
    assert send(service, "GET", f"{path}/resources/a?detail=x").status_int == 400


# -- errors -------------------------------------------------------------------

MESSAGES = [
    "Invalid type (strin) of parameter flavour: it is not one of string, number,"
    ' comma_delimited_list, json, boolean; did you mean "string"? (line 3, column 3)',
    'The Resource Type (OS::Heat::Vaule) could not be found. Did you mean "OS::Heat::Value"?'
    " (at resources.copy.type, line 11, column 5)",
    "Property error: : resources.twice.properties.type: : The Parameter (flavor) was not"
    ' provided; did you mean "flavour"? (line 18, column 14)',
    "Property error: : resources.text.properties: : Unknown Property lenght;"
    ' did you mean "length"? (line 8, column 7)',
    "Property error: : resources.text.properties.salt: : Value must be a string;"
    " got {'get_parm': 'flavour'};"
    ' did you mean "get_param"? (line 9, column 7)',
    "resources.copy.properties.value.get_attr: : The Referenced Attribute (text valu) is"
    ' incorrect. Did you mean "value"? (line 13, column 15)',
    "resources.twice.properties.value.get_attr: : The Referenced Attribute (text valu) is"
    ' incorrect. Did you mean "value"? (line 17, column 15)',
]
INVALID_TEMPLATE = (Path(__file__).parents[1] / "data" / "mistakes.yaml").read_text()


def test_all_errors_are_reported_together(service: LocalService) -> None:
    """The first has the form that clients expect; each has a position and a suggestion."""
    body = {"stack_name": "bad", "template": INVALID_TEMPLATE}
    for path in ("/stacks", "/stacks/preview", "/validate"):
        error = send(service, "POST", path, body).json["error"]
        assert error["type"] == "InvalidSchemaError"
        value_error = [each for each in MESSAGES if path == "/validate" and "must be" in each]
        expected = [each for each in MESSAGES if each not in value_error]
        assert error["message"].splitlines() == expected


def test_validate_judges_no_values(service: LocalService) -> None:
    """Values may depend on parameters that are not given yet."""
    inner = table.hot_template(
        parameters={"n": {"type": "number"}},
        resources={"r": {"type": "OS::Heat::RandomString", "properties": {"lengt": 1}}},
    )
    outer = table.hot_template(
        parameters={"p": {"type": "number", "default": 5}},
        resources={
            "long": {"type": "OS::Heat::RandomString", "properties": {"length": "x"}},
            "nested": {"type": "n.yaml", "properties": {"n": {"get_param": "p"}}},
        },
    )
    body = {"template": outer, "files": {"n.yaml": json.dumps(inner)}}
    shown = send(service, "POST", "/validate?show_nested=true", body).json
    assert shown["NestedParameters"]["nested"]["Parameters"]["n"]["Value"] == 5
    assert shown["Environment"]["resource_registry"] == {"n.yaml": "n.yaml", "resources": {}}
    outer["resources"]["long"]["properties"] = {"lengt": 1}
    error = send(service, "POST", "/validate", body).json["error"]["message"]
    assert error.startswith("Property error: resources.long.properties: Unknown Property lengt")
    assert "n.yaml" not in error


def test_first_error_decides_type_and_text(
    service: LocalService,
) -> None:
    template = INVALID_TEMPLATE.replace("strin,", "string,").replace("Vaule", "Value")
    body = {"stack_name": "bad", "template": template.replace("flavor", "flavour")}
    error = send(service, "POST", "/stacks", body).json["error"]
    assert error["type"] == "StackValidationFailed"
    assert error["message"].startswith(
        "Property error: : resources.text.properties: : Unknown Property lenght"
    )


def test_validate_suggests_the_name_of_a_misspelled_parameter(service: LocalService) -> None:
    template = table.hot_template(
        parameters={"size": {"type": "number"}},
        resources={"r": table.value_resource({"get_param": "sise"})},
    )
    error = send(service, "POST", "/validate", {"template": template}).json["error"]["message"]
    assert 'The Parameter (sise) was not provided; did you mean "size"?' in error
