"""Every catalogue type through its life: the emulation, and a real cloud, alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_convergence.convergence.model import Observed
from tests.conformance.case import Case
from tests.conformance.conftest import Bed
from tests.conformance.driving import Driver
from tests.conformance.emulated_cases import CASES as EMULATED
from tests.conformance.neutron_cases import CASES as NEUTRON
from tests.conformance.other_cases import CASES as OTHERS

CASES = [*NEUTRON, *OTHERS]
IT = "it"


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
    living = driver.create(IT, case.type, bed.filled(dict(case.properties)))
    physical_id = living.view.physical_id
    if case.findable:
        assert driver.find(IT) == physical_id
    looks = living.type.observe_many([living.view])
    assert looks[living.view.resource_id].observed is Observed.READY
    for properties in case.updates:
        driver.update(IT, bed.filled(dict(properties)))
    for attribute, expected in case.attributes.items():
        assert driver.attribute(IT, attribute) == driver._filled(expected), attribute
    driver.delete(IT)
    if case.findable and not case.lasting:
        assert _found_after(driver, living) is None


def _found_after(driver: Driver, living) -> str | None:
    driver.alive["gone"] = living
    try:
        return driver.find("gone")
    finally:
        del driver.alive["gone"]


def _cases(real: bool) -> Iterator[pytest.param]:
    for case in CASES if real else [*CASES, *EMULATED]:
        if real or not case.real_only:
            yield pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", _cases(real=False))
def test_life_on_the_emulation(case, emulated_bed):
    _live(emulated_bed, case)


@pytest.mark.parametrize("case", _cases(real=True))
def test_life_on_a_real_cloud(case, real_bed):
    _live(real_bed, case)
