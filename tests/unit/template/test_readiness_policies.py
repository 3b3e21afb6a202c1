"""Readiness levels of an environment."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.readiness import (
    ReadinessLevel,
    demands_health,
    highest,
    level_from_words,
    level_word,
    levels_up_to,
    parse_readiness,
)
from heat_convergence.template.environment.resource_registry import ResourceRegistry

EXISTS, CONFIGURED, ACTIVE, HEALTHY = ReadinessLevel


def registry(resources, base=None):
    return ResourceRegistry.parse({"resources": resources}, base)


def test_levels_include_those_before_them():
    assert [each.includes(ACTIVE) for each in ReadinessLevel] == [False, False, True, True]
    assert levels_up_to(CONFIGURED) == (EXISTS, CONFIGURED)
    assert highest([ACTIVE, EXISTS]) is ACTIVE
    assert highest([]) is None


@pytest.mark.parametrize("level", ReadinessLevel)
def test_level_is_parsed_and_stored(level):
    assert parse_readiness(str(level), "here") is level
    assert parse_readiness({"level": str(level)}, "here") is level
    assert level_from_words(["pre-create", level_word(level), "readiness=later"]) is level
    assert demands_health([level_word(level)]) is (level is HEALTHY)


def test_resource_without_level_demands_nothing():
    assert parse_readiness({}, "here") is None
    assert level_from_words(["pre-create", "drift=repair"]) is None
    assert not demands_health(())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("helthy", '"helthy" is not a readiness level (WHERE); it is one of exists, configured'),
        (3, "WHERE must be a readiness level, or a map with level"),
        (["active"], "WHERE must be a readiness level, or a map with level"),
        ({"levl": "active"}, 'WHERE has an unknown key "levl"'),
        ({"level": 3}, '"3" is not a readiness level (WHERE.level)'),
    ],
)
def test_wrong_entry_is_refused_with_its_place(value, text):
    with pytest.raises(HTTPBadRequest) as caught:
        registry({"web": {"port*": {"readiness": value}}})
    where = "resource_registry.resources.web.port*.readiness"
    assert text.replace("WHERE", where) in str(caught.value)


def test_exact_entry_precedes_patterns_and_users_precede_operators():
    operator = registry({"*": {"readiness": "healthy"}})
    user = registry({"p*": {"readiness": "active"}, "port": {"readiness": "exists"}}, operator)
    assert user.readiness("server") is HEALTHY
    assert user.readiness("pool") is ACTIVE
    assert user.readiness("port") is EXISTS
    assert registry({"a": {"hooks": "pre-create"}}).readiness("a") is None


def test_level_is_among_restrictions_and_reaches_nested_stacks():
    found = registry({"group": {"readiness": "active", "member": {"readiness": "healthy"}}})
    assert found.hooks_and_restrictions("group") == {"readiness=active"}
    nested = found.for_nested_stack("group")
    assert nested.hooks_and_restrictions("member") == {"readiness=healthy"}
    assert found.without_hooks().readiness("group") is ACTIVE
