"""Drift policies of an environment."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.drift_policies import (
    DriftPolicy,
    from_words,
    parse_drift,
    to_words,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.resource_registry import ResourceRegistry

IGNORE, REPORT, REPAIR, OBSERVE_ONLY = DriftPolicy


def registry(resources, base=None):
    return ResourceRegistry.parse({"resources": resources}, base)


@pytest.mark.parametrize(
    ("value", "policies"),
    [
        ("repair", {"": REPAIR}),
        ({"policy": "observe-only"}, {"": OBSERVE_ONLY}),
        ({"properties": {"metadata": "ignore"}}, {"metadata": IGNORE}),
        ({"policy": "repair", "properties": {"a": "report"}}, {"": REPAIR, "a": REPORT}),
        ({"policy": None, "properties": None}, {}),
    ],
)
def test_policies_are_parsed_and_stored(value, policies):
    assert parse_drift(value, "here") == policies
    assert from_words([*to_words(policies), "pre-create", "drift=", "drift.x=later"]) == policies


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("repare", r'"repare" is not a drift policy \(resource_registry\.resources\.a\*\.drift\)'),
        ("repare", "one of ignore, report, repair, observe-only"),
        ({"policy": 7}, r"resources\.a\*\.drift\.policy"),
        ({"properties": {"metadata": "no"}}, r"resources\.a\*\.drift\.properties\.metadata"),
        ({"properties": ["metadata"]}, r"drift\.properties is not a map"),
        ({"properties": {"": "ignore"}}, "names no property"),
        ({"polcy": "repair"}, 'unknown key "polcy"'),
        (["repair"], "must be a drift policy, or a map"),
        (True, "must be a drift policy, or a map"),
    ],
)
def test_mistake_is_refused_with_its_place(value, text):
    with pytest.raises(HTTPBadRequest, match=text):
        registry({"a*": {"drift": value}})


def test_mistake_about_a_nested_resource_is_refused_with_its_place():
    with pytest.raises(HTTPBadRequest, match=r"resources\.group\.\*\.server\.drift"):
        registry({"group": {"*": {"server": {"drift": "never"}}}})


def test_exact_name_counts_before_patterns_and_the_later_pattern_before_the_earlier():
    found = registry(
        {"web": {"drift": "repair"}, "w*": {"drift": "ignore"}, "*b": {"drift": "report"}}
    )
    assert found.drift_policies("web") == {"": REPAIR}
    assert found.drift_policies("wb") == {"": REPORT}
    assert found.drift_policies("other") == {}


def test_policies_of_properties_are_merged():
    found = registry(
        {
            "*": {"drift": {"policy": "repair", "properties": {"tags": "ignore"}}},
            "web": {"drift": {"properties": {"name": "report"}}},
        }
    )
    assert found.drift_policies("web") == {"": REPAIR, "tags": IGNORE, "name": REPORT}


def test_user_counts_before_the_operator():
    operator = registry({"*": {"drift": {"policy": "repair", "properties": {"tags": "ignore"}}}})
    found = registry({"web": {"drift": "report"}}, operator)
    assert found.drift_policies("web") == {"": REPORT, "tags": IGNORE}
    assert found.drift_policies("db") == {"": REPAIR, "tags": IGNORE}


def test_patterns_reach_resources_of_nested_stacks():
    found = registry(
        {"group": {"drift": "report", "*": {"server": {"drift": {"policy": "repair"}}}}}
    )
    inner = found.for_nested_stack("group").for_nested_stack("0")
    assert inner.drift_policies("server") == {"": REPAIR}
    assert found.for_nested_stack("group").drift_policies("drift") == {}


def test_policies_outlast_hooks_and_storage():
    resources = {"a": {"hooks": "pre-create", "drift": {"properties": {"hooks": "ignore"}}}}
    found = Environment.parse({"resource_registry": {"resources": resources}})
    stored = Environment.from_stored(found.to_stored())
    assert stored.registry.without_hooks().hooks_and_restrictions("a") == {"drift.hooks=ignore"}
