"""Every row of heat-facts ``validation.md`` is a test: what a create refuses.

The rows that take more than a create are in ``test_validation_rows``.
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


def refused(answer: Any, kind: str, piece: str) -> None:
    assert answer.status_int == 400, answer.text
    told = answer.json["error"]
    assert (told["type"], piece in told["message"]) == (kind, True), told


def ids(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    "row", table.REQUEST + table.PARAMETERS, ids=ids(table.REQUEST + table.PARAMETERS)
)
def test_create_refuses_body(service: LocalService, row: table.ValidationCase) -> None:
    _name, body, kind, piece = row
    refused(send(service, "POST", "/stacks", {"stack_name": "bad", **body}), kind, piece)
    nothing_left(service)


@pytest.mark.parametrize(
    "row", table.TEMPLATE + table.PROPERTIES, ids=ids(table.TEMPLATE + table.PROPERTIES)
)
def test_create_refuses_template(service: LocalService, row: table.ValidationCase) -> None:
    _name, template, kind, piece = row
    body = {"stack_name": "bad", "template": template}
    refused(send(service, "POST", "/stacks", body), kind, piece)
    nothing_left(service)


@pytest.mark.parametrize(
    "row", table.TEMPLATE + table.PROPERTIES, ids=ids(table.TEMPLATE + table.PROPERTIES)
)
def test_preview_refuses_template(service: LocalService, row: table.ValidationCase) -> None:
    name, template, kind, piece = row
    if name == "resources a list":
        kind = "AttributeError"
    body = {"stack_name": "bad", "template": template}
    refused(send(service, "POST", "/stacks/preview", body), kind, piece)


@pytest.mark.parametrize("row", table.NAMES, ids=ids(table.NAMES))
def test_names(service: LocalService, row: table.ValidationCase) -> None:
    _name, name, kind, piece = row
    body = {"stack_name": name, "template": table.hot_template()}
    refused(send(service, "POST", "/stacks", body), kind, piece)
    nothing_left(service)


@pytest.mark.parametrize("row", table.ACCEPTED, ids=ids(table.ACCEPTED))
def test_accepted(service: LocalService, row: tuple[str, Json]) -> None:
    answer = send(service, "POST", "/stacks", {"stack_name": "good", "template": row[1]})
    assert answer.status_int == 201, answer.text
    shown = send(service, "GET", answer.location.split("/v1/p")[1]).json["stack"]
    assert shown["stack_status"] == "CREATE_COMPLETE", shown
    assert send(service, "DELETE", answer.location.split("/v1/p")[1]).status_int == 204


def test_unknown_parameter_of_an_output_is_told_in_it(service: LocalService) -> None:
    template = table.hot_template(outputs={"o": {"value": {"get_param": "x"}}})
    answer = send(service, "POST", "/stacks", {"stack_name": "good", "template": template})
    path = answer.location.split("/v1/p")[1]
    (output,) = send(service, "GET", path).json["stack"]["outputs"]
    assert output["output_value"] is None
    assert "x" in output["output_error"]
    send(service, "DELETE", path)


def test_update_knows_sections_by_another_type(service: LocalService) -> None:
    created = send(
        service, "POST", "/stacks", {"stack_name": "good", "template": table.hot_template()}
    )
    path = created.location.split("/v1/p")[1]
    answer = send(service, "PUT", path, {"template": table.hot_template(colours={})})
    refused(answer, "InvalidTemplateSection", "colours")
    assert send(service, "GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    send(service, "DELETE", path)


def test_validate_knows_sections_by_another_type(service: LocalService) -> None:
    answer = send(service, "POST", "/validate", {"template": table.hot_template(colours={})})
    refused(answer, "HTTPBadRequest", "colours")


def test_immutable_parameter(service: LocalService) -> None:
    template = table.template_with_parameter({"type": "string", "immutable": True})
    body = {"stack_name": "good", "template": template, "parameters": {"p": "one"}}
    path = send(service, "POST", "/stacks", body).location.split("/v1/p")[1]
    answer = send(service, "PATCH", path, {"parameters": {"p": "two"}})
    refused(answer, "ImmutableParameterModified", "p")
    assert send(service, "PATCH", path, {"parameters": {"p": "one"}}).status_int == 202
    send(service, "DELETE", path)


def test_unknown_ignored_error(service: LocalService) -> None:
    answer = send(service, "POST", "/validate?ignore_errors=1", {"template": table.hot_template()})
    refused(answer, "ValueError", "ignore_errors")


def test_parameter_defaults_ignore_what_is_not_declared(service: LocalService) -> None:
    body = {
        "stack_name": "good",
        "template": table.hot_template(),
        "environment": {"parameter_defaults": {"x": 1}},
    }
    answer = send(service, "POST", "/stacks", body)
    assert answer.status_int == 201, answer.text
    send(service, "DELETE", answer.location.split("/v1/p")[1])


def test_a_body_over_the_limit(service: LocalService) -> None:
    body = {"stack_name": "bad", "template": "#" * 1_048_576}
    refused(send(service, "POST", "/stacks", body), "RequestLimitExceeded", "max_json_body_size")
    nothing_left(service)


def test_the_operators_environment_lies_beneath(service: LocalService) -> None:
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

    def test_stacks(self, small: LocalService) -> None:
        body = {"stack_name": "one", "template": table.hot_template()}
        assert send(small, "POST", "/stacks", body).status_int == 201
        refused(
            send(small, "POST", "/stacks", {**body, "stack_name": "two"}),
            "RequestLimitExceeded",
            "1",
        )

    def test_resources(self, small: LocalService) -> None:
        template = table.hot_template(resources={name: table.value_resource(1) for name in "abc"})
        body = {"stack_name": "one", "template": template}
        refused(send(small, "POST", "/stacks", body), "RequestLimitExceeded", "2")
        nothing_left(small)


def nothing_left(service: LocalService) -> None:
    assert send(service, "GET", "/stacks?show_deleted=true&name=bad").json["stacks"] == []


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 5, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_deep_bodies(service: LocalService, text: str) -> None:
    request = Request.blank(
        "/v1/p/stacks", method="POST", body=text.encode(), content_type="application/json"
    )
    refused(request.get_response(service.app), "HTTPBadRequest", "body")


def test_a_long_resource_name(service: LocalService) -> None:
    template = table.hot_template(resources={"r" * 256: table.value_resource(1)})
    body = {"stack_name": "bad", "template": template}
    refused(send(service, "POST", "/stacks", body), "StackValidationFailed", "255")
    nothing_left(service)
