"""Traces for Perfetto keep the rules of its importer, whatever has happened to the stack."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.openstack_types.emulated_service import create_stack
from tests.functional.timelines.trace_rules import find_mistakes

Json = Any
NESTED: Json = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "first": {"type": "OS::Heat::RandomString"},
        "net": {"type": "OS::Neutron::Net", "depends_on": "first"},
    },
}
PARENT: Json = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "one": {"type": "nested.yaml"},
        "two": {"type": "nested.yaml", "depends_on": "one"},
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": 3, "resource_def": {"type": "OS::Heat::RandomString"}},
        },
    },
}


@pytest.fixture
def path(service: Any) -> str:
    return create_stack(service, PARENT, files={"nested.yaml": json.dumps(NESTED)})


def trace(service: Any, path: str, depth: int = 3) -> Json:
    found = service.send("GET", f"{path}/timeline?format=chrome&nested_depth={depth}")
    assert found.status_int == 200, found.text
    return found.json


def test_trace_of_a_tree_keeps_the_rules(service: Any, path: str) -> None:
    found = trace(service, path)
    assert find_mistakes(found) == []
    assert len({each["pid"] for each in found["traceEvents"]}) == 4


def test_traces_of_actions_keep_the_rules(service: Any, path: str) -> None:
    for action in ("suspend", "resume", "check"):
        service.send("POST", f"{path}/actions", {action: None})
        assert find_mistakes(trace(service, path)) == []
    service.send("DELETE", path)
    assert find_mistakes(trace(service, path)) == []


def test_trace_with_retries_keeps_the_rules(service: Any, emulated_cloud: Any) -> None:
    emulated_cloud.emulation.inject_failure("POST", "/networks", 503, times=3)
    body = {"net": {"type": "OS::Neutron::Net"}}
    path = create_stack(service, {**NESTED, "resources": body})
    found = trace(service, path)
    assert find_mistakes(found) == []
    names = [each["name"] for each in found["traceEvents"]]
    assert names.count("retry_pause") == 3


def test_trace_of_an_empty_stack_keeps_the_rules(service: Any) -> None:
    path = create_stack(service, {**NESTED, "resources": {}})
    assert find_mistakes(trace(service, path)) == []


@pytest.mark.parametrize(
    ("key", "value", "mistake"),
    [
        ("ts", None, "ts is no time"),
        ("dur", 0.5, "dur is no time"),
        ("dur", -1, "dur is no time"),
        ("ts", 2**61, "ts is no time"),
        ("tid", 2**33, "tid is no number"),
        ("tid", 1, "tid 1 is a pid"),
        ("name", "", "name is no text"),
        ("ph", "Z", "a phase that this service does not write"),
    ],
)
def test_mistakes_are_found(service: Any, path: str, key: str, value: Json, mistake: str) -> None:
    broken = trace(service, path)
    first_of_several(broken)[key] = value
    assert any(mistake in each for each in find_mistakes(broken))


def first_of_several(found: Json) -> Json:
    """Return the first event of a thread that has another one after it."""
    events = [each for each in found["traceEvents"] if each["ph"] == "X"]
    threads = [each["tid"] for each in events]
    return next(each for each in events if threads.count(each["tid"]) > 1)


def test_an_overlap_is_found(service: Any, path: str) -> None:
    broken = trace(service, path)
    first_of_several(broken)["dur"] += 1
    assert any("events overlap" in each for each in find_mistakes(broken))


def test_a_thread_without_a_name_is_found(service: Any, path: str) -> None:
    broken = trace(service, path)
    broken["traceEvents"] = [each for each in broken["traceEvents"] if each["ph"] == "X"]
    assert any("has the names []" in each for each in find_mistakes(broken))
