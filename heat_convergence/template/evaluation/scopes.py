"""The data that functions may read when a template is evaluated and a value resolved.

Decides the source of each value, and which values are not known yet.  Called by the
functions through the evaluator.  Must not evaluate calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from heat_convergence.common.errors import (
    InvalidTemplateReference,
    UserParameterMissing,
)
from heat_convergence.template.diagnostics import as_sentence, did_you_mean
from heat_convergence.template.evaluation_budget import EvaluationBudget
from heat_convergence.template.functions.function import (
    UNKNOWN,
    FunctionError,
    Marker,
    select_path,
)
from heat_convergence.template.parameters.parameter_values import ParameterValue, StackContext

Json = Any
_DEFAULT_ZONES = ("nova",)  # a compute service's default, for stacks without a cloud


class ValueAtPath:
    """An attribute's value to which the path has been applied already."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value


class ResourceValues(Protocol):
    """The values of other resources, for ``resolve_value`` and ``resolve_partially``.

    Both methods may return ``UNKNOWN`` to ``resolve_partially``.
    """

    def reference_id(self, resource: str) -> Json:
        """Return the value of ``get_resource``."""

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """Return an attribute's whole value, or a map of all attributes if the name is None.

        The caller applies the path.  It is passed for types whose attributes depend on it, which
        return ``ValueAtPath``.
        """


@dataclass(frozen=True, slots=True)
class TemplateData:
    """The contents of a template and its request that functions may read.

    Attributes:
        invalid_parameters: Parameters whose declaration is invalid and reported already.
    """

    parameters: Mapping[str, ParameterValue]
    files: Mapping[str, str]
    mappings: Json
    resources: Mapping[str, Json]
    invalid_parameters: Collection[str] = ()


class TemplateScope:
    """Values from the template and the request; other resources are unknown.

    Attributes:
        reads_hidden_parameter: Set when a hidden parameter is read; the caller resets it.
    """

    def __init__(
        self,
        budget: EvaluationBudget,
        stack: StackContext,
        data: TemplateData,
        *,
        is_enabled: Callable[[str], bool],
    ) -> None:
        self.budget = budget
        self._stack = stack
        self._parameters = data.parameters
        self._files = data.files
        self._mappings = data.mappings
        self._resources = data.resources
        self._is_enabled = is_enabled
        self._invalid_parameters = data.invalid_parameters
        self.reads_hidden_parameter = False

    def has_parameter(self, name: str) -> bool:
        """Return whether the parameter is declared, even if its declaration is invalid."""
        return name in self._parameters or name in self._invalid_parameters

    def parameter(self, name: str) -> Json:
        """Return a parameter's value, or ``UNKNOWN`` if it has none yet."""
        found = self._parameters.get(name)
        if found is None and name in self._invalid_parameters:
            return UNKNOWN
        if found is None:
            hint = did_you_mean(name, [*self._parameters, *self._invalid_parameters])
            message = f"The Parameter ({name}) was not provided{hint or '.'}"
            raise FunctionError(message, UserParameterMissing(message))
        self.reads_hidden_parameter = self.reads_hidden_parameter or found.schema.hidden
        return found.value if found.has_value else UNKNOWN

    def file(self, name: str) -> Json:
        """Return the content of a file of the request."""
        if name not in self._files:
            raise FunctionError(
                f'No content found in the "files" section for get_file path: {name}'
                f"{did_you_mean(name, self._files)}"
            )
        return self._files[name]

    def facade(self, key: str) -> Json:
        """Return a section of the resource in the parent stack that this stack implements."""
        facade = self._stack.facade
        if facade is None:
            return "Delete" if key == "deletion_policy" else {}
        return facade.get(key)

    def mapping(self, name: str) -> Json:
        """Return a map of the Mappings section (CFN)."""
        if not isinstance(self._mappings, dict) or name not in self._mappings:
            raise FunctionError(f'There is no mapping "{name}"')
        return self._mappings[name]

    def availability_zones(self) -> Json:
        """Return the cloud's availability zones, or the default one."""
        return list(
            _DEFAULT_ZONES
            if self._stack.availability_zones is None
            else self._stack.availability_zones
        )

    def reference_id(self, resource: str) -> Json:
        """Check that the resource exists and return ``UNKNOWN``."""
        self.check_reference(resource, "get_resource")
        return UNKNOWN

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """Check that the resource exists and return ``UNKNOWN``."""
        self.check_reference(resource, "get_attr")
        return UNKNOWN

    def check_reference(self, resource: Json, key: str) -> None:
        """Raise ``FunctionError`` unless the template has the resource, with a true condition."""
        if not isinstance(resource, str):
            raise FunctionError("The name of a resource must be known when the stack is planned")
        if resource not in self._resources or not self._is_enabled(resource):
            hint = (
                as_sentence(did_you_mean(resource, self._resources))
                if resource not in self._resources
                else ""
            )
            error = InvalidTemplateReference(resource, key, hint)
            raise FunctionError(error.message, error)


class ResolutionScope:
    """Values of other resources.

    Values that belong to the template were evaluated with it, if they existed at all; with
    ``allow_unknown_parameters``, missing ones may still be provided later.
    """

    def __init__(
        self,
        budget: EvaluationBudget,
        inputs: ResourceValues,
        *,
        allow_unknown_parameters: bool = False,
    ) -> None:
        self.budget = budget
        self._resource_values = inputs
        self._allow_unknown_parameters = allow_unknown_parameters

    def has_parameter(self, name: str) -> bool:
        """Return whether a missing parameter may still be provided."""
        return self._allow_unknown_parameters

    def parameter(self, name: str) -> Json:
        """Return ``UNKNOWN``; raise ``FunctionError`` if no value can be provided any more."""
        if self._allow_unknown_parameters:
            return Marker.UNKNOWN
        message = f"The Parameter ({name}) was not provided."
        raise FunctionError(message, UserParameterMissing(message))

    def file(self, name: str) -> Json:
        """Raise ``FunctionError``: files were read when the template was evaluated."""
        raise FunctionError(f'No content found in the "files" section for get_file path: {name}')

    def facade(self, key: str) -> Json:
        """Return ``UNKNOWN``; raise ``FunctionError`` if the parent cannot be known any more."""
        if self._allow_unknown_parameters:
            return Marker.UNKNOWN
        raise FunctionError(f"The parent's {key} was not known when the stack was planned")

    def mapping(self, name: str) -> Json:
        """Raise ``FunctionError``: mappings were read when the template was evaluated."""
        raise FunctionError(f'There is no mapping "{name}"')

    def availability_zones(self) -> Json:
        """Raise ``FunctionError``: the zones were read when the template was evaluated."""
        raise FunctionError("Availability zones were not known when the stack was planned")

    def reference_id(self, resource: str) -> Json:
        """Return the reference id of another resource."""
        return self._resource_values.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """Return an attribute of another resource with the path applied."""
        value = self._resource_values.attribute(resource, name, path)
        if isinstance(value, Marker):
            return value
        if isinstance(value, ValueAtPath):
            return value.value
        return select_path(value, path, missing=None)
