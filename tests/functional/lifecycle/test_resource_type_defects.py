"""Bugs of types: what one fails to tell of a resource is null, and keeps nothing else from
being told; what it cannot validate is a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common import errors
from tests.functional.harness import LocalService

THING = "OS::Heat::TestResource"
RESOURCES = {name: {"type": THING, "properties": {"value": name}} for name in "abc"}


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


def test_a_bug_in_a_type_s_own_validation_is_told_as_a_mistake(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_properties: Any, _timeout_s: float | None) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(service.registry.get(THING), "validate", failing)
    template = {"heat_template_version": "2018-08-31", "resources": RESOURCES}
    for path in ("/stacks", "/stacks/preview", "/validate"):
        answer = service.send("POST", path, {"stack_name": "s", "template": template})
        assert (answer.status_int, answer.json["error"]["type"]) == (400, "StackValidationFailed")
        assert "KeyError: 'planted'" in answer.json["error"]["message"]


@pytest.mark.parametrize("raised", [errors.NotFound("gone"), KeyError("x")], ids=["known", "bug"])
def test_a_failure_is_null(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    template = {"heat_template_version": "2018-08-31", "resources": RESOURCES}
    made = service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    path = f"/stacks/s/{made.json['stack']['id']}/resources"
    kind = service.registry.get(THING)
    attribute = kind.attribute

    def failing(view: Any, name: str) -> Any:
        if view.name == "b":
            raise raised
        return attribute(view, name)

    monkeypatch.setattr(kind, "attribute", failing)
    shown = service.send("GET", f"{path}/b?with_attr=output")
    assert shown.status_int == 200
    assert shown.json["resource"]["attributes"] == {"output": None}
    listed = service.send("GET", f"{path}?with_detail=true").json["resources"]
    told = {each["resource_name"]: each["attributes"]["output"] for each in listed}
    assert told == {"a": "a", "b": None, "c": "c"}
