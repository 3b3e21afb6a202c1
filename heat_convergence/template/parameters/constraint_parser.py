"""Parsing of the constraints that a parameter declaration states.

Decides whether a constraint is declared correctly.  Called by ``parameter_schemas``.
Must not check values: ``constraints`` does.

Source: docs/reference/template-language.rst, "Parameter schema".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from heat_convergence.common.strict_json import check_number
from heat_convergence.template import bounded_regex
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.evaluation_budget import current_budget
from heat_convergence.template.parameters.constraints import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)

Json = Any
Number = int | float
_STEPS_PER_PATTERN, _STEPS_PER_CHAR = 300, 20  # to compile it

TYPES_BY_CONSTRAINT: Mapping[str, frozenset[str]] = {
    "range": frozenset({"Number"}),
    "modulo": frozenset({"Number"}),
    "length": frozenset({"String", "CommaDelimitedList", "Json"}),
    "allowed_values": frozenset({"String", "Number", "Boolean", "CommaDelimitedList"}),
    "allowed_pattern": frozenset({"String"}),
    "custom_constraint": frozenset({"String", "Number", "Boolean", "CommaDelimitedList"}),
}


class InvalidDeclaration(Exception):
    """A declaration is invalid; the text says why."""


class InvalidConstraintKey(InvalidDeclaration):
    """A constraint has a key that is not known."""


def parse_hot_constraints(
    declared: Json, type_name: str, allowed: Collection[str]
) -> tuple[Constraint, ...]:
    """Parse the list under ``constraints``; raises ``InvalidDeclaration``."""
    if declared is None:
        return ()
    if not isinstance(declared, list):
        raise InvalidDeclaration("constraints must be a list")
    return tuple(_hot_constraint(entry, type_name, allowed) for entry in declared)


def _hot_constraint(entry: Json, type_name: str, allowed: Collection[str]) -> Constraint:
    if not isinstance(entry, dict):
        raise InvalidDeclaration("each constraint must be a map")
    keys = [key for key in entry if key != "description"]
    for key in keys:
        if key not in allowed:
            raise InvalidConstraintKey(
                f"Invalid key '{key}' for parameter constraints{did_you_mean(key, allowed)}"
            )
    if len(keys) != 1:
        raise InvalidDeclaration(f"each constraint must have one of {', '.join(allowed)}")
    (key,) = keys
    _check_type(key, type_name)
    description = entry.get("description")
    return _PARSERS[key](entry[key], None if description is None else str(description))


def parse_cfn_constraints(declared: Mapping[str, Json], type_name: str) -> tuple[Constraint, ...]:
    """Parse the constraint keys of a CFN declaration; raises ``InvalidDeclaration``."""
    found: list[Constraint] = []
    if "AllowedValues" in declared:
        _check_type("allowed_values", type_name)
        found.append(_allowed_values(declared["AllowedValues"], None))
    if "AllowedPattern" in declared:
        _check_type("allowed_pattern", type_name)
        found.append(_allowed_pattern(declared["AllowedPattern"], None))
    if "MinLength" in declared or "MaxLength" in declared:
        _check_type("length", type_name)
        found.append(
            Length(
                _whole_number(declared.get("MinLength")), _whole_number(declared.get("MaxLength"))
            )
        )
    if "MinValue" in declared or "MaxValue" in declared:
        _check_type("range", type_name)
        found.append(Range(_number(declared.get("MinValue")), _number(declared.get("MaxValue"))))
    return tuple(found)


def _heading(key: str) -> str:
    """Return the name of a constraint as its class spells it, such as ``AllowedValues``."""
    return key.title().replace("_", "")


def _check_type(key: str, type_name: str) -> None:
    if type_name not in TYPES_BY_CONSTRAINT[key]:
        raise InvalidDeclaration(f"{_heading(key)} constraint invalid for {type_name.lower()}")


def _range(body: Json, description: str | None) -> Constraint:
    low, high = _min_max(body, "range")
    return Range(_number(low), _number(high), description)


def _length(body: Json, description: str | None) -> Constraint:
    low, high = _min_max(body, "length")
    return Length(_whole_number(low), _whole_number(high), description)


def _min_max(body: Json, key: str) -> tuple[Json, Json]:
    if not isinstance(body, dict) or not body or set(body) - {"min", "max"}:
        raise InvalidDeclaration(f'{key} must be a map with "min", "max" or both')
    return body.get("min"), body.get("max")


def _modulo(body: Json, description: str | None) -> Constraint:
    if not isinstance(body, dict) or set(body) != {"step", "offset"}:
        raise InvalidDeclaration('modulo must be a map with "step" and "offset"')
    step, offset = _whole_number(body["step"]), _whole_number(body["offset"])
    if step is None or offset is None:
        raise InvalidDeclaration("step and offset of modulo must be whole numbers")
    if step == 0:
        raise InvalidDeclaration("step of modulo must not be 0")
    if abs(offset) >= abs(step):
        raise InvalidDeclaration("offset of modulo must be smaller than its step")
    if step * offset < 0:
        raise InvalidDeclaration("step and offset of modulo must have the same sign")
    return Modulo(step, offset, description)


def _allowed_values(body: Json, description: str | None) -> Constraint:
    if not isinstance(body, list) or not body:
        raise InvalidDeclaration("allowed values must be a list that is not empty")
    return AllowedValues(tuple(body), description)


def _allowed_pattern(body: Json, description: str | None) -> Constraint:
    if not isinstance(body, str):
        raise InvalidDeclaration("an allowed pattern must be a string")
    current_budget().charge(_STEPS_PER_PATTERN + _STEPS_PER_CHAR * len(body))
    try:
        bounded_regex.compile_pattern(body)
    except bounded_regex.PatternError as error:
        raise InvalidDeclaration(f"the pattern {body!r} is malformed: {error}") from error
    return AllowedPattern(body, description)


def _custom_constraint(body: Json, description: str | None) -> Constraint:
    if not isinstance(body, str) or not body:
        raise InvalidDeclaration("a custom constraint must be named by a string")
    return CustomConstraint(body, description)


_PARSERS: Mapping[str, Callable[[Json, str | None], Constraint]] = {
    "range": _range,
    "length": _length,
    "modulo": _modulo,
    "allowed_values": _allowed_values,
    "allowed_pattern": _allowed_pattern,
    "custom_constraint": _custom_constraint,
}


def _number(value: Json) -> Number | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        for number_type in (int, float):
            try:
                number: Number = number_type(value)
            except ValueError:
                continue
            with contextlib.suppress(ValueError):
                check_number(number)
                return number
    raise InvalidDeclaration(f"{value!r} is not a number")


def _whole_number(value: Json) -> int | None:
    number = _number(value)
    if number is not None and number != int(number):
        raise InvalidDeclaration(f"{value!r} is not a whole number")
    return None if number is None else int(number)
