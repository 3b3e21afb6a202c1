"""The lifecycle of every catalog type, on the emulation and on a real cloud alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.bulk_reads import read_bodies
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.openstack.associations import Association
from tests.conformance.case import ConformanceCase, SupportedCloud, merge_properties
from tests.conformance.cases.all_cases import CASES
from tests.conformance.conftest import ConformanceTestbed
from tests.conformance.type_driver import DrivenResource, ResourceTypeDriver, ResponseDelivery

SUBJECT, REPLACEMENT = "it", "replacement"


def _run_case(cloud_testbed: ConformanceTestbed, case: ConformanceCase) -> None:
    driver = cloud_testbed.driver(case.needs_admin)
    try:
        _run_lifecycle(driver, cloud_testbed, case)
    finally:
        for name in reversed(list(driver.resources)):
            driver.delete(name)


def _run_lifecycle(
    driver: ResourceTypeDriver, cloud_testbed: ConformanceTestbed, case: ConformanceCase
) -> None:
    for name, type_name, properties in case.prerequisites:
        driver.create(name, type_name, cloud_testbed.substitute(dict(properties)))
    delivery = ResponseDelivery.LOST if case.can_be_found else ResponseDelivery.RECEIVED
    driven = driver.create(
        SUBJECT, case.type, cloud_testbed.substitute(dict(case.properties)), delivery
    )
    results = driven.type.observe_many([driven.context])
    assert results[driven.context.resource_id].observed is ObservedState.READY
    if not case.always_exists:
        _check_list(driven)
    driver.run_action(SUBJECT, Action.CHECK)
    for properties in case.properties_after_updates():
        before = driven.context.properties
        driver.update(SUBJECT, cloud_testbed.substitute(dict(properties)))
        _check_shown_values(driven, before)
    expected_values = {**case.attributes, **cloud_testbed.own_attributes(case)}
    for attribute, expected in cloud_testbed.substitute(expected_values).items():
        assert driver.attribute(SUBJECT, attribute) == driver.resolve_references(expected), (
            attribute
        )
    if case.replacement_properties is not None:
        _replace(driver, cloud_testbed, case)
    driven = driver.resources[SUBJECT]
    driver.delete(SUBJECT)
    if case.can_be_found and not case.always_exists:
        assert _find_after_delete(driver, driven) is None
    if not case.always_exists:
        assert driven.type.observe(driven.context).observed is ObservedState.ABSENT


def _check_list(driven: DrivenResource) -> None:
    """Check that the list by which many resources are observed shows this one as ready."""
    resource_type, context = driven.type, driven.context
    own = type(resource_type).observe_many is not DeclarativeType.observe_many
    if own or resource_type.spec.path_properties:
        return
    key = resource_type.path_id(str(context.physical_id))
    listed = read_bodies(resource_type.client(context), [context], lambda _: key)
    body = listed[key]
    assert resource_type.to_result(context, body).observed is ObservedState.READY


def _check_shown_values(driven: DrivenResource, before: Mapping[str, Any]) -> None:
    """Check that the service shows each simple property with its new value."""
    resource_type, after = driven.type, driven.context.properties
    shown = driven.context.attributes.get("show") or {}
    for name, value in after.items():
        mapping = resource_type.spec.arguments.get(name)
        key = name if mapping is None else mapping.argument
        comparable = isinstance(value, bool | int | str) and (
            mapping is None or mapping.entity is None
        )
        if comparable and value != "" and before.get(name) != value and key in shown:
            assert str(shown[key]) == str(value), name


def _replace(
    driver: ResourceTypeDriver, cloud_testbed: ConformanceTestbed, case: ConformanceCase
) -> None:
    """Create the replacement while the old resource exists, then delete that one."""
    properties = cloud_testbed.substitute(
        merge_properties(case.final_properties, case.replacement_properties or {})
    )
    delivery = ResponseDelivery.LOST if case.can_be_found else ResponseDelivery.RECEIVED
    replacement = driver.create(REPLACEMENT, case.type, properties, delivery)
    old = driver.resources[SUBJECT]
    if not isinstance(old.type, Association):
        assert replacement.context.physical_id != old.context.physical_id
    driver.delete(SUBJECT)
    assert replacement.type.observe(replacement.context).observed is ObservedState.READY
    driver.resources[SUBJECT] = driver.resources.pop(REPLACEMENT)


def _find_after_delete(driver: ResourceTypeDriver, driven: DrivenResource) -> str | None:
    driver.resources["deleted"] = driven
    try:
        return driver.find("deleted")
    finally:
        del driver.resources["deleted"]


def _cases(excluded: SupportedCloud) -> Iterator[Any]:
    for case in CASES:
        if case.runs_on is not excluded:
            yield pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", _cases(SupportedCloud.REAL_ONLY))
def test_lifecycle_on_emulation(
    case: ConformanceCase, emulated_testbed: ConformanceTestbed
) -> None:
    _run_case(emulated_testbed, case)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", _cases(SupportedCloud.EMULATION_ONLY))
def test_lifecycle_on_real_cloud(case: ConformanceCase, real_testbed: ConformanceTestbed) -> None:
    real_testbed.require_services(case)
    _run_case(real_testbed, case)
