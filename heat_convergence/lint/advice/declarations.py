"""Advice on parameters, conditions and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from heat_convergence.lint import rules
from heat_convergence.lint.linted_template import (
    Advice,
    LintedTemplate,
    iterate_calls,
    read_parameters,
)
from heat_convergence.template.parameters.parameter_schemas import ParameterSchema, ParameterType

Json = Any
_SECRET = re.compile(
    r"(^|_|[a-z])(password|passwd|passphrase|secret|private_?key|api_?key|token)s?$",
    re.IGNORECASE,
)
_CONDITION_FUNCTIONS = frozenset({"if", "Fn::If"})
_MAPPING_FUNCTIONS = frozenset({"Fn::FindInMap"})
_CONNECTIVES = frozenset({"and", "or", "not", "Fn::And", "Fn::Or", "Fn::Not", "Condition"})


def unused_parameters(linted: LintedTemplate) -> Iterator[Advice]:
    """Find parameters that nothing reads."""
    dialect = linted.dialect
    read = read_parameters(linted.template.raw)
    if read is None:
        return  # the name of a parameter is itself a value
    for name in linted.template.parameter_names:
        if name not in read:
            message = f'The parameter "{name}" is never read.'
            yield Advice(rules.UNUSED_PARAMETER, (dialect.parameters, name), message)


def unused_conditions(linted: LintedTemplate) -> Iterator[Advice]:
    """Find conditions that nothing uses."""
    dialect, raw = linted.dialect, linted.template.raw
    declared = linted.template.section(dialect.conditions)
    if not isinstance(declared, dict) or not declared:
        return
    used = set(_names_in(raw.get(dialect.conditions)))
    for _name, arguments in iterate_calls(raw, _CONDITION_FUNCTIONS.__contains__):
        used |= set(_strings(arguments[:1] if isinstance(arguments, list) else ()))
        used |= set(_names_in(arguments))
    for section in (dialect.resources, dialect.outputs):
        for _name, body in linted.named_items(section):
            condition = body.get(dialect.condition)
            used |= set(_strings([condition])) | set(_names_in(condition))
    for name in declared:
        if name not in used:
            message = f'The condition "{name}" is never used.'
            yield Advice(rules.UNUSED_CONDITION, (dialect.conditions, name), message)


def unused_mappings(linted: LintedTemplate) -> Iterator[Advice]:
    """Find mappings of CFN templates that nothing reads."""
    dialect = linted.dialect
    declared = linted.template.section(dialect.mappings)
    if not isinstance(declared, dict) or not declared:
        return
    read = set()
    for _name, arguments in iterate_calls(linted.template.raw, _MAPPING_FUNCTIONS.__contains__):
        first = arguments[0] if isinstance(arguments, list) and arguments else arguments
        if not isinstance(first, str):
            return  # the name of a mapping is itself a value
        read.add(first)
    for name in declared:
        if name not in read:
            message = f'The mapping "{name}" is never read.'
            yield Advice(rules.UNUSED_MAPPING, (dialect.mappings, name), message)


def shown_secrets(linted: LintedTemplate) -> Iterator[Advice]:
    """Find parameters that should be hidden, and outputs that show hidden ones."""
    dialect, hidden = linted.dialect, set()
    for name, schema in _schemas(linted):
        if schema.hidden:
            hidden.add(name)
        elif schema.type is ParameterType.STRING and _SECRET.search(name):
            message = f'The parameter "{name}" seems to be a secret and is not hidden.'
            yield Advice(rules.SECRET_NOT_HIDDEN, (dialect.parameters, name), message)
    for name, body in linted.named_items(dialect.outputs):
        shown = sorted((read_parameters(body.get(dialect.value)) or set()) & hidden)
        if shown:
            message = f'The output "{name}" shows the hidden parameter "{shown[0]}".'
            yield Advice(rules.SECRET_OUTPUT, (dialect.outputs, name), message)


def _schemas(linted: LintedTemplate) -> Iterator[tuple[str, ParameterSchema]]:
    template = linted.template
    yield from template.parameter_schemas(template.new_diagnostics()).items()


def _names_in(node: Json) -> Iterator[str]:
    """Yield the conditions that connectives name, at every depth."""
    for _name, arguments in iterate_calls(node, _CONNECTIVES.__contains__):
        yield from _strings(arguments if isinstance(arguments, list) else [arguments])


def _strings(values: Any) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))
