"""The refusals of a create, one test per row of docs/reference/validation.rst.

Rows that need more than a create are in ``test_validation_rules``, ``test_validation_limits``
and ``test_type_validation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.template.environment.environment import Environment
from tests.functional import template_validation_cases as template_table
from tests.functional import validation_cases as table
from tests.functional.harness import LocalService

Json = Any


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite")
    yield service
    service.close()


def send(service: LocalService, method: str, path: str, body: Json = None) -> Any:
    request = Request.blank(f"/v1/p{path}", method=method)
    if body is not None:
        request.json = body
    return request.get_response(service.app)


def assert_error(answer: Any, error_type: str, text: str) -> None:
    assert answer.status_int == 400, answer.text
    error = answer.json["error"]
    assert (error["type"], text in error["message"]) == (error_type, True), error


def ids(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    "row",
    template_table.REQUEST + table.PARAMETERS,
    ids=ids(template_table.REQUEST + table.PARAMETERS),
)
def test_create_refuses_body(service: LocalService, row: table.ValidationCase) -> None:
    _name, body, error_type, text = row
    assert_error(send(service, "POST", "/stacks", {"stack_name": "bad", **body}), error_type, text)
    assert_no_stack(service)


@pytest.mark.parametrize(
    "row",
    template_table.TEMPLATE + table.PROPERTIES,
    ids=ids(template_table.TEMPLATE + table.PROPERTIES),
)
def test_create_refuses_template(service: LocalService, row: table.ValidationCase) -> None:
    _name, template, error_type, text = row
    body = {"stack_name": "bad", "template": template}
    assert_error(send(service, "POST", "/stacks", body), error_type, text)
    assert_no_stack(service)


@pytest.mark.parametrize(
    "row",
    template_table.TEMPLATE + table.PROPERTIES,
    ids=ids(template_table.TEMPLATE + table.PROPERTIES),
)
def test_preview_refuses_template(service: LocalService, row: table.ValidationCase) -> None:
    name, template, error_type, text = row
    if name == "resources a list":
        error_type = "AttributeError"
    body = {"stack_name": "bad", "template": template}
    assert_error(send(service, "POST", "/stacks/preview", body), error_type, text)


@pytest.mark.parametrize("row", table.NAMES, ids=ids(table.NAMES))
def test_create_refuses_stack_names(service: LocalService, row: table.ValidationCase) -> None:
    _name, name, error_type, text = row
    body = {"stack_name": name, "template": table.hot_template()}
    assert_error(send(service, "POST", "/stacks", body), error_type, text)
    assert_no_stack(service)


@pytest.mark.parametrize("row", table.ACCEPTED, ids=ids(table.ACCEPTED))
def test_create_accepts_unusual_valid_templates(
    service: LocalService, row: tuple[str, Json]
) -> None:
    answer = send(service, "POST", "/stacks", {"stack_name": "good", "template": row[1]})
    assert answer.status_int == 201, answer.text
    stack = send(service, "GET", answer.location.split("/v1/p")[1]).json["stack"]
    assert stack["stack_status"] == "CREATE_COMPLETE", stack
    assert send(service, "DELETE", answer.location.split("/v1/p")[1]).status_int == 204


def test_unknown_parameter_of_an_output_is_an_output_error(service: LocalService) -> None:
    template = table.hot_template(outputs={"o": {"value": {"get_param": "x"}}})
    answer = send(service, "POST", "/stacks", {"stack_name": "good", "template": template})
    path = answer.location.split("/v1/p")[1]
    (output,) = send(service, "GET", path).json["stack"]["outputs"]
    assert output["output_value"] is None
    assert "x" in output["output_error"]
    send(service, "DELETE", path)


def test_update_reports_unknown_sections_with_its_own_error_type(service: LocalService) -> None:
    created = send(
        service, "POST", "/stacks", {"stack_name": "good", "template": table.hot_template()}
    )
    path = created.location.split("/v1/p")[1]
    answer = send(service, "PUT", path, {"template": table.hot_template(colours={})})
    assert_error(answer, "InvalidTemplateSection", "colours")
    assert send(service, "GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    send(service, "DELETE", path)


def test_validate_reports_unknown_sections_with_its_own_error_type(service: LocalService) -> None:
    answer = send(service, "POST", "/validate", {"template": table.hot_template(colours={})})
    assert_error(answer, "HTTPBadRequest", "colours")


def test_immutable_parameter_cannot_change(service: LocalService) -> None:
    template = table.template_with_parameter({"type": "string", "immutable": True})
    body = {"stack_name": "good", "template": template, "parameters": {"p": "one"}}
    path = send(service, "POST", "/stacks", body).location.split("/v1/p")[1]
    answer = send(service, "PATCH", path, {"parameters": {"p": "two"}})
    assert_error(answer, "ImmutableParameterModified", "p")
    assert send(service, "PATCH", path, {"parameters": {"p": "one"}}).status_int == 202
    send(service, "DELETE", path)


def test_unknown_error_to_ignore_is_refused(service: LocalService) -> None:
    answer = send(service, "POST", "/validate?ignore_errors=1", {"template": table.hot_template()})
    assert_error(answer, "ValueError", "ignore_errors")


def test_undeclared_parameter_defaults_are_ignored(service: LocalService) -> None:
    body = {
        "stack_name": "good",
        "template": table.hot_template(),
        "environment": {"parameter_defaults": {"x": 1}},
    }
    answer = send(service, "POST", "/stacks", body)
    assert answer.status_int == 201, answer.text
    send(service, "DELETE", answer.location.split("/v1/p")[1])


def test_oversized_body_is_refused(service: LocalService) -> None:
    body = {"stack_name": "bad", "template": "#" * 1_048_576}
    assert_error(
        send(service, "POST", "/stacks", body), "RequestLimitExceeded", "max_json_body_size"
    )
    assert_no_stack(service)


def test_operator_environment_maps_types(service: LocalService) -> None:
    operators = Environment.parse({"resource_registry": {"Our::Type": "OS::Heat::None"}})
    services = replace(service.services, global_environment=operators)
    request = Request.blank("/v1/p/stacks/preview", method="POST")
    request.json = {
        "stack_name": "x",
        "template": table.template_with_resource({"type": "Our::Type"}),
    }
    assert request.get_response(service.app).status_int == 400
    assert request.get_response(build_app(services)).status_int == 200


class TestQuotas:
    @pytest.fixture
    def small(self, tmp_path: Any) -> Iterator[LocalService]:
        options = ApiOptions(max_stacks_per_tenant=1, max_resources_per_stack=2)
        service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
        yield service
        service.close()

    def test_number_of_stacks_is_limited(self, small: LocalService) -> None:
        body = {"stack_name": "one", "template": table.hot_template()}
        assert send(small, "POST", "/stacks", body).status_int == 201
        assert_error(
            send(small, "POST", "/stacks", {**body, "stack_name": "two"}),
            "RequestLimitExceeded",
            "1",
        )

    def test_number_of_resources_is_limited(self, small: LocalService) -> None:
        template = table.hot_template(resources={name: table.value_resource(1) for name in "abc"})
        body = {"stack_name": "one", "template": template}
        assert_error(send(small, "POST", "/stacks", body), "RequestLimitExceeded", "2")
        assert_no_stack(small)


def assert_no_stack(service: LocalService) -> None:
    assert send(service, "GET", "/stacks?show_deleted=true&name=bad").json["stacks"] == []


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 5, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_deeply_nested_bodies_are_refused(service: LocalService, text: str) -> None:
    request = Request.blank(
        "/v1/p/stacks", method="POST", body=text.encode(), content_type="application/json"
    )
    assert_error(request.get_response(service.app), "HTTPBadRequest", "body")


def test_long_resource_name_is_refused(service: LocalService) -> None:
    template = table.hot_template(resources={"r" * 256: table.value_resource(1)})
    body = {"stack_name": "bad", "template": template}
    assert_error(send(service, "POST", "/stacks", body), "StackValidationFailed", "255")
    assert_no_stack(service)
