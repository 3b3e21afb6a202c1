"""A mistake is told without the hidden value that it is about: to who asks, in the reasons
of resources and stacks, in events, and in logs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common import errors
from tests.functional.harness import LocalService
from tests.functional.secret_handling.test_secret_exposure import stored

Json = Any
SECRET = "planted-where-it-is-wrong"
G = {"get_param": "p"}
CHILD = "heat_template_version: 2018-08-31\nparameters: {n: {type: number}}\n"
TELLING = json.dumps({
    "heat_template_version": "2018-08-31",
    "parameters": {"n": {"type": "string"}},
    "resources": {"a": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "n"}}}},
    "outputs": {"o": {"value": {"yaql": {
        "expression": "int($.data.x)", "data": {"x": {"get_attr": ["a", "value"]}}}}}},
})  # fmt: skip


def one(kind: str, **properties: Json) -> dict[str, Json]:
    return {"r": {"type": kind, "properties": properties}}


def value(given: Json, **more: Json) -> dict[str, Json]:
    return one("OS::Heat::Value", value=given, **more)


def late(**reader: Json) -> dict[str, Json]:
    """What is read of another resource is looked at when that one is there."""
    return {"a": value(G)["r"], "r": reader}


READ = {"get_attr": ["a", "value"]}
GROUP = "OS::Heat::ResourceGroup"
TEST = "OS::Heat::TestResource"
RESOURCES: dict[str, dict[str, Json]] = {
    "a number": one(TEST, wait_secs=G),
    "a boolean": one(TEST, fail=G),
    "an integer": one("OS::Heat::RandomString", length=G),
    "one of some": one("OS::Heat::RandomString", sequence=G),
    "a typed value": value(G, type="number"),
    "an algorithm": value({"digest": [G, "x"]}),
    "a file": value({"get_file": G}),
    "a resource": value({"get_resource": G}),
    "an attribute": {**value(1), "s": value({"get_attr": ["r", G]})["r"]},
    "a policy": {"r": {"type": "OS::Heat::Value", "deletion_policy": G}},
    "a size": one(GROUP, count=G, resource_def={"type": "OS::Heat::None"}),
    "a type in a group": one(GROUP, count=1, resource_def={"type": G}),
    "a member": one(GROUP, count=1, resource_def=one(TEST, wait_secs=G)["r"]),
    "a parameter below": {"r": {"type": "child.yaml", "properties": {"n": G}}},
    "read": late(type=TEST, properties={"wait_secs": READ}),
    "read and joined": late(type=TEST, properties={
        "wait_secs": {"list_join": ["", ["<", READ]]}}),
    "read by yaql": late(type=TEST, properties={"value": {
        "yaql": {"expression": "int($.data.x)", "data": {"x": READ}}}}),
    "read of a stack below": {
        "n": {"type": "telling.yaml", "properties": {"n": G}},
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
    files = {"child.yaml": CHILD, "telling.yaml": TELLING}
    return {"stack_name": "s", "template": template, "files": files, "parameters": {"p": secret}}


def assert_untold(service: LocalService, caplog: pytest.LogCaptureFixture, secret: str) -> None:
    places = [place for place, text in stored(service.database) if secret in text]
    assert places == []
    assert secret not in caplog.text


@pytest.mark.parametrize("secret", [SECRET, "it's \"quoted\"\nand " + "long " * 40],
                         ids=["short", "long"])  # fmt: skip
@pytest.mark.parametrize("what", RESOURCES)
def test_mistakes(
    service: LocalService, caplog: pytest.LogCaptureFixture, what: str, secret: str
) -> None:
    given = body(RESOURCES[what], secret)
    for path in ("/stacks/preview", "/validate?show_nested=true"):
        answer = service.send("POST", path, given)
        if answer.status_int != 200:  # else it shows what it was given
            assert secret[:30] not in answer.text, answer.text
        assert answer.status_int in (200, 400), answer.text
    made = service.send("POST", "/stacks", given)
    assert secret[:30] not in made.text
    if made.status_int == 201:
        path = f"/stacks/s/{made.json['stack']['id']}"
        assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_FAILED"
        for below in ("", "/resources", "/events"):
            assert secret[:30] not in service.send("GET", path + below).text
    assert_untold(service, caplog, secret[:30])


def test_a_condition_that_is_none(service: LocalService) -> None:
    answer = service.send("POST", "/stacks", body(value(1), SECRET, conditions={"c": G}))
    assert answer.status_int == 400
    assert SECRET not in answer.text


@pytest.mark.parametrize("raised", [errors.ResourceFailure, ValueError])
def test_what_a_service_says(
    service: LocalService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
    raised: type[Exception],
) -> None:  # fmt: skip
    """It quotes what it was sent; a name that only chooses among others is told."""
    kind = service.registry.get(TEST)

    def refuse(_view: Any) -> None:
        raise raised(f"Invalid input: 'value': '{SECRET}'")

    monkeypatch.setattr(kind, "create", refuse)
    made = service.send("POST", "/stacks", body(one(TEST, value=G), SECRET))
    path = f"/stacks/s/{made.json['stack']['id']}"
    shown = service.send("GET", path).json["stack"]
    assert shown["stack_status"] == "CREATE_FAILED"
    assert "Invalid input: 'value': '******'" in shown["stack_status_reason"]
    assert_untold(service, caplog, SECRET)
