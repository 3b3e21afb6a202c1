"""The dry run of a repair: which resources change, and which restrictions hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_preview import (
    RepairableResource,
    RepairAction,
    TypeTraits,
    preview_repairs,
)

MISSING = RepairableResource(
    stack_id="s",
    stack_name="shop",
    name="a",
    type="T",
    implementation="T",
    physical_id="p",
    status=DriftStatus.DELETED,
)
REFERRING = replace(MISSING, name="b", referenced_names=frozenset({"a"}))


def actions(observed, others=(), *, in_place=False):
    traits = TypeTraits(restored_in_place=in_place)
    found = preview_repairs(observed, others, lambda _name: traits)
    return {(each.resource.stack_id, each.resource.name): each.action for each in found}


def test_what_refers_to_a_replaced_resource_is_updated():
    other_stack = replace(REFERRING, stack_id="other")
    assert actions([MISSING], [REFERRING, other_stack]) == {
        ("s", "a"): RepairAction.RECREATE,
        ("s", "b"): RepairAction.UPDATE,
    }


def test_resource_created_anew_in_place_keeps_its_id():
    assert actions([MISSING], [REFERRING], in_place=True) == {("s", "a"): RepairAction.RECREATE}


@pytest.mark.parametrize(
    ("word", "in_place", "expected"),
    [
        ("replace", False, RepairAction.FAIL),
        ("update", False, RepairAction.RECREATE),
        ("update", True, RepairAction.FAIL),
        ("replace", True, RepairAction.RECREATE),
    ],
)
def test_restrictions_of_a_missing_resource(word, in_place, expected):
    restricted = replace(MISSING, words=(word,))
    assert actions([restricted], in_place=in_place) == {("s", "a"): expected}


def test_nothing_refers_to_what_is_not_created_anew():
    restricted = replace(MISSING, words=("replace",))
    assert actions([restricted], [REFERRING]) == {("s", "a"): RepairAction.FAIL}


def test_properties_that_no_update_restores_are_left_alone():
    properties = [{"property": name, "applied": 1, "observed": 2} for name in ("size", "name")]
    modified = replace(MISSING, status=DriftStatus.MODIFIED, properties=properties)
    traits = TypeTraits(select_restorable=lambda names: frozenset(names) & {"name"})
    (found,) = preview_repairs([modified], [], lambda _name: traits)
    assert [each["property"] for each in found.properties] == ["name"]
    only_size = replace(modified, properties=properties[:1])
    (found,) = preview_repairs([only_size], [], lambda _name: traits)
    assert (found.action, found.reason) == (RepairAction.NONE, "size: not restored by a repair")
