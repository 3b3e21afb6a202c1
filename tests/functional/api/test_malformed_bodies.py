"""Malformed request bodies: the response is valid JSON and never a 5xx.

Every field of every body in turn is set to values that are rarely of its type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from webob import Request, Response

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService

Json = Any
VALUE = {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "p"}}}
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"p": {"type": "string", "default": "x"}},
    "resources": {"r": VALUE},
    "outputs": {"o": {"value": {"get_param": "p"}}},
}
ODD: list[Json] = [
    None, True, -1, 1.5, 2**63, 10**400, "", "x", "\U0001f600" * 300, [], {}, [None], {"": None},
    {"a": {"b": None}},
]  # fmt: skip
FIELDS = {
    "stack": ("stack_name template template_url environment environment_files parameters files"
              " files_container timeout_mins disable_rollback tags converge clear_parameters"
              " adopt_stack_data"),
    "template": "parameters resources outputs conditions parameter_groups description"
                " heat_template_version",
    "resource": "type properties depends_on metadata deletion_policy update_policy condition"
                " external_id description",
    "parameter": "type default label description hidden constraints immutable tags",
    "environment": "parameters parameter_defaults resource_registry event_sinks"
                   " encrypted_param_names parameter_merge_strategies",
}  # fmt: skip
CASES = [(section, name) for section, names in FIELDS.items() for name in names.split()]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    options = ApiOptions(enable_stack_adopt=True, enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite", options)
    yield service
    service.close()


@pytest.fixture(scope="module")
def stack(service: LocalService) -> str:
    created = service.send("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE})
    return f"/stacks/s/{created.json['stack']['id']}"


def body(section: str, name: str, value: Json) -> dict[str, Json]:
    base: dict[str, Json] = {"stack_name": "odd", "template": TEMPLATE}
    match section:
        case "stack":
            return base | {name: value}
        case "template":
            return base | {"template": TEMPLATE | {name: value}}
        case "resource":
            return base | {"template": TEMPLATE | {"resources": {"r": VALUE | {name: value}}}}
        case "parameter":
            values = {"p": {"type": "string", name: value}}
            return base | {"template": TEMPLATE | {"parameters": values}}
        case _:
            return base | {"environment": {name: value}}


def assert_no_server_error(response: Response) -> None:
    assert response.status_int < 500, response.text
    if response.content_type == "application/json":
        json.loads(response.body, parse_constant=pytest.fail)


@pytest.mark.parametrize(("section", "name"), CASES)
def test_odd_values_in_stack_bodies_cause_no_server_error(
    service: LocalService, stack: str, section: str, name: str
) -> None:
    for value in ODD:
        values = body(section, name, value)
        assert_no_server_error(service.send("POST", "/stacks/preview?detail=plan", values))
        assert_no_server_error(service.send("POST", "/validate?show_nested=true", values))
        assert_no_server_error(service.send("PATCH", f"{stack}/preview", values))


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/software_configs", "name group config inputs outputs options"),
        ("{stack}/actions", "suspend x"),
        ("{stack}/snapshots", "name"),
        ("{stack}/resources/r/signal", "unset_hook step data"),
        ("{stack}/resources/r", "mark_unhealthy resource_status_reason"),
    ],
)
def test_odd_values_in_other_bodies_cause_no_server_error(
    service: LocalService, stack: str, path: str, names: str
) -> None:
    target = path.format(stack=stack)
    method = "PATCH" if path.endswith("/r") else "POST"
    for value in ODD:
        assert_no_server_error(service.send(method, target, value))
        for name in names.split():
            assert_no_server_error(service.send(method, target, {name: value}))
    service.send("POST", f"{stack}/actions", {"resume": None})


@pytest.mark.parametrize(
    "bad",
    [
        '{"tags": "a\\u0000b", %s}'.encode("utf-16-le"),
        '{"tags": "a\\ud800b", %s}'.encode("utf-16-le"),
        b'{"tags": "a\xed\xa0\x80b", %s}',
        b'{"tags": "a\xffb", %s}',
        b'{"tags": "a\x00b", %s}',
        b'{"tags": "a", "a": ' + b"[" * 50_000,
        b'{"timeout_mins": ' + b"9" * 10_000 + b", %s}",
    ],
    ids=[
        "UTF-16",
        "half a surrogate pair in UTF-16",
        "half a surrogate pair",
        "no UTF-8",
        "NUL",
        "deep",
        "long",
    ],
)
def test_body_that_is_not_valid_json_text_is_a_bad_request(
    service: LocalService, bad: bytes
) -> None:
    rest = f'"stack_name": "bytes", "template": {json.dumps(TEMPLATE)}'
    encoding = "utf-16-le" if b"\0" in bad[:2] else "utf-8"
    request = Request.blank("/v1/p/stacks", method="POST")
    request.body = bad.replace("%s".encode(encoding), rest.encode(encoding))
    response = request.get_response(service.app)
    assert (response.status_int, response.json["error"]["type"]) == (400, "HTTPBadRequest")
