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
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.functions.function import (
    UNKNOWN,
    FunctionError,
    Marker,
    select_path,
)
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parameters.parameter_values import ParameterValue, StackContext

Json = Any
_ONLY_ZONE = ("nova",)  # where no cloud is asked: the one that a compute service begins with


class ValueAtPath:
    """Wraps an attribute's value when ``Inputs.attribute`` has followed the path."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value


class ResourceValues(Protocol):
    """What ``finish`` and ``advance`` read of other resources.

    ``attribute`` gives the attribute's value; the path is followed by the caller,
    and only told for types whose attributes depend on it (such answer with
    ``ValueAtPath``).  ``name`` None asks for a map of all attributes.  Either may
    answer ``MISSING_REFERENCES`` to ``advance``.
    """

    def reference_id(self, resource: str) -> Json: ...
    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json: ...


class EvaluationBudget:
    """What one scope's functions may make and take."""

    def __init__(self, limits: TemplateLimits) -> None:
        self._limits = limits
        self._size_left = limits.max_result_size
        self.yaql_steps_left = limits.yaql_max_steps

    @property
    def limits(self) -> TemplateLimits:
        return self._limits

    def reset_size(self) -> None:
        """Size is for one definition or output, steps are for the whole template."""
        self._size_left = self._limits.max_result_size

    def charge(self, size: int) -> None:
        self._size_left -= size
        if self._size_left < 0:
            raise RequestLimitExceeded(
                "What the template's functions make is larger than"
                f" {self._limits.max_result_size}."
            )


class TemplateScope(EvaluationBudget):
    """Answers from the template and the request; resources are only looked up.

    ``reads_hidden_parameter`` is set when a hidden parameter is read; the caller resets it.
    ``invalid_parameters`` are parameters whose declaration is wrong, and told already.
    """

    def __init__(
        self,
        limits: TemplateLimits,
        facts: StackContext,
        *,
        parameters: Mapping[str, ParameterValue],
        files: Mapping[str, str],
        mappings: Json,
        resources: Mapping[str, Json],
        is_enabled: Callable[[str], bool],
        invalid_parameters: Collection[str] = (),
    ) -> None:
        super().__init__(limits)
        self._facts = facts
        self._parameters = parameters
        self._files = files
        self._mappings = mappings
        self._resources = resources
        self._is_enabled = is_enabled
        self._unusable = invalid_parameters
        self.reads_hidden_parameter = False

    def has_parameter(self, name: str) -> bool:
        return name in self._parameters or name in self._unusable

    def parameter(self, name: str) -> Json:
        found = self._parameters.get(name)
        if found is None and name in self._unusable:
            return UNKNOWN
        if found is None:
            hint = did_you_mean(name, [*self._parameters, *self._unusable])
            message = f"The Parameter ({name}) was not provided{hint or '.'}"
            raise FunctionError(message, UserParameterMissing(message))
        self.reads_hidden_parameter = self.reads_hidden_parameter or found.schema.hidden
        return found.value if found.has_value else UNKNOWN

    def file(self, name: str) -> Json:
        if name not in self._files:
            raise FunctionError(
                f'No content found in the "files" section for "{name}"'
                f"{did_you_mean(name, self._files)}"
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

    def availability_zones(self) -> Json:
        return list(
            _ONLY_ZONE
            if self._facts.availability_zones is None
            else self._facts.availability_zones
        )

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
            hint = (
                did_you_mean(resource, self._resources) if resource not in self._resources else ""
            )
            error = InvalidTemplateReference(resource, key, hint)
            raise FunctionError(error.message, error)


class ResolutionScope(EvaluationBudget):
    """Answers from other resources.  What belongs to the template was folded when
    it was built, if it was there at all; with ``later``, what was not may come yet."""

    def __init__(
        self,
        limits: TemplateLimits,
        inputs: ResourceValues,
        *,
        allow_unknown_parameters: bool = False,
    ) -> None:
        super().__init__(limits)
        self._inputs = inputs
        self._later = allow_unknown_parameters

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

    def availability_zones(self) -> Json:
        raise FunctionError("Availability zones were not known when the stack was planned")

    def reference_id(self, resource: str) -> Json:
        return self._inputs.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        value = self._inputs.attribute(resource, name, path)
        if isinstance(value, Marker):
            return value
        if isinstance(value, ValueAtPath):
            return value.value
        return select_path(value, path, missing=None)
