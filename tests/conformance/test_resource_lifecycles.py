"""Every catalogue type through its life: the emulation, and a real cloud, alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.openstack.associations import Association
from tests.conformance.case import ConformanceCase, SupportedCloud, merge_properties
from tests.conformance.cases import CASES
from tests.conformance.conftest import ConformanceTestbed
from tests.conformance.type_driver import DrivenResource, ResourceTypeDriver, ResponseDelivery

SUBJECT, REPLACEMENT = "it", "successor"


def _live(cloud_testbed: ConformanceTestbed, case: ConformanceCase) -> None:
    driver = cloud_testbed.driver(case.needs_admin)
    try:
        _life(driver, cloud_testbed, case)
    finally:
        for name in reversed(list(driver.resources)):
            driver.delete(name)


def _life(
    driver: ResourceTypeDriver, cloud_testbed: ConformanceTestbed, case: ConformanceCase
) -> None:
    for name, kind, properties in case.prerequisites:
        driver.create(name, kind, cloud_testbed.substitute(dict(properties)))
    answer = ResponseDelivery.LOST if case.can_be_found else ResponseDelivery.RECEIVED
    living = driver.create(
        SUBJECT, case.type, cloud_testbed.substitute(dict(case.properties)), answer
    )
    looks = living.type.observe_many([living.view])
    assert looks[living.view.resource_id].observed is ObservedState.READY
    if living.type.supports_check:
        driver.run_action(SUBJECT, Action.CHECK)
    for properties in case.properties_after_updates():
        before = living.view.properties
        driver.update(SUBJECT, cloud_testbed.substitute(dict(properties)))
        _has(living, before)
    for attribute, expected in case.attributes.items():
        assert driver.attribute(SUBJECT, attribute) == driver._filled(expected), attribute
    if case.replacement_properties is not None:
        _replace(driver, cloud_testbed, case)
    living = driver.resources[SUBJECT]
    driver.delete(SUBJECT)
    if case.can_be_found and not case.always_exists:
        assert _found_after(driver, living) is None
    if not case.always_exists:
        assert living.type.observe(living.view).observed is ObservedState.ABSENT


def _has(living: DrivenResource, before: Mapping[str, Any]) -> None:
    """The service tells of every plain property the value that it was just given."""
    kind, after = living.type, living.view.properties
    shown = living.view.attributes.get("show") or {}
    for name, value in after.items():
        arg = kind.spec.arguments.get(name)
        key = name if arg is None else arg.argument
        plain = isinstance(value, bool | int | str) and (arg is None or arg.entity is None)
        if plain and value != "" and before.get(name) != value and key in shown:
            assert str(shown[key]) == str(value), name


def _replace(
    driver: ResourceTypeDriver, cloud_testbed: ConformanceTestbed, case: ConformanceCase
) -> None:
    """The successor is made while the old one is there, and outlives it."""
    properties = cloud_testbed.substitute(
        merge_properties(case.final_properties, case.replacement_properties or {})
    )
    answer = ResponseDelivery.LOST if case.can_be_found else ResponseDelivery.RECEIVED
    successor = driver.create(REPLACEMENT, case.type, properties, answer)
    old = driver.resources[SUBJECT]
    if not isinstance(old.type, Association):
        assert successor.view.physical_id != old.view.physical_id
    driver.delete(SUBJECT)
    assert successor.type.observe(successor.view).observed is ObservedState.READY
    driver.resources[SUBJECT] = driver.resources.pop(REPLACEMENT)


def _found_after(driver: ResourceTypeDriver, living: DrivenResource) -> str | None:
    driver.resources["gone"] = living
    try:
        return driver.find("gone")
    finally:
        del driver.resources["gone"]


def _cases(other: SupportedCloud) -> Iterator[Any]:
    for case in CASES:
        if case.runs_on is not other:
            yield pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", _cases(SupportedCloud.REAL_ONLY))
def test_lifecycle_on_emulation(case, emulated_testbed):
    _live(emulated_testbed, case)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", _cases(SupportedCloud.EMULATION_ONLY))
def test_lifecycle_on_real_cloud(case, real_testbed):
    _live(real_testbed, case)
