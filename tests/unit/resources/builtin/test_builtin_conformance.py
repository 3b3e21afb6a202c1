"""Tests that every built-in type passes, and comparison of their schemas with Heat's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import RandomString
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import (
    SHOW_ATTRIBUTE,
    AttributeSchema,
    PropertySchema,
    SupportStatus,
    TypeSchema,
    resolve_properties,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext

ContextBuilder = Callable[..., ResourceContext]

FACTS = json.loads((Path(__file__).parents[1] / "data" / "builtin_types.json").read_text())
TYPES = (Delay(), NoneResource(), RandomString(), TestResource(), Value())
REQUIRED = {"OS::Heat::Value": {"value": "v"}}  # required properties

every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def support_as_fact(declared: PropertySchema | AttributeSchema | TypeSchema) -> dict[str, Any]:
    def as_fact(status: SupportStatus) -> dict[str, Any]:
        fact: dict[str, Any] = {"status": str(status.status)}
        if status.version:
            fact["version"] = status.version
        return fact

    fact = as_fact(declared.support_status)
    if declared.support_status.previous:
        fact["previous"] = [as_fact(declared.support_status.previous)]
    return fact


def property_as_fact(declared: PropertySchema) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "type": str(declared.type),
        "required": declared.required,
        "update_allowed": declared.update_allowed,
        "immutable": declared.immutable,
        "support_status": support_as_fact(declared),
    }
    if declared.default is not None:
        fact["default"] = declared.default
    if declared.constraints:
        fact["constraints"] = [rule.to_dict() for rule in declared.constraints]
    if declared.schema:
        fact["schema"] = {key: property_as_fact(item) for key, item in declared.schema.items()}
    if declared.item:
        fact["schema"] = {"*": property_as_fact(declared.item)}
    return fact


def attribute_as_fact(declared: AttributeSchema) -> dict[str, Any]:
    return {
        "type": None if declared.type is None else str(declared.type),
        "cache_mode": str(declared.cache_mode),
        "support_status": support_as_fact(declared),
    }


def descriptions(properties: Mapping[str, PropertySchema]) -> Iterator[tuple[str, str]]:
    for name, declared in properties.items():
        yield name, declared.description
        yield from descriptions(declared.schema or {})
        if declared.item is not None:
            yield from descriptions(declared.item.schema or {})


def test_facts_cover_all_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_matches_the_facts(resource_type: ResourceType) -> None:
    facts = FACTS[resource_type.name]
    schema = resource_type.schema
    assert {k: property_as_fact(v) for k, v in schema.properties.items()} == facts["properties"]
    assert {k: attribute_as_fact(v) for k, v in schema.attributes.items()} == facts["attributes"]
    assert {"show": attribute_as_fact(SHOW_ATTRIBUTE)} == facts["base_attributes"]
    assert support_as_fact(schema) == facts["support_status"]
    assert resource_type.physical_name_limit == facts["physical_resource_name_limit"]


@every_type
def test_every_property_and_attribute_has_a_description(resource_type: ResourceType) -> None:
    schema = resource_type.schema
    assert schema.description
    assert [name for name, text in descriptions(schema.properties) if not text] == []
    assert [name for name, item in schema.attributes.items() if not item.description] == []


@every_type
def test_lifecycle_from_create_to_delete(
    resource_type: ResourceType, build_context: ContextBuilder
) -> None:
    properties = REQUIRED.get(resource_type.name, {})
    first = build_context(resource_type, properties)
    assert resource_type.find(first) is None
    assert resource_type.reference_id(first) == "r"

    created = resource_type.create(first)
    assert created.observed is ObservedState.READY
    assert created.physical_id
    kept = {
        "physical_id": created.physical_id,
        "attributes": created.attributes or {},
        "data": created.data or {},
    }

    observed = resource_type.observe(
        build_context(resource_type, properties, Action.CREATE, **kept)
    )
    assert observed.observed is ObservedState.READY
    assert observed.physical_id == created.physical_id
    assert observed.attributes in (None, created.attributes)

    before = build_context(resource_type, properties, Action.UPDATE, **kept)
    updated = resource_type.update(before, before.properties, frozenset())
    assert updated.observed is ObservedState.READY
    assert updated.physical_id == created.physical_id

    deleted = resource_type.delete(build_context(resource_type, properties, Action.DELETE, **kept))
    assert deleted.observed is ObservedState.ABSENT


@every_type
def test_delete_is_idempotent(resource_type: ResourceType, build_context: ContextBuilder) -> None:
    properties = REQUIRED.get(resource_type.name, {})
    deleting = build_context(resource_type, properties, Action.DELETE)
    assert resource_type.delete(deleting) == resource_type.delete(deleting)
    never_made = build_context(resource_type, properties, Action.DELETE, physical_id=None)
    assert resource_type.delete(never_made).observed is ObservedState.ABSENT
    assert resource_type.observe(never_made).observed is ObservedState.ABSENT


@every_type
def test_observe_many_equals_observe(
    resource_type: ResourceType, build_context: ContextBuilder
) -> None:
    properties = REQUIRED.get(resource_type.name, {})
    one = build_context(resource_type, properties, Action.UPDATE)
    other = replace(one, resource_id="r-2")
    results = resource_type.observe_many([one, other])
    assert results == {
        "r-1": resource_type.observe(one),
        "r-2": resource_type.observe(other),
    }


@every_type
def test_declared_attributes_have_values(
    resource_type: ResourceType, build_context: ContextBuilder
) -> None:
    properties = REQUIRED.get(resource_type.name, {})
    created = resource_type.create(build_context(resource_type, properties))
    ready = build_context(
        resource_type,
        properties,
        Action.UPDATE,
        attributes=created.attributes or {},
        data=created.data or {},
    )
    values = {
        name: resource_type.attribute(ready, name) for name in resource_type.schema.attributes
    }
    assert None not in values.values()
    assert resource_type.schema.has_attribute("show")


@every_type
def test_defaults_resolve_to_themselves(resource_type: ResourceType) -> None:
    once = resolve_properties(resource_type.schema, REQUIRED.get(resource_type.name, {}))
    assert resolve_properties(resource_type.schema, once) == once
    resource_type.validate(once, 3600)
