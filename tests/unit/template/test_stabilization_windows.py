"""Stabilization windows of an environment."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.policy_entries import EntryForm
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.environment.stabilization import (
    MAX_WINDOW_S,
    is_window_word,
    parse_stabilization,
    stabilization_word,
    window_from_words,
)


def registry(resources, base=None):
    return ResourceRegistry.parse({"resources": resources}, base)


@pytest.mark.parametrize("window_s", [0, 1, MAX_WINDOW_S])
def test_window_is_parsed_and_stored(window_s):
    assert parse_stabilization(window_s, "here") == window_s
    assert parse_stabilization({"window": window_s}, "here") == window_s
    word = stabilization_word(window_s)
    assert is_window_word(word)
    assert window_from_words(["pre-create", word, "stabilization=later"]) == window_s


def test_resource_without_window_is_not_waited_for():
    assert parse_stabilization({}, "here") is None
    assert window_from_words(["pre-create", "readiness=healthy"]) == 0
    assert not is_window_word("readiness=healthy")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("5m", "WHERE must be a number of seconds, or a map with window"),
        (True, "WHERE must be a number of seconds, or a map with window"),
        ([5], "WHERE must be a number of seconds, or a map with window"),
        ({"windw": 5}, 'WHERE has an unknown key "windw"'),
        (-1, '"-1" is not a number of seconds from 0 to 86400 (WHERE)'),
        ({"window": 86401}, '"86401" is not a number of seconds from 0 to 86400 (WHERE.window)'),
        ({"window": False}, '"False" is not a number of seconds'),
        ({"window": 1.5}, '"1.5" is not a number of seconds'),
    ],
)
def test_wrong_entry_is_refused_with_its_place(value, text):
    with pytest.raises(HTTPBadRequest) as caught:
        registry({"web": {"server*": {"stabilization": value}}})
    where = "resource_registry.resources.web.server*.stabilization"
    assert text.replace("WHERE", where) in str(caught.value)


def test_exact_entry_precedes_patterns_and_users_precede_operators():
    operator = registry({"*": {"stabilization": 60}})
    user = registry({"s*": {"stabilization": 300}, "server": {"stabilization": 0}}, operator)
    assert [user.stabilization_s(name) for name in ("port", "store", "server")] == [60, 300, 0]
    assert user.hooks_and_restrictions("server") == frozenset()
    assert user.hooks_and_restrictions("store") == {"stabilization=300"}


def test_window_reaches_resources_of_nested_stacks_that_are_named():
    found = registry({"group": {"stabilization": {"window": 5}, "*": {"stabilization": 7}}})
    nested = found.for_nested_stack("group")
    assert nested.stabilization_s("member") == 7
    assert found.without_hooks().stabilization_s("group") == 5


def test_form_names_its_keys_and_the_place_of_its_word():
    form = EntryForm("a colour", ("colour", "shade"))
    assert form.read("red", "here") == {"colour": "red"}
    assert form.read({"shade": "dark"}, "here") == {"shade": "dark"}
    assert form.word_path("red", "here") == "here"
    assert form.word_path({"colour": "red"}, "here") == "here.colour"
    with pytest.raises(HTTPBadRequest, match='here has an unknown key "color"; did you mean'):
        form.read({"color": "red"}, "here")
