"""The rows of docs/reference/validation.rst on updates, adoption, order of checks, and paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional import validation_cases as table
from tests.functional.fake_server import assert_refused, create_stack, get_body
from tests.functional.harness import LocalService
from tests.functional.templates.validation_service import (
    SVF,
    UnavailableServiceType,
    create,
    running,
)

Json = Any


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    with running(tmp_path_factory.mktemp("db")) as found:
        yield found


@pytest.fixture
def stack(service: LocalService) -> Iterator[str]:
    path = create_stack(
        service, stack_name="kept", template=table.template_with_resource(table.value_resource(1))
    )
    yield path
    assert service.send("DELETE", path).status_int == 204


# -- the request of an update ----------------------------------------------------------

UPDATES: list[tuple[str, Json, str]] = [
    ("no template", {}, "HTTPBadRequest"),
    ("template no map", {"template": "[1]"}, "HTTPBadRequest"),
    ("no version key", {"template": {"resources": {}}}, "InvalidTemplateVersion"),
    ("unknown version", {"template": table.hot_template("2016-10-15")}, "InvalidTemplateVersion"),
    ("unknown section", {"template": table.hot_template(colours={})}, "InvalidTemplateSection"),
    ("section newer than the version", {"template": table.hot_template("2016-04-08", conditions={})},  # noqa: E501
     "InvalidTemplateSection"),
    ("resources a list", {"template": table.hot_template(resources=[])}, "AttributeError"),
    ("environment a list", {"template": table.hot_template(), "environment": [1]}, "HTTPBadRequest"),  # noqa: E501
    ("timeout_mins negative", {"template": table.hot_template(), "timeout_mins": -1}, "HTTPBadRequest"),  # noqa: E501
    ("converge no boolean", {"template": table.hot_template(), "converge": "x"}, "ValueError"),
    ("tags as a list", {"template": table.hot_template(), "tags": ["a"]}, "AttributeError"),
    ("files not a map", {"template": table.hot_template(), "files": "a"}, "ValueError"),
    ("environment_files missing", {"template": table.hot_template(), "environment_files": ["e"]},
     "KeyError"),
    ("unknown type", {"template": table.template_with_resource({"type": "OS::Heat::Nothing"})}, SVF),  # noqa: E501
    ("unknown parameter", {"template": table.hot_template(), "parameters": {"x": 1}},
     "UnknownUserParameter"),
]  # fmt: skip


@pytest.mark.parametrize("row", UPDATES, ids=[row[0] for row in UPDATES])
@pytest.mark.parametrize("suffix", ["", "/preview"])
def test_update_refuses(service: LocalService, stack: str, row: Json, suffix: str) -> None:
    _name, body, error_type = row
    assert_refused(service.send("PUT", stack + suffix, body), 400, error_type)
    response = get_body(service, stack)
    assert (response["stack_status"], response["updated_time"]) == ("CREATE_COMPLETE", None)


@pytest.mark.parametrize(
    ("path", "error_type"),
    [("/stacks/preview", "AttributeError"), ("/validate", "HTTPBadRequest")],
)
def test_resources_as_a_list_are_refused_in_preview_and_validate(
    service: LocalService, path: str, error_type: str
) -> None:
    body = {"stack_name": "x", "template": table.hot_template(resources=[])}
    assert_refused(service.send("POST", path, body), 400, error_type)


def test_converge_is_accepted_only_in_updates(service: LocalService, stack: str) -> None:
    body = {"template": table.hot_template(), "converge": True}
    for path in ("/stacks", "/stacks/preview"):
        assert_refused(
            service.send("POST", path, {"stack_name": "x", **body}), 400, "HTTPBadRequest"
        )
    assert service.send("PUT", stack + "/preview", body).status_int == 200
    assert service.send("PUT", stack, body).status_int == 202


# -- adopting and abandoning -----------------------------------------------------------

DOCUMENTS = ["{", "[1]", "{}", '{"template": {}}', '{"template": [1]}', '{"template": 5}']


@pytest.mark.parametrize("document", DOCUMENTS)
def test_adopt_refuses_invalid_documents(tmp_path: Any, document: str) -> None:
    with running(tmp_path, enable_stack_adopt=True) as service:
        body = {"stack_name": "s", "adopt_stack_data": document}
        assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")


def test_abandon_and_export_may_be_disabled(service: LocalService, stack: str) -> None:
    assert_refused(service.send("DELETE", stack + "/abandon"), 400, "NotSupported")
    assert_refused(service.send("GET", stack + "/export"), 400, "NotSupported")


# -- order of checks -------------------------------------------------------------------

_MANY = {f"m{n}": table.value_resource(n) for n in range(1_001)}
_P = {"p": {"type": "string"}}
MISTAKES: list[tuple[str, Callable[[Json], Json], str]] = [
    ("no stack name", lambda b: {k: v for k, v in b.items() if k != "stack_name"},
     "No stack name"),
    ("environment", lambda b: {**b, "environment": {"colours": {}}}, "colours"),
    ("name taken", lambda b: {**b, "stack_name": "kept"}, "already exists"),
    ("section", lambda b: _with(b, another={}), "another"),
    ("number of resources", lambda b: _with(b, resources=_MANY), "Maximum resources"),
    ("name wrong", lambda b: {**b, "stack_name": "1" + b["stack_name"]}, "Invalid stack name"),
    ("parameter missing", lambda b: _with(b, parameters=_P), "was not provided"),
    ("group", lambda b: _with(b, parameter_groups=[{"parameters": ["nobody"]}]), "nobody"),
    ("condition", lambda b: _with(b, conditions={"a": {"not": "undefined"}}), "undefined"),
    ("definition", lambda b: _with(b, resources={"d": {"properties": {}}}), "resources.d"),
    ("dependency", lambda b: _with(b, resources={"s": table.value_resource(1, depends_on="lost")}),
     "lost"),
    ("resource", lambda b: _with(b, resources={"v": {"type": "OS::Heat::Value"}}), "value"),
    ("output", lambda b: _with(b, outputs={"o": {"value": {"get_attr": ["none", "x"]}}}),
     "none"),
]  # fmt: skip


def _with(body: Json, **sections: Json) -> Json:
    template = dict(body["template"])
    for name, content in sections.items():
        old = template.get(name)
        template[name] = {**old, **content} if isinstance(old, dict) else content
    return {**body, "template": template}


@pytest.mark.parametrize("at", range(len(MISTAKES) - 1), ids=[row[0] for row in MISTAKES[:-1]])
def test_error_of_an_earlier_check_is_reported_first(
    service: LocalService, stack: str, at: int
) -> None:
    for later in MISTAKES[at + 1 :]:
        body = {"stack_name": "fresh", "template": table.hot_template()}
        body = MISTAKES[at][1](later[1](body))
        message = service.send("POST", "/stacks", body).json["error"]["message"]
        assert MISTAKES[at][2] in message.splitlines()[0], (later[0], message)


# -- validate --------------------------------------------------------------------------


def test_validate_accepts_missing_parameters(service: LocalService) -> None:
    template = table.template_with_resource(
        {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "p"}}},
        parameters={"p": {"type": "number"}},
    )
    assert service.send("POST", "/validate", {"template": template}).status_int == 200


def test_validate_can_ignore_error_99001_only(service: LocalService) -> None:
    template = table.template_with_resource({"type": UnavailableServiceType.name})
    assert_refused(
        service.send("POST", "/validate", {"template": template}), 400, "ResourceTypeUnavailable"
    )
    answer = service.send("POST", "/validate?ignore_errors=99001", {"template": template})
    assert answer.status_int == 200, answer.text
    assert_refused(
        service.send("POST", "/validate?ignore_errors=99002", {"template": template}),
        400,
        "ValueError",
    )


def test_validate_checks_nested_templates(service: LocalService) -> None:
    child = table.template_with_resource(
        table.value_resource(1), parameters={"x": {"type": "string"}}
    )
    body = {
        "template": table.template_with_resource({"type": "c.yaml", "properties": {"x": "1"}}),
        "files": {"c.yaml": json.dumps(child)},
    }
    plain = service.send("POST", "/validate", body)
    assert "NestedParameters" not in plain.json
    nested = service.send("POST", "/validate?show_nested=true", body).json["NestedParameters"]
    assert list(nested["r"]["Parameters"]) == ["x"]
    body["files"]["c.yaml"] = json.dumps(
        table.template_with_resource({"type": "OS::Heat::Nothing"})
    )
    assert_refused(service.send("POST", "/validate", body), 400, "HTTPBadRequest")


# -- paths of errors -------------------------------------------------------------------


def test_path_of_an_error_has_the_list_index(service: LocalService) -> None:
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "flavor": "f",
            "image": "i",
            "networks": [{"network": "n"}, {"colour": "blue"}],
        },
    }
    message = assert_refused(create(service, table.template_with_resource(server)), 400, SVF)
    assert "resources.r.properties.networks[1]" in message


def test_path_of_a_nested_error_names_the_template(service: LocalService) -> None:
    files = {"c.yaml": json.dumps(table.template_with_resource({"type": "OS::Heat::Value"}))}
    message = assert_refused(
        create(service, table.template_with_resource({"type": "c.yaml"}), files=files), 400, SVF
    )
    assert "resources.r<c.yaml>.resources.r" in message
