"""Odd arguments of functions and numbers that no service can use: 400, never 500."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from webob import Request

from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS
from tests.functional.harness import LocalService
from tests.properties.evaluation.test_odd_arguments import VALID, sources, variations

HEAD = "heat_template_version: 2021-04-16\n"
VALUE = HEAD + "resources: {r: {type: OS::Heat::Value, properties: {value: %s}}}\n"
NUMBERS = {
    "base 60": "1" + ":59" * 100_000,
    "short base 60": "1" + ":59" * 200,
    "base 60 float": "1" + ":59" * 200 + ".5",
    "long base 60 float": "1" + ":59" * 100_000 + ".5",
    "hexadecimal": "0x" + "f" * 5000,
    "short hexadecimal": "0x" + "f" * 300,
    "octal": "0" + "7" * 5000,
    "binary": "0b" + "1" * 5000,
    "decimal": "9" * 5000,
    "short decimal": "9" * 350,
    "tagged": "!!int '" + "9" * 5000 + "'",
    "float": "1" * 5000 + ".0",
    "infinite": "1.0e+400",
    "nul": '"a\\0b"',
    "half a pair": '"\\ud800"',
}
JSON_VALUES = ["9" * 5000, "9" * 350, "1e400", "-1e400", "Infinity", '"\\ud800"', '"\\u0000"']


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("odd")
    return LocalService(f"sqlite:///{path}/odd.sqlite")


@pytest.mark.parametrize("name", sorted({name for name, _ in BUILTIN_FUNCTIONS}))
def test_validation_of_odd_arguments_is_answered(service: Any, name: str) -> None:
    odd = variations(VALID[name])
    for source in sources(name, VALID[name])[-1:]:
        section = "Resources" if "Resources" in source else "resources"
        keys = ("Type", "Properties") if section == "Resources" else ("type", "properties")
        body = dict(zip(keys, ("OS::Heat::Value", None), strict=True))
        source[section] = {"b": {**body, keys[1]: {"value": "x"}}} | {
            f"r{index}": {**body, keys[1]: {"value": {name: arguments}}}
            for index, arguments in enumerate(odd)
        }
        for path in ("/validate", "/stacks/preview"):
            answer = service.send("POST", path, {"stack_name": "s", "template": source})
            assert answer.status_int in (200, 400), answer.text


def refusal(service: Any, **body: Any) -> str:
    """Return the error of a stack that is not created."""
    template = HEAD + "parameters: {p: {type: json, default: {}}}\n"
    answer = service.send("POST", "/stacks", {"stack_name": "s", "template": template} | body)
    assert answer.status_int == 400, answer.text
    return str(answer.json["error"]["message"])


@pytest.mark.parametrize("name", NUMBERS)
def test_scalar_that_no_service_can_use_is_refused_with_its_line(service: Any, name: str) -> None:
    text = NUMBERS[name]
    assert "line 2" in refusal(service, template=VALUE % text)
    assert "line 1" in refusal(service, environment=f"parameters: {{p: {text}}}")
    assert "line 1" in refusal(
        service, files={"e": f"parameters: {{p: {text}}}"}, environment_files=["e"]
    )


@pytest.mark.parametrize("text", JSON_VALUES)
def test_json_value_that_no_service_can_use_is_refused(service: Any, text: str) -> None:
    is_yaml_text = "e" in text or "I" in text  # a template that is no JSON is read as YAML
    as_template = '{"heat_template_version": "2021-04-16", "outputs": {"o": {"value": %s}}}'
    if not is_yaml_text:
        assert "template" in refusal(service, template=as_template % text)
        assert "environment" in refusal(service, environment=f'{{"parameters": {{"p": {text}}}}}')
    assert "Parameter 'p' is invalid" in refusal(service, parameters={"p": f"[{text}]"})
    request = Request.blank("/v1/p/stacks", method="POST", content_type="application/json")
    request.text = f'{{"stack_name": "s", "template": {{"outputs": {{"o": {text}}}}}}}'
    answer = request.get_response(service.app)
    assert answer.status_int == 400
    assert "body" in answer.json["error"]["message"]


def test_json_text_that_a_function_reads_is_refused(service: Any) -> None:
    for text in JSON_VALUES:
        template = {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Parameters": {"P": {"Type": "String", "Default": f"[{text}]"}},
            "Resources": {
                "R": {"Type": "OS::Heat::Value",
                      "Properties": {"value": {"Fn::Select": ["0", {"Ref": "P"}]}}}},
        }  # fmt: skip
        assert "Resources.R.Properties" in refusal(service, template=template)


@pytest.mark.parametrize(
    "expression",
    ["pow(10, 6000)", "pow(10, 400)", "shiftBitsLeft(1, 65000)", "$.data * $.data * $.data"],
)  # fmt: skip
def test_number_of_an_expression_is_refused_in_requests_and_in_engines(
    service: Any, expression: str
) -> None:
    def template(data: Any) -> dict[str, Any]:
        value = {"yaql": {"expression": expression, "data": data}}
        return {
            "heat_template_version": "2021-04-16",
            "resources": {
                "n": {"type": "OS::Heat::Value",
                      "properties": {"type": "number", "value": 2**400}},
                "r": {"type": "OS::Heat::Value", "properties": {"value": value}}},
        }  # fmt: skip

    assert "YAQL: a number" in refusal(service, template=template(2**400))
    created = service.send(
        "POST", "/stacks",
        {"stack_name": "late", "template": template({"get_attr": ["n", "value"]})},
    )  # fmt: skip
    path = f"/stacks/late/{created.json['stack']['id']}"
    shown = service.send("GET", f"{path}/resources/r").json["resource"]
    assert shown["resource_status"] == "CREATE_FAILED"
    assert "YAQL: a number" in shown["resource_status_reason"]
    service.send("DELETE", path)
