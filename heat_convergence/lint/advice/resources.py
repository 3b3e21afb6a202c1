"""Advice on resources: their types, properties and dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from heat_convergence.lint import rules
from heat_convergence.lint.linted_template import Advice, LintedTemplate
from heat_convergence.resources.protocol.type_schema import (
    PropertySchema,
    SupportLevel,
    SupportStatus,
)
from heat_convergence.template.parameters.constraints import CustomConstraint

Json = Any
_UUID_CHARS = frozenset({32, 36})  # without and with hyphens
_OUTDATED = frozenset({SupportLevel.DEPRECATED, SupportLevel.HIDDEN, SupportLevel.UNSUPPORTED})
_SERVER = "OS::Nova::Server"
# Properties that can be updated in place, by the property that decides and its deciding values.
_REPLACING_POLICIES: Mapping[str, tuple[str, frozenset[str | None]]] = {
    "user_data": ("user_data_update_policy", frozenset({None, "REPLACE"})),
    "image": ("image_update_policy", frozenset({"REPLACE"})),
    "flavor": ("flavor_update_policy", frozenset({"REPLACE"})),
}


def deprecated_types(linted: LintedTemplate) -> Iterator[Advice]:
    """Find resource types and properties that later releases may refuse."""
    dialect = linted.dialect
    for name, _body in linted.named_items(dialect.resources):
        found = linted.registry.find(linted.implementations.get(name, ""))
        if found is not None and found.schema.support_status.status in _OUTDATED:
            message = f"{found.name} is {_described(found.schema.support_status)}"
            place = (dialect.resources, name, dialect.type)
            yield Advice(rules.DEPRECATED_TYPE, place, message)
    for path, name, schema, _value in linted.typed_properties():
        if schema.support_status.status in _OUTDATED and path[-1] == name:
            message = f'The property "{name}" is {_described(schema.support_status)}'
            yield Advice(rules.DEPRECATED_PROPERTY, path, message)


def literal_ids(linted: LintedTemplate) -> Iterator[Advice]:
    """Find ids of a cloud's objects in properties."""
    for path, name, schema, value in linted.typed_properties():
        if isinstance(value, str) and _names_an_object(schema) and _is_uuid(value):
            message = f'The property "{name}" has the id of an object, which other clouds lack.'
            yield Advice(rules.LITERAL_ID, path, message)


def needless_dependencies(linted: LintedTemplate) -> Iterator[Advice]:
    """Find names in ``depends_on`` that the resource reads anyway."""
    dialect = linted.dialect
    definitions = {} if linted.evaluated is None else linted.evaluated.definitions
    for name, body in linted.named_items(dialect.resources):
        depends_on, definition = body.get(dialect.depends_on), definitions.get(name)
        if depends_on is None or definition is None:
            continue
        listed = depends_on if isinstance(depends_on, list) else [depends_on]
        path = (dialect.resources, name, dialect.depends_on)
        for each in listed:
            if isinstance(each, str) and each in definition.referenced_names:
                message = f'"{name}" reads "{each}" and so waits for it without depends_on.'
                yield Advice(rules.NEEDLESS_DEPENDENCY, path, message)


def replacing_properties(linted: LintedTemplate) -> Iterator[Advice]:
    """Find the properties of servers whose change replaces the server."""
    dialect = linted.dialect
    for name, body in linted.named_items(dialect.resources):
        properties = body.get(dialect.properties)
        found = linted.registry.find(linted.implementations.get(name, ""))
        if found is None or found.name != _SERVER or not isinstance(properties, dict):
            continue
        replacing = sorted(
            each
            for each in properties
            if each in found.schema.properties
            and (not found.schema.update_allowed(each) or _is_replacing(each, properties))
        )
        if replacing:
            message = f'A change of {_listed(replacing)} replaces the server "{name}".'
            path = (dialect.resources, name, dialect.properties)
            yield Advice(rules.REPLACED_BY_UPDATE, path, message)


def _is_replacing(name: str, properties: Mapping[str, Json]) -> bool:
    policy, deciding = _REPLACING_POLICIES.get(name, ("", frozenset()))
    value = properties.get(policy)
    return (value is None or isinstance(value, str)) and value in deciding


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _described(support: SupportStatus) -> str:
    since = f" since {support.version}" if support.version else ""
    remedy = next((each.message for each in _history(support) if each.message), None)
    shown = f": {remedy}" if remedy else "."
    return f"{support.status.value.lower()}{since}{shown}"


def _history(support: SupportStatus | None) -> Iterator[SupportStatus]:
    """Yield the status and those before it, the last first."""
    while support is not None:
        yield support
        support = support.previous


def _names_an_object(schema: PropertySchema) -> bool:
    return any(isinstance(each, CustomConstraint) for each in schema.constraints)


def _is_uuid(text: str) -> bool:
    if len(text) not in _UUID_CHARS:
        return False
    try:
        UUID(text)
    except ValueError:
        return False
    return True
