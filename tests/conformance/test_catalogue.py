"""Every catalogue type through its life: the emulation, and a real cloud, alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.openstack.links import Link
from tests.conformance.case import Case, On, over
from tests.conformance.cases import CASES
from tests.conformance.conftest import Bed
from tests.conformance.driving import Answer, Driver, Living

IT, SUCCESSOR = "it", "successor"


def _live(bed: Bed, case: Case) -> None:
    driver = bed.driver(case.admin)
    try:
        _life(driver, bed, case)
    finally:
        for name in reversed(list(driver.alive)):
            driver.delete(name)


def _life(driver: Driver, bed: Bed, case: Case) -> None:
    for name, kind, properties in case.before:
        driver.create(name, kind, bed.filled(dict(properties)))
    answer = Answer.LOST if case.findable else Answer.TAKEN
    living = driver.create(IT, case.type, bed.filled(dict(case.properties)), answer)
    looks = living.type.observe_many([living.view])
    assert looks[living.view.resource_id].observed is Observed.READY
    if living.type.checks:
        driver.verb(IT, Action.CHECK)
    for properties in case.goals():
        before = living.view.properties
        driver.update(IT, bed.filled(dict(properties)))
        _has(living, before)
    for attribute, expected in case.attributes.items():
        assert driver.attribute(IT, attribute) == driver._filled(expected), attribute
    if case.successor is not None:
        _replace(driver, bed, case)
    living = driver.alive[IT]
    driver.delete(IT)
    if case.findable and not case.lasting:
        assert _found_after(driver, living) is None
    if not case.lasting:
        assert living.type.observe(living.view).observed is Observed.ABSENT


def _has(living: Living, before: Mapping[str, Any]) -> None:
    """The service tells of every plain property the value that it was just given."""
    kind, after = living.type, living.view.properties
    shown = living.view.attributes.get("show") or {}
    for name, value in after.items():
        arg = kind.row.arguments.get(name)
        key = name if arg is None else arg.to
        plain = isinstance(value, bool | int | str) and (arg is None or arg.find is None)
        if plain and value != "" and before.get(name) != value and key in shown:
            assert str(shown[key]) == str(value), name


def _replace(driver: Driver, bed: Bed, case: Case) -> None:
    """The successor is made while the old one is there, and outlives it."""
    properties = bed.filled(over(case.last, case.successor or {}))
    answer = Answer.LOST if case.findable else Answer.TAKEN
    successor = driver.create(SUCCESSOR, case.type, properties, answer)
    old = driver.alive[IT]
    if not isinstance(old.type, Link):
        assert successor.view.physical_id != old.view.physical_id
    driver.delete(IT)
    assert successor.type.observe(successor.view).observed is Observed.READY
    driver.alive[IT] = driver.alive.pop(SUCCESSOR)


def _found_after(driver: Driver, living: Living) -> str | None:
    driver.alive["gone"] = living
    try:
        return driver.find("gone")
    finally:
        del driver.alive["gone"]


def _cases(other: On) -> Iterator[Any]:
    for case in CASES:
        if case.on is not other:
            yield pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", _cases(On.REAL))
def test_life_on_the_emulation(case, emulated_bed):
    _live(emulated_bed, case)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", _cases(On.EMULATION))
def test_life_on_a_real_cloud(case, real_bed):
    _live(real_bed, case)
