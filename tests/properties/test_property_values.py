"""Random properties: conversion is idempotent, and hashes do not depend on order."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heat_convergence.resources.protocol.schema import (
    PropertySchema,
    PropertyType,
    TypeSchema,
    changed_property_names,
    properties_hash,
    resolve_properties,
    validate_properties,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_hash_does_not_depend_on_order(properties: dict[str, Any]) -> None:
    turned = dict(reversed(properties.items()))
    assert properties_hash(turned) == properties_hash(properties)
    assert changed_property_names(properties, turned) == frozenset()


@settings(max_examples=50)
@given(st.sampled_from(list(PropertyType)), json_values)
def test_any_value_is_converted_or_refused(property_type: PropertyType, value: Any) -> None:
    schema = TypeSchema(properties={"p": PropertySchema(type=property_type)})
    _known, mistakes = validate_properties(schema, {"p": value})
    if not mistakes:
        once = resolve_properties(schema, {"p": value})
        assert resolve_properties(schema, once) == once
