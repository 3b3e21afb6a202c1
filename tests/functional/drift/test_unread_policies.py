"""Drift policies of resources that nothing can read: accepted, and shown as unknown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.drift.drift_cases import drift, watch
from tests.functional.openstack_types.emulated_service import create_stack, port, template

Json = Any
VALUE = {"type": "OS::Heat::Value", "properties": {"value": "x"}}


def environment(policy: Json) -> Json:
    return {"resource_registry": {"resources": {"value": {"drift": policy}}}}


def create(service, policy, **resources: Json) -> str:
    path = create_stack(
        service, template(value=VALUE, **resources), environment=environment(policy)
    )
    watch(service)
    return path


def listed_status(service, path, name="value") -> str:
    found = service.send("GET", f"{path}/resources").json["resources"]
    return {each["resource_name"]: each["drift_status"] for each in found}[name]


@pytest.mark.parametrize(
    "policy", [{"policy": "repair"}, {"policy": "report"}, {"properties": {"value": "repair"}}]
)
def test_resource_is_unknown(service, policy):
    path = create(service, policy)
    shown = service.send("GET", f"{path}/resources/value").json["resource"]
    assert shown["drift_status"] == "UNKNOWN"
    assert listed_status(service, path) == "UNKNOWN"


def test_drift_lists_it_with_the_reason_and_its_policy(service):
    path = create(service, {"policy": "repair"})
    (entry,) = drift(service, path)["resources"]
    assert entry["drift_status"] == "UNKNOWN"
    assert entry["drift_policy"] == "repair"
    assert "cannot be read" in entry["drift_reason"]
    assert entry["observed_at"] is entry["drift_since"] is entry["observation_source"] is None


def test_it_is_counted_and_does_not_hide_that_the_others_are_in_sync(service):
    path = create(service, {"policy": "repair"}, port=port(name="one"))
    found = drift(service, path)
    assert found["resource_counts"]["UNKNOWN"] == 1
    assert found["resource_counts"]["IN_SYNC"] == 3
    assert found["drift_status"] == "IN_SYNC"


def test_other_statuses_leave_it_out(service):
    path = create(service, {"policy": "repair"})
    shown = service.send("GET", f"{path}/drift?status=MODIFIED").json["drift"]
    assert shown["resources"] == []


def test_it_is_never_repaired(service):
    path = create(service, {"policy": "repair"})
    assert service.send("GET", f"{path}/drift/repairs").json["repairs"] == []


@pytest.mark.parametrize(
    "policy",
    [
        {"policy": "ignore"},
        {"policy": "ignore", "properties": {"value": "repair"}},
        {"properties": {"value": "ignore"}},
    ],
)
def test_ignored_resource_is_not_checked(service, policy):
    path = create(service, policy)
    assert listed_status(service, path) == "NOT_CHECKED"
    assert drift(service, path)["resources"] == []


def test_resource_with_a_nested_stack_shows_what_is_read_of_that(service):
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 1, "resource_def": port(name="one")},
    }
    policies = {"resource_registry": {"resources": {"group": {"drift": {"policy": "report"}}}}}
    path = create_stack(service, template(group=group), environment=policies)
    assert "group" not in [each["resource_name"] for each in drift(service, path)["resources"]]
    assert listed_status(service, path, "group") == "NOT_CHECKED"
    watch(service)
    assert listed_status(service, path, "group") == "IN_SYNC"


def test_resource_of_a_nested_stack_is_listed(service):
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 1, "resource_def": VALUE},
    }
    policies = {
        "resource_registry": {"resources": {"group": {"*": {"drift": {"policy": "repair"}}}}}
    }
    path = create_stack(service, template(group=group), environment=policies)
    (entry,) = drift(service, path)["resources"]
    assert entry["resource_name"] == "0"
    assert entry["drift_status"] == "UNKNOWN"
