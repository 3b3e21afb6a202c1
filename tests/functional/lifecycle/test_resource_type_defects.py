"""Exceptions raised by resource types while they read attributes or validate properties.

An attribute that cannot be read is null and does not affect others; an exception in
validation is a validation error.
"""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common import errors
from tests.functional.harness import LocalService

BROKEN_RESOURCE = "OS::Heat::TestResource"
RESOURCES = {name: {"type": BROKEN_RESOURCE, "properties": {"value": name}} for name in "abc"}


def test_exception_in_validate_is_a_validation_error(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_properties: Any, _timeout_s: float | None) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(service.registry.get(BROKEN_RESOURCE), "validate", failing)
    template = {"heat_template_version": "2018-08-31", "resources": RESOURCES}
    for path in ("/stacks", "/stacks/preview"):
        answer = service.send("POST", path, {"stack_name": "s", "template": template})
        assert (answer.status_int, answer.json["error"]["type"]) == (400, "StackValidationFailed")
        assert "KeyError: 'planted'" in answer.json["error"]["message"]


@pytest.mark.parametrize("raised", [errors.NotFound("gone"), KeyError("x")], ids=["known", "bug"])
def test_exception_in_attribute_reads_as_null(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    template = {"heat_template_version": "2018-08-31", "resources": RESOURCES}
    made = service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    path = f"/stacks/s/{made.json['stack']['id']}/resources"
    resource_type = service.registry.get(BROKEN_RESOURCE)
    attribute = resource_type.attribute

    def failing(view: Any, name: str) -> Any:
        if view.name == "b":
            raise raised
        return attribute(view, name)

    monkeypatch.setattr(resource_type, "attribute", failing)
    shown = service.send("GET", f"{path}/b?with_attr=output")
    assert shown.status_int == 200
    assert shown.json["resource"]["attributes"] == {"output": None}
    listed = service.send("GET", f"{path}?with_detail=true").json["resources"]
    reason = {each["resource_name"]: each["attributes"]["output"] for each in listed}
    assert reason == {"a": "a", "b": None, "c": "c"}
