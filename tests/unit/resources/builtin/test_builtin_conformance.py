"""What holds of every resource type, and what clients are told of the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import RandomString
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
from heat_convergence.resources.protocol.schema import (
    SHOW_ATTRIBUTE,
    AttributeSchema,
    PropertySchema,
    resolve_properties,
)

ContextBuilder = Callable[..., ResourceContext]

FACTS = json.loads((Path(__file__).parents[1] / "data" / "builtin_types.json").read_text())
TYPES = (Delay(), NoneResource(), RandomString(), TestResource(), Value())
LEAST = {"OS::Heat::Value": {"value": "v"}}  # required properties

every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def support_as_fact(declared: PropertySchema | AttributeSchema) -> dict:
    def tell(status):
        told = {"status": str(status.status)}
        if status.version:
            told["version"] = status.version
        return told

    told = tell(declared.support_status)
    if declared.support_status.previous:
        told["previous"] = [tell(declared.support_status.previous)]
    return told


def property_as_fact(declared: PropertySchema) -> dict:
    told = {
        "type": str(declared.type),
        "required": declared.required,
        "update_allowed": declared.update_allowed,
        "immutable": declared.immutable,
        "support_status": support_as_fact(declared),
    }
    if declared.default is not None:
        told["default"] = declared.default
    if declared.constraints:
        told["constraints"] = [rule.to_dict() for rule in declared.constraints]
    if declared.schema:
        told["schema"] = {key: property_as_fact(item) for key, item in declared.schema.items()}
    if declared.item:
        told["schema"] = {"*": property_as_fact(declared.item)}
    return told


def attribute_as_fact(declared: AttributeSchema) -> dict:
    return {
        "type": None if declared.type is None else str(declared.type),
        "cache_mode": str(declared.cache_mode),
        "support_status": support_as_fact(declared),
    }


def descriptions(properties):
    for name, declared in properties.items():
        yield name, declared.description
        yield from descriptions(declared.schema or {})
        yield from descriptions((declared.item and declared.item.schema) or {})


def test_facts_cover_the_same_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_is_as_the_facts_say(resource_type: ResourceType) -> None:
    facts = FACTS[resource_type.name]
    schema = resource_type.schema
    assert {k: property_as_fact(v) for k, v in schema.properties.items()} == facts["properties"]
    assert {k: attribute_as_fact(v) for k, v in schema.attributes.items()} == facts["attributes"]
    assert {"show": attribute_as_fact(SHOW_ATTRIBUTE)} == facts["base_attributes"]
    assert support_as_fact(schema) == facts["support_status"]
    assert resource_type.physical_name_limit == facts["physical_resource_name_limit"]


@every_type
def test_everything_is_described(resource_type: ResourceType) -> None:
    schema = resource_type.schema
    assert schema.description
    assert [name for name, text in descriptions(schema.properties) if not text] == []
    assert [name for name, item in schema.attributes.items() if not item.description] == []


@every_type
def test_a_life(resource_type: ResourceType, build_context: ContextBuilder) -> None:
    given = LEAST.get(resource_type.name, {})
    first = build_context(resource_type, given)
    assert resource_type.find(first) is None
    assert resource_type.reference_id(first) == "r"

    made = resource_type.create(first)
    assert made.observed is ObservedState.READY
    assert made.physical_id
    kept = {
        "physical_id": made.physical_id,
        "attributes": made.attributes or {},
        "data": made.data or {},
    }

    looked_at = resource_type.observe(build_context(resource_type, given, Action.CREATE, **kept))
    assert looked_at.observed is ObservedState.READY
    assert looked_at.physical_id == made.physical_id
    assert looked_at.attributes in (None, made.attributes)

    before = build_context(resource_type, given, Action.UPDATE, **kept)
    updated = resource_type.update(before, before.properties, frozenset())
    assert updated.observed is ObservedState.READY
    assert updated.physical_id == made.physical_id

    gone = resource_type.delete(build_context(resource_type, given, Action.DELETE, **kept))
    assert gone.observed is ObservedState.ABSENT


@every_type
def test_verbs_may_be_repeated(resource_type: ResourceType, build_context: ContextBuilder) -> None:
    given = LEAST.get(resource_type.name, {})
    deleting = build_context(resource_type, given, Action.DELETE)
    assert resource_type.delete(deleting) == resource_type.delete(deleting)
    never_made = build_context(resource_type, given, Action.DELETE, physical_id=None)
    assert resource_type.delete(never_made).observed is ObservedState.ABSENT
    assert resource_type.observe(never_made).observed is ObservedState.ABSENT


@every_type
def test_many_are_observed_as_one_is(
    resource_type: ResourceType, build_context: ContextBuilder
) -> None:
    given = LEAST.get(resource_type.name, {})
    one = build_context(resource_type, given, Action.UPDATE)
    other = replace(one, resource_id="r-2")
    looks = resource_type.observe_many([one, other])
    assert looks == {
        "r-1": resource_type.observe(one),
        "r-2": resource_type.observe(other),
    }


@every_type
def test_declared_attributes_are_answered(
    resource_type: ResourceType, build_context: ContextBuilder
) -> None:
    given = LEAST.get(resource_type.name, {})
    made = resource_type.create(build_context(resource_type, given))
    ready = build_context(
        resource_type,
        given,
        Action.UPDATE,
        attributes=made.attributes or {},
        data=made.data or {},
    )
    values = {
        name: resource_type.attribute(ready, name) for name in resource_type.schema.attributes
    }
    assert None not in values.values()
    assert resource_type.schema.has_attribute("show")


@every_type
def test_defaults_resolve_to_themselves(resource_type: ResourceType) -> None:
    once = resolve_properties(resource_type.schema, LEAST.get(resource_type.name, {}))
    assert resolve_properties(resource_type.schema, once) == once
    resource_type.validate(once, 3600)
