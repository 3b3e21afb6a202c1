"""Every verb, flag and field of the resource types' protocol is used by a shipped type.

A part of the protocol that only the types of tests use would be tested there, and missing in
the product.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import heat_convergence.resources
from heat_convergence.resources.protocol.resource_type import ImplicitDependency, ResourceType
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from heat_convergence.resources.registry import ResourceTypeRegistry

PACKAGE = Path(heat_convergence.resources.__file__).parent
WRITTEN = (VerbResult, SignalResult, ImplicitDependency)


def _public_members() -> list[str]:
    return sorted(
        name
        for name in {*vars(ResourceType), *ResourceType.__annotations__}
        if not name.startswith("_")
    )


def _field_cases(*classes: type) -> list[tuple[str, str]]:
    return [(each.__name__, field.name) for each in classes for field in dataclasses.fields(each)]


@cache
def _nodes() -> tuple[ast.Call | ast.Attribute, ...]:
    """Return the calls and attributes of the shipped types, without the protocol's own."""
    return tuple(
        node
        for path in sorted(PACKAGE.rglob("*.py"))
        if "protocol" not in path.relative_to(PACKAGE).parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call | ast.Attribute)
    )


@cache
def _shipped_types() -> ResourceTypeRegistry:
    return ResourceTypeRegistry.load()


def _calls(*names: str) -> Iterator[ast.Call]:
    for node in _nodes():
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in names:
            yield node


@cache
def _written_fields(class_name: str) -> frozenset[str]:
    """Return the fields that shipped code gives a value, by name or by position."""
    fields = next(
        [field.name for field in dataclasses.fields(each)]
        for each in WRITTEN
        if each.__name__ == class_name
    )
    found = {field for call in _calls(class_name) for field in fields[: len(call.args)]}
    # ``dataclasses.replace`` changes results as well; its keywords may name no other fields.
    for call in _calls(class_name, "replace"):
        found |= {str(keyword.arg) for keyword in call.keywords}
    return frozenset(found)


@cache
def _read_attributes() -> frozenset[str]:
    return frozenset(
        node.attr
        for node in _nodes()
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


@pytest.mark.parametrize("member", _public_members())
def test_a_shipped_type_overrides_the_member(member: str) -> None:
    default = getattr(ResourceType, member, None)
    users = [
        resource_type.name
        for resource_type in _shipped_types()
        if _differs(resource_type, member, default)
    ]
    assert users, f"no shipped type has a {member} of its own"


def _differs(resource_type: ResourceType, member: str, default: object) -> bool:
    value = getattr(resource_type, member)
    return getattr(value, "__func__", value) != default


@pytest.mark.parametrize(("class_name", "field"), _field_cases(*WRITTEN))
def test_a_shipped_type_sets_the_field(class_name: str, field: str) -> None:
    assert field in _written_fields(class_name)


@pytest.mark.parametrize(("_class_name", "field"), _field_cases(ResourceContext))
def test_a_shipped_type_reads_the_field(_class_name: str, field: str) -> None:
    assert field in _read_attributes()
