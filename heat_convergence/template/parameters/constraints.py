"""The constraints on the values of parameters and properties.

Each constraint checks one plain, known value.  Called for parameters (here) and for
properties (``resources``).  Must not do I/O: custom constraints are functions that
arrive in a mapping.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template import bounded_regex

Json = Any
CustomConstraintFunction = Callable[[Any], bool | str | None]
NO_CUSTOM_CONSTRAINTS: Mapping[str, CustomConstraintFunction] = {}


class Constraint(ABC):
    """A rule for a value."""

    __slots__ = ()
    description: str | None

    def find_violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction] = NO_CUSTOM_CONSTRAINTS
    ) -> str | None:
        """Return the violation as text, or None if the value satisfies the constraint.

        The constraint's own description, where it has one, replaces the text.
        """
        violation = self._violation(value, custom)
        return violation and (self.description or violation)

    @abstractmethod
    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None: ...

    @abstractmethod
    def _declaration(self) -> tuple[str, Json]: ...

    def to_dict(self) -> dict[str, Json]:
        """Return the constraint as a template declares it."""
        key, body = self._declaration()
        described: dict[str, Json] = {key: body}
        if self.description:
            described["description"] = self.description
        return described


@dataclass(frozen=True, slots=True)
class Range(Constraint):
    """A number between two inclusive bounds; None is no bound."""

    min: float | None = None
    max: float | None = None
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        if not isinstance(value, int | float):
            return f"{value!r} is not a number"
        if (self.min is not None and value < self.min) or (
            self.max is not None and value > self.max
        ):
            return f"{value} is out of range ({_bounds(self.min, self.max)})"
        return None

    def _declaration(self) -> tuple[str, Json]:
        return "range", _without_none(min=self.min, max=self.max)


@dataclass(frozen=True, slots=True)
class Length(Constraint):
    """The number of characters of a string, or of members of a list or map."""

    min: int | None = None
    max: int | None = None
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        if not isinstance(value, str | list | tuple | Mapping):
            return f"{value!r} has no length"
        size = len(value)
        if (self.min is not None and size < self.min) or (
            self.max is not None and size > self.max
        ):
            return f"length ({size}) is out of range ({_bounds(self.min, self.max)})"
        return None

    def _declaration(self) -> tuple[str, Json]:
        return "length", _without_none(min=self.min, max=self.max)


@dataclass(frozen=True, slots=True)
class Modulo(Constraint):
    """A whole number that exceeds a multiple of ``step`` by ``offset``."""

    step: int
    offset: int
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        if not isinstance(value, int | float) or value != int(value):
            return f"{value!r} is not a whole number"
        if int(value) % self.step != self.offset % self.step:
            return f"{value} is not a multiple of {self.step} with an offset of {self.offset}"
        return None

    def _declaration(self) -> tuple[str, Json]:
        return "modulo", {"step": self.step, "offset": self.offset}


@dataclass(frozen=True, slots=True)
class AllowedValues(Constraint):
    """An enumeration of values; every element of a list must be one of them."""

    values: tuple[Json, ...]
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        allowed_keys = {key for allowed in self.values for key in _keys_of_allowed(allowed)}
        for item in value if isinstance(value, list | tuple) else (value,):
            if allowed_keys.isdisjoint(_keys_of_value(item)):
                return f"{_as_json(item)} is not an allowed value {_as_json(self.values)}"
        return None

    def _declaration(self) -> tuple[str, Json]:
        return "allowed_values", list(self.values)


@dataclass(frozen=True, slots=True)
class AllowedPattern(Constraint):
    """A string that the regular expression matches as a whole."""

    pattern: str
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        try:
            if bounded_regex.full_match(self.pattern, str(value)):
                return None
        except bounded_regex.PatternTimeout:
            return f"matching the pattern {self.pattern!r} takes too long"
        except bounded_regex.PatternError as error:
            return f"the pattern {self.pattern!r} is malformed: {error}"
        return f'"{value}" does not match pattern "{self.pattern}"'

    def _declaration(self) -> tuple[str, Json]:
        return "allowed_pattern", self.pattern


@dataclass(frozen=True, slots=True)
class CustomConstraint(Constraint):
    """A check by name that a plug-in provides.

    Its function returns True or None for a valid value, False or the violation as text for
    an invalid one.  Every element of a list is checked.
    """

    name: str
    description: str | None = None

    def _violation(
        self, value: Json, custom: Mapping[str, CustomConstraintFunction]
    ) -> str | None:
        function = custom.get(self.name)
        if function is None:
            return f'"{value}" does not validate {self.name} (constraint not found)'
        for item in value if isinstance(value, list | tuple) else (value,):
            verdict = function(item)
            if isinstance(verdict, str):
                return f"Error validating value '{item}': {verdict}"
            if verdict is False:
                return f"{item!r} does not satisfy {self.name}"
        return None

    def _declaration(self) -> tuple[str, Json]:
        return "custom_constraint", self.name


def _bounds(low: float | None, high: float | None) -> str:
    return f"min: {low}, max: {high}"


def _without_none(**entries: Json) -> dict[str, Json]:
    return {key: value for key, value in entries.items() if value is not None}


# YAML reads as number or boolean what a parameter or property holds as text. A boolean equals
# the text of any case that stands for it; otherwise the text or the number must be the same. In
# sets instead of pairs, because both lists may be long.


def _keys_of_allowed(value: Json) -> tuple[Json, ...]:
    """Return keys, one of which is a key of every value that equals this allowed one."""
    text = str(value)
    if isinstance(value, bool):
        return (("boolean", text.lower()),)
    return (text, ("text", text.lower()), *_number(value))


def _keys_of_value(value: Json) -> tuple[Json, ...]:
    """Return keys, one of which is a key of every allowed value that equals this one."""
    text = str(value)
    if isinstance(value, bool):
        return (("boolean", text.lower()), ("text", text.lower()))
    return (text, ("boolean", text.lower()), *_number(value))


def _number(value: Json) -> tuple[Json, ...]:
    return (value,) if isinstance(value, int | float) else ()


def _as_json(value: Json) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
