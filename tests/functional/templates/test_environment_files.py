"""Environment files that the service merges, and their effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
CHILD = "file:///t/child.yaml"
NESTED = hot_template(
    {"a": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "deep"}}}},
    parameters={"deep": {"type": "comma_delimited_list", "default": ["none"]}},
    outputs={"out": {"get_attr": ["a", "value"]}},
)
ROOT = hot_template(
    {"n": {"type": "My::Nested"}},
    parameters={"own": {"type": "string", "default": "d"}},
    outputs={"own": {"get_param": "own"}, "deep": {"get_attr": ["n", "out"]}},
)


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_environment_files_apply_to_nested_templates(heat: ProjectClient) -> None:
    """Parameters that only a nested template declares are merged, too."""
    files = {
        CHILD: json.dumps(NESTED),
        "no template": "heat_template_version: [",
        "base.yaml": f"resource_registry: {{'My::Nested': '{CHILD}'}}\n"
                     "parameter_defaults: {own: a, deep: [x]}",
        "more.yaml": "parameter_defaults: {own: b, deep: [y], nobodys: 1}\n"
                     "parameter_merge_strategies: {deep: merge}",
    }  # fmt: skip
    names = ["base.yaml", "more.yaml"]
    heat.create("s", ROOT, files=files, environment_files=names)
    assert heat.outputs("s") == {"own": "b", "deep": ["x", "y"]}
    shown = heat.send("GET", f"{heat.path('s')}/environment").json
    assert shown["parameter_defaults"] == {"own": "b", "deep": ["x", "y"]}
    assert "parameter_merge_strategies" not in shown


def test_environment_is_ignored_beside_environment_files(heat: ProjectClient) -> None:
    """The client merged the environment from the same files; the request's parameters count."""
    files = {CHILD: json.dumps(NESTED), "e": f"resource_registry: {{'My::Nested': '{CHILD}'}}"}
    heat.create(
        "s", ROOT, files=files, environment_files=["e"],
        environment={"parameters": {"own": "of the client's"}}, parameters={"own": "given"},
    )  # fmt: skip
    assert heat.outputs("s") == {"own": "given", "deep": ["none"]}


def test_types_are_mapped_by_resource_by_name_and_by_wildcard(heat: ProjectClient) -> None:
    template = hot_template({
        "one": {"type": "My::Thing"}, "two": {"type": "My::Thing"}, "off": {"type": "Your::Thing"},
    })  # fmt: skip
    registry = {
        "My::*": "OS::Heat::*",
        "OS::Heat::Thing": "OS::Heat::None",
        "Your::*": "OS::Heat::None",
        "resources": {"two": {"My::Thing": "OS::Heat::RandomString"}},
    }
    heat.create("s", template, environment={"resource_registry": registry})
    attributes = {name: heat.resource("s", name)["attributes"] for name in ("one", "two", "off")}
    assert [len(attributes["two"]["value"]), attributes["one"]] == [32, attributes["off"]]
    answer = heat.send("PATCH", heat.path("s"), {
        "environment": {"resource_registry": {"My::*": None}}})  # fmt: skip
    assert "My::Thing" in answer.json["error"]["message"]  # only "two" has a type now
