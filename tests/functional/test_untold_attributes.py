"""What a type fails to tell of a resource is null, and keeps nothing else from being told."""

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
