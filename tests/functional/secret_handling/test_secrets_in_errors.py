"""Errors do not contain the hidden value that they are about.

Checked are responses, reasons of resources and stacks, events, and logs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.failures import ResourceFailure
from tests.functional.harness import LocalService
from tests.functional.secret_handling.test_secret_exposure import stored

Json = Any
SECRET = "planted-where-it-is-wrong"
G = {"get_param": "p"}
CHILD = "heat_template_version: 2018-08-31\nparameters: {n: {type: number}}\n"
EXPRESSION_CHILD = json.dumps({
    "heat_template_version": "2018-08-31",
    "parameters": {"n": {"type": "string"}},
    "resources": {"a": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "n"}}}},
    "outputs": {"o": {"value": {"yaql": {
        "expression": "int($.data.x)", "data": {"x": {"get_attr": ["a", "value"]}}}}}},
})  # fmt: skip


def resource(resource_type: str, **properties: Json) -> dict[str, Json]:
    return {"r": {"type": resource_type, "properties": properties}}


def value(data: Json, **more: Json) -> dict[str, Json]:
    return resource("OS::Heat::Value", value=data, **more)


def reader_of_attribute(**reader: Json) -> dict[str, Json]:
    """Return a reader that is evaluated once the resource that it reads exists."""
    return {"a": value(G)["r"], "r": reader}


READ = {"get_attr": ["a", "value"]}
GROUP = "OS::Heat::ResourceGroup"
TEST = "OS::Heat::TestResource"
RESOURCES: dict[str, dict[str, Json]] = {
    "a number": resource(TEST, wait_secs=G),
    "a boolean": resource(TEST, fail=G),
    "an integer": resource("OS::Heat::RandomString", length=G),
    "one of several": resource("OS::Heat::RandomString", sequence=G),
    "a typed value": value(G, type="number"),
    "an algorithm": value({"digest": [G, "x"]}),
    "a file": value({"get_file": G}),
    "a resource": value({"get_resource": G}),
    "an attribute": {**value(1), "s": value({"get_attr": ["r", G]})["r"]},
    "a policy": {"r": {"type": "OS::Heat::Value", "deletion_policy": G}},
    "a size": resource(GROUP, count=G, resource_def={"type": "OS::Heat::None"}),
    "a type in a group": resource(GROUP, count=1, resource_def={"type": G}),
    "a member": resource(GROUP, count=1, resource_def=resource(TEST, wait_secs=G)["r"]),
    "a nested parameter": {"r": {"type": "child.yaml", "properties": {"n": G}}},
    "read": reader_of_attribute(type=TEST, properties={"wait_secs": READ}),
    "read and joined": reader_of_attribute(type=TEST, properties={
        "wait_secs": {"list_join": ["", ["<", READ]]}}),
    "read by yaql": reader_of_attribute(type=TEST, properties={"value": {
        "yaql": {"expression": "int($.data.x)", "data": {"x": READ}}}}),
    "read of a nested stack": {
        "n": {"type": "expression.yaml", "properties": {"n": G}},
        "r": value({"get_attr": ["n", "o"]})["r"],
    },
}  # fmt: skip


@pytest.fixture
def service(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> Iterator[LocalService]:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy").setLevel(logging.WARNING)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


def body(resources: dict[str, Json], secret: str, **more: Json) -> dict[str, Json]:
    template = {
        "heat_template_version": "2018-08-31",
        "parameters": {"p": {"type": "string", "hidden": True}},
        "resources": resources,
        **more,
    }
    files = {"child.yaml": CHILD, "expression.yaml": EXPRESSION_CHILD}
    return {"stack_name": "s", "template": template, "files": files, "parameters": {"p": secret}}


def assert_no_secret(service: LocalService, caplog: pytest.LogCaptureFixture, secret: str) -> None:
    places = [place for place, text in stored(service.database) if secret in text]
    assert places == []
    assert secret not in caplog.text


@pytest.mark.parametrize("secret", [SECRET, "it's \"quoted\"\nand " + "long " * 40],
                         ids=["short", "long"])  # fmt: skip
@pytest.mark.parametrize("mistake", RESOURCES)
def test_error_of_a_mistake_contains_no_secret(
    service: LocalService, caplog: pytest.LogCaptureFixture, mistake: str, secret: str
) -> None:
    request = body(RESOURCES[mistake], secret)
    for path in ("/stacks/preview", "/validate?show_nested=true"):
        response = service.send("POST", path, request)
        if response.status_int != 200:  # a success shows the request
            assert secret[:30] not in response.text, response.text
        assert response.status_int in (200, 400), response.text
    created = service.send("POST", "/stacks", request)
    assert secret[:30] not in created.text
    if created.status_int == 201:
        path = f"/stacks/s/{created.json['stack']['id']}"
        assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_FAILED"
        for subpath in ("", "/resources", "/events"):
            assert secret[:30] not in service.send("GET", path + subpath).text
    assert_no_secret(service, caplog, secret[:30])


def test_error_of_an_invalid_condition_contains_no_secret(service: LocalService) -> None:
    response = service.send("POST", "/stacks", body(value(1), SECRET, conditions={"c": G}))
    assert response.status_int == 400
    assert SECRET not in response.text


@pytest.mark.parametrize("raised", [ResourceFailure, ValueError])
def test_error_of_a_service_is_redacted(
    service: LocalService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
    raised: type[Exception],
) -> None:  # fmt: skip
    """Redact the value that the service quotes; names of properties are shown."""
    resource_type = service.registry.get(TEST)

    def refuse(_view: Any) -> None:
        raise raised(f"Invalid input: 'value': '{SECRET}'")

    monkeypatch.setattr(resource_type, "create", refuse)
    created = service.send("POST", "/stacks", body(resource(TEST, value=G), SECRET))
    path = f"/stacks/s/{created.json['stack']['id']}"
    shown = service.send("GET", path).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert "Invalid input: 'value': '******'" in shown["stack_status_reason"]
    assert_no_secret(service, caplog, SECRET)


def test_hidden_word_does_not_hide_the_words_of_a_reason(service: LocalService) -> None:
    """The name of a nested stack and its output stay readable; the quoted value is masked."""
    resources = {
        "ControllerServiceChain": {"type": "expression.yaml", "properties": {"n": G}},
        "r": value({"get_attr": ["ControllerServiceChain", "o"]})["r"],
    }
    created = service.send("POST", "/stacks", body(resources, "Controller"))
    path = f"/stacks/s/{created.json['stack']['id']}"
    reason = service.send("GET", path).json["stack"]["stack_status_reason"]
    assert "Error in ControllerServiceChain output o: " in reason
    assert "'Controller'" not in reason
    assert "'******'" in reason
