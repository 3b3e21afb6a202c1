"""What functions may ask: while a template is built, and when a value is finished.

Decides where answers come from and what is not known yet.  Called by the
functions through the evaluator.  Must not evaluate calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from heat_convergence.common.errors import (
    InvalidTemplateReference,
    RequestLimitExceeded,
    UserParameterMissing,
)
from heat_convergence.template.functions.base import UNKNOWN, FunctionError, Marker, select
from heat_convergence.template.limits import Limits
from heat_convergence.template.parameter_values import ParameterValue, StackFacts
from heat_convergence.template.problems import nearest

Json = Any
_ONLY_ZONE = ("nova",)  # where no cloud is asked: the one that a compute service begins with


class PathApplied:
    """Wraps an attribute's value when ``Inputs.attribute`` has followed the path."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value


class Inputs(Protocol):
    """What ``finish`` and ``advance`` read of other resources.

    ``attribute`` gives the attribute's value; the path is followed by the caller,
    and only told for types whose attributes depend on it (such answer with
    ``PathApplied``).  ``name`` None asks for a map of all attributes.  Either may
    answer ``UNKNOWN`` to ``advance``.
    """

    def reference_id(self, resource: str) -> Json: ...
    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json: ...


class Budget:
    """What one scope's functions may make and take."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._size_left = limits.max_result_size
        self.steps_left = limits.yaql_max_steps

    @property
    def limits(self) -> Limits:
        return self._limits

    def refill(self) -> None:
        """Size is for one definition or output, steps are for the whole template."""
        self._size_left = self._limits.max_result_size

    def charge(self, size: int) -> None:
        self._size_left -= size
        if self._size_left < 0:
            raise RequestLimitExceeded(
                "What the template's functions make is larger than"
                f" {self._limits.max_result_size}."
            )


class BuildScope(Budget):
    """Answers from the template and the request; resources are only looked up.

    ``reads_hidden`` is set when a hidden parameter is read; the caller resets it.
    ``unusable`` are parameters whose declaration is wrong, and told already.
    """

    def __init__(
        self,
        limits: Limits,
        facts: StackFacts,
        *,
        parameters: Mapping[str, ParameterValue],
        files: Mapping[str, str],
        mappings: Json,
        resources: Mapping[str, Json],
        is_enabled: Callable[[str], bool],
        unusable: Collection[str] = (),
    ) -> None:
        super().__init__(limits)
        self._facts = facts
        self._parameters = parameters
        self._files = files
        self._mappings = mappings
        self._resources = resources
        self._is_enabled = is_enabled
        self._unusable = unusable
        self.reads_hidden = False

    def has_parameter(self, name: str) -> bool:
        return name in self._parameters or name in self._unusable

    def parameter(self, name: str) -> Json:
        found = self._parameters.get(name)
        if found is None and name in self._unusable:
            return UNKNOWN
        if found is None:
            hint = nearest(name, [*self._parameters, *self._unusable])
            message = f"The Parameter ({name}) was not provided{hint or '.'}"
            raise FunctionError(message, UserParameterMissing(message))
        self.reads_hidden = self.reads_hidden or found.schema.hidden
        return found.value if found.is_set else UNKNOWN

    def file(self, name: str) -> Json:
        if name not in self._files:
            raise FunctionError(
                f'No content found in the "files" section for "{name}"'
                f"{nearest(name, self._files)}"
            )
        return self._files[name]

    def facade(self, key: str) -> Json:
        facade = self._facts.facade
        if facade is None:
            return "Delete" if key == "deletion_policy" else {}
        return facade.get(key)

    def mapping(self, name: str) -> Json:
        if not isinstance(self._mappings, dict) or name not in self._mappings:
            raise FunctionError(f'There is no mapping "{name}"')
        return self._mappings[name]

    def zones(self) -> Json:
        return list(_ONLY_ZONE if self._facts.zones is None else self._facts.zones)

    def reference_id(self, resource: str) -> Json:
        self.check_reference(resource, "get_resource")
        return UNKNOWN

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        self.check_reference(resource, "get_attr")
        return UNKNOWN

    def check_reference(self, resource: Json, key: str) -> None:
        """Raises ``FunctionError`` unless the template has it, with a true condition."""
        if not isinstance(resource, str):
            raise FunctionError("The name of a resource must be known when the stack is planned")
        if resource not in self._resources or not self._is_enabled(resource):
            hint = nearest(resource, self._resources) if resource not in self._resources else ""
            error = InvalidTemplateReference(resource, key, hint)
            raise FunctionError(error.message, error)


class FinishScope(Budget):
    """Answers from other resources.  What belongs to the template was folded when
    it was built, if it was there at all; with ``later``, what was not may come yet."""

    def __init__(self, limits: Limits, inputs: Inputs, *, later: bool = False) -> None:
        super().__init__(limits)
        self._inputs = inputs
        self._later = later

    def has_parameter(self, name: str) -> bool:
        return self._later

    def parameter(self, name: str) -> Json:
        if self._later:
            return Marker.UNKNOWN
        message = f"The Parameter ({name}) was not provided."
        raise FunctionError(message, UserParameterMissing(message))

    def file(self, name: str) -> Json:
        raise FunctionError(f'No content found in the "files" section for "{name}"')

    def facade(self, key: str) -> Json:
        if self._later:
            return Marker.UNKNOWN
        raise FunctionError(f"The parent's {key} was not known when the stack was planned")

    def mapping(self, name: str) -> Json:
        raise FunctionError(f'There is no mapping "{name}"')

    def zones(self) -> Json:
        raise FunctionError("Availability zones were not known when the stack was planned")

    def reference_id(self, resource: str) -> Json:
        return self._inputs.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        value = self._inputs.attribute(resource, name, path)
        if isinstance(value, Marker):
            return value
        if isinstance(value, PathApplied):
            return value.value
        return select(value, path, missing=None)

